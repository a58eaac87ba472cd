// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Counts the open connections of a host, in total and per system, against two limits.
///
/// The limit per system keeps one system that leaks connections from excluding all others. It does not apply to the
/// host's own system: its programs control the machine anyway, and there may be many.
///
/// A value type without I/O. It keeps state of open connections only.
struct ConnectionQuota: Sendable {
    /// Whether another connection fits the limits.
    enum Decision: Hashable, Sendable {
        case free
        /// The total limit is reached. `shouldReport` is false if this was already logged since the count was last
        /// below 3/4 of the limit.
        case full(shouldReport: Bool)
        /// The limit of this system is reached; others may still connect.
        case fullForSystem(shouldReport: Bool)
    }

    private var connections: KeyedLimiter<SystemID>
    private var isReported = false
    /// The systems at their limit for which that was reported.
    private var reported: Set<SystemID> = []

    /// Creates a quota without connections.
    ///
    /// - Parameter share: the maximum of one system. `nil` means a quarter of `limit`, but at least 16 where `limit`
    ///   allows it.
    init(limit: Int, share: Int? = nil) {
        let limit = max(limit, 1)
        let share = min(max(share ?? max(limit / 4, 16), 1), limit)
        self.connections = KeyedLimiter(total: limit, perKey: share)
    }

    var limit: Int { self.connections.total }
    var share: Int { self.connections.perKey }
    var count: Int { self.connections.count }
    /// The number of systems with open connections.
    var systems: Int { self.connections.keys }

    /// Decides whether another connection of the system may be accepted.
    mutating func admission(for system: SystemID, isOwn: Bool) -> Decision {
        if self.count < self.limit * 3 / 4 { self.isReported = false }
        if self.connections.count(of: system) < self.share * 3 / 4 { self.reported.remove(system) }
        switch self.connections.capacity(for: system) {
        case .full:
            defer { self.isReported = true }
            return .full(shouldReport: !self.isReported)
        case .fullForKey where !isOwn:
            return .fullForSystem(shouldReport: self.reported.insert(system).inserted)
        case .free, .fullForKey:
            return .free
        }
    }

    /// Counts a connection unless a limit is reached by now: several may have been admitted at the same time. Returns
    /// whether it was counted.
    mutating func enter(_ system: SystemID, isOwn: Bool) -> Bool {
        switch self.connections.capacity(for: system) {
        case .full: return false
        case .fullForKey where !isOwn: return false
        case .free, .fullForKey: self.connections.add(1, for: system)
        }
        return true
    }

    mutating func leave(_ system: SystemID) {
        self.connections.leave(system)
        if self.connections.count(of: system) == 0 { self.reported.remove(system) }
    }
}
