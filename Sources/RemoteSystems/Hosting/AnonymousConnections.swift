// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// The connections of systems of other accounts, which share a bound of their own: strangers cannot take the place of
/// the account's systems.
final class AnonymousConnections: Sendable {
    /// How many connections they have at once, all together and each system.
    static let maxConnections = 16
    static let maxPerSystem = 4

    private let open = Mutex<[ObjectIdentifier: SystemID]>([:])

    func hasCapacity(for system: SystemID) -> Bool {
        self.open.withLock { Self.hasCapacity(for: system, in: $0) }
    }

    private static func hasCapacity(for system: SystemID, in open: [ObjectIdentifier: SystemID]) -> Bool {
        open.count < Self.maxConnections && open.values.count { $0 == system } < Self.maxPerSystem
    }

    /// Notes a connection, and returns `nil`; or notes nothing and returns how it is to be closed, if there is no room: several
    /// may have been admitted at the same time.
    func enter(_ connection: Connection) -> CloseStatus? {
        self.open.withLock { open in
            guard Self.hasCapacity(for: connection.peer.systemID, in: open) else { return .resourceLimitsExceeded }
            open[ObjectIdentifier(connection)] = connection.peer.systemID
            return nil
        }
    }

    func leave(_ id: ObjectIdentifier) {
        self.open.withLock { open in _ = open.removeValue(forKey: id) }
    }

    /// What a stranger is told that asks for anything else than what is offered to anyone, whether it exists or not.
    static let refusal = Refusal(
        .notAuthorized,
        code: .notAuthorized,
        "You are not authorised here: your system belongs to another account, and this is not offered to others."
    )

    static let full = Refusal(
        .remoteSystemUnavailable,
        code: .tooManyConnections,
        "There is no room for another system of another account now. Try again later.",
        canRetry: true
    )
}

extension ConnectionLimits {
    /// The same, no wider than what is granted to systems of other accounts.
    var forAnonymous: ConnectionLimits {
        var limits = self
        limits.messageBytes = min(limits.messageBytes, 64 << 10)
        limits.window = min(limits.window, 8)
        limits.windowBytes = 128 << 10
        limits.concurrentRequests = min(limits.concurrentRequests, limits.window)
        return limits
    }
}
