// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

/// Counts the open connections of a host, in total and per system, against two limits.
///
/// The limit per system keeps one system that leaks connections from excluding all others. It does not apply to the
/// host's own system: its programs control the machine anyway, and there may be many.
///
/// A value without I/O. It keeps state of open connections only.
struct ConnectionQuota: Sendable {
    enum Decision: Hashable, Sendable {
        case free
        /// The total limit is reached. `shouldReport` is false if this was already logged since the count was last
        /// below 3/4 of the limit.
        case full(shouldReport: Bool)
        /// The limit of this system is reached; others may still connect.
        case fullForSystem(shouldReport: Bool)
    }

    private struct Entry {
        var count = 0
        var isReported = false
    }

    let limit: Int
    let share: Int
    private(set) var count = 0
    private var connectionsBySystem: [SystemID: Entry] = [:]
    private var isReported = false

    /// - Parameter share: the maximum of one system. `nil` means a quarter of `limit`, but at least 16 where `limit`
    ///   allows it.
    init(limit: Int, share: Int? = nil) {
        self.limit = max(limit, 1)
        self.share = min(max(share ?? max(self.limit / 4, 16), 1), self.limit)
    }

    /// Decides whether another connection of the system may be accepted.
    mutating func admission(for system: SystemID, isOwn: Bool) -> Decision {
        if self.count < self.limit * 3 / 4 { self.isReported = false }
        guard self.count < self.limit else {
            defer { self.isReported = true }
            return .full(shouldReport: !self.isReported)
        }
        guard !isOwn, var entry = self.connectionsBySystem[system] else { return .free }
        if entry.count < self.share * 3 / 4 { entry.isReported = false }
        defer { self.connectionsBySystem[system] = entry }
        guard entry.count >= self.share else { return .free }
        defer { entry.isReported = true }
        return .fullForSystem(shouldReport: !entry.isReported)
    }

    /// Counts a connection unless a limit is reached by now: several may have been admitted at the same time. Returns
    /// whether it was counted.
    mutating func enter(_ system: SystemID, isOwn: Bool) -> Bool {
        let here = self.connectionsBySystem[system]?.count ?? 0
        guard self.count < self.limit, isOwn || here < self.share else { return false }
        self.count += 1
        self.connectionsBySystem[system, default: Entry()].count += 1
        return true
    }

    mutating func leave(_ system: SystemID) {
        guard let here = self.connectionsBySystem[system]?.count else { return }
        self.count -= 1
        if here > 1 {
            self.connectionsBySystem[system]?.count = here - 1
        } else {
            self.connectionsBySystem[system] = nil
        }
    }

    /// The number of systems with open connections.
    var systems: Int { self.connectionsBySystem.count }
}
