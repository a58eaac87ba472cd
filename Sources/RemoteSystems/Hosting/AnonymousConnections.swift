// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// The connections of systems of other accounts, which share a bound of their own: strangers cannot take the place of
/// the account's systems.
final class AnonymousConnections: Sendable {
    /// How many connections they have at once: all together, each system, and those with one peer key. A machine can be any
    /// number of systems.
    static let maxConnections = 16
    static let maxPerSystem = 4
    static let maxPerPeer = 8

    private struct Entry {
        var system: SystemID
        var peer: PeerKey
    }

    private let open = Mutex<[ObjectIdentifier: Entry]>([:])

    func hasCapacity(for system: SystemID) -> Bool {
        self.open.withLock { Self.hasCapacity(for: system, in: $0) }
    }

    private static func hasCapacity(for system: SystemID, in open: [ObjectIdentifier: Entry]) -> Bool {
        open.count < Self.maxConnections && open.values.count { $0.system == system } < Self.maxPerSystem
    }

    /// Notes a connection, and returns `nil`; or notes nothing and returns how it is to be closed, if there is no room: several
    /// may have been admitted at the same time.
    func enter(_ connection: Connection) -> CloseStatus? {
        let isIn = self.enter(
            ObjectIdentifier(connection),
            system: connection.peer.systemID,
            peer: connection.channel.transportPeer.key
        )
        return isIn ? nil : .resourceLimitsExceeded
    }

    /// Notes a connection, if there is room for it.
    func enter(_ id: ObjectIdentifier, system: SystemID, peer: PeerKey) -> Bool {
        self.open.withLock { open in
            let here = open.values.count { $0.peer == peer }
            guard here < Self.maxPerPeer, Self.hasCapacity(for: system, in: open) else { return false }
            open[id] = Entry(system: system, peer: peer)
            return true
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
