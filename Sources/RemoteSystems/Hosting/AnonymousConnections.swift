// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// The open connections of systems of other accounts, which have limits of their own.
protocol ForeignConnections: Sendable {
    /// - Parameter account: the linked account of the system; `nil` for a system of an account that is not linked.
    func hasCapacity(for system: SystemID, of account: AccountID?) -> Bool
    /// Records a connection. Returns `nil` when it was recorded, else the status with which to close it.
    func enter(_ connection: any AuthenticatedConnection) -> CloseStatus?
    func leave(_ id: ObjectIdentifier)
}

/// The open connections of systems of accounts that are not linked.
///
/// They have a limit of their own, so that they cannot take the places of the account's own systems.
final class AnonymousConnections: ForeignConnections {
    /// The maximum numbers of connections: in total, per system, and per peer key. One machine can claim any number of
    /// system ids.
    static let maxConnections = 16
    static let maxPerSystem = 4
    static let maxPerPeer = 8

    private struct State {
        var open: [ObjectIdentifier: (system: SystemID, peer: PeerKey)] = [:]
        var systems = KeyedLimiter<SystemID>(total: maxConnections, perKey: maxPerSystem)
        var peers = KeyedLimiter<PeerKey>(total: maxConnections, perKey: maxPerPeer)
    }

    private let state = Mutex(State())

    func hasCapacity(for system: SystemID, of account: AccountID? = nil) -> Bool {
        self.state.withLock { $0.systems.capacity(for: system) == .free }
    }

    /// Records a connection.
    ///
    /// The limit is checked again here, because several connections may have been admitted at the same time.
    ///
    /// - Returns: `nil` when the connection was recorded, else the status with which to close it.
    func enter(_ connection: any AuthenticatedConnection) -> CloseStatus? {
        let isIn = self.enter(
            ObjectIdentifier(connection),
            system: connection.peer.systemID,
            peer: connection.channel.transportPeer.key
        )
        return isIn ? nil : .resourceLimitsExceeded
    }

    /// Records a connection unless a limit is reached. Returns whether it was recorded.
    func enter(_ id: ObjectIdentifier, system: SystemID, peer: PeerKey) -> Bool {
        self.state.withLock { state in
            guard state.systems.capacity(for: system) == .free, state.peers.enter(peer) else { return false }
            state.systems.add(1, for: system)
            state.open[id] = (system, peer)
            return true
        }
    }

    func leave(_ id: ObjectIdentifier) {
        self.state.withLock { state in
            guard let left = state.open.removeValue(forKey: id) else { return }
            state.systems.leave(left.system)
            state.peers.leave(left.peer)
        }
    }

    /// The response to a system of another account that requests anything not offered to other accounts. It does not
    /// reveal whether the service exists.
    static let refusal = Refusal(
        .notAuthorized,
        code: .notAuthorized,
        "You are not authorised here: your system belongs to another account, and this is not offered to others."
    )

    static let full = Refusal(
        .remoteSystemUnavailable,
        code: .tooManyConnections,
        "This system has the maximum number of connections with systems of other accounts. Try again later.",
        canRetry: true
    )
}

extension ConnectionLimits {
    /// These limits, reduced to the values for systems of other accounts.
    var forAnonymous: ConnectionLimits {
        var limits = self
        limits.messageBytes = min(limits.messageBytes, 64 << 10)
        limits.window = min(limits.window, 8)
        limits.windowBytes = 128 << 10
        limits.concurrentRequests = min(limits.concurrentRequests, limits.window)
        return limits
    }
}
