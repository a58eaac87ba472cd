// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// The open connections of systems of linked accounts.
///
/// They have a limit of their own, so that they cannot take the places of the account's own systems. A linked account
/// can certify any number of systems, so each account has a limit, too.
final class LinkedConnections: ForeignConnections {
    /// The maximum number of connections per system. ``LinkedLimits`` has those per account and in total.
    static let maxPerSystem = 16

    private struct State {
        var open: [ObjectIdentifier: (system: SystemID, account: AccountID)] = [:]
        var accounts = LinkedLimits.limiter()
        var systems = KeyedLimiter<SystemID>(total: LinkedLimits.total, perKey: maxPerSystem)
    }

    private let state = Mutex(State())

    func hasCapacity(for system: SystemID, of account: AccountID?) -> Bool {
        guard let account else { return false }
        return self.state.withLock { state in
            state.accounts.capacity(for: account) == .free && state.systems.capacity(for: system) == .free
        }
    }

    /// Records a connection.
    ///
    /// The limits are checked again here, because several connections may have been admitted at the same time.
    ///
    /// - Returns: `nil` when the connection was recorded, else the status with which to close it.
    func enter(_ connection: any AuthenticatedConnection) -> CloseStatus? {
        guard let account = connection.peer.standing.accountID else { return .resourceLimitsExceeded }
        let isIn = self.enter(ObjectIdentifier(connection), system: connection.peer.systemID, account: account)
        return isIn ? nil : .resourceLimitsExceeded
    }

    /// Records a connection unless a limit is reached. Returns whether it was recorded.
    func enter(_ id: ObjectIdentifier, system: SystemID, account: AccountID) -> Bool {
        self.state.withLock { state in
            guard state.accounts.capacity(for: account) == .free, state.systems.enter(system) else { return false }
            state.accounts.add(1, for: account)
            state.open[id] = (system, account)
            return true
        }
    }

    func leave(_ id: ObjectIdentifier) {
        self.state.withLock { state in
            guard let left = state.open.removeValue(forKey: id) else { return }
            state.accounts.leave(left.account)
            state.systems.leave(left.system)
        }
    }
}
