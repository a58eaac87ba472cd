// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

/// Who has how many of a host's places for connections: no more than there are, and no system of them more than its share, or one
/// that loses count could keep all the others out.
///
/// The host's own system is not held to a share: its programs have the machine itself in their hands, and there may be many.
/// A value without I/O. What it keeps is of open connections alone.
struct ConnectionQuota: Sendable {
    enum Decision: Hashable, Sendable {
        case free
        /// - shouldReport: whether nobody was told since there was plenty of room last.
        case full(shouldReport: Bool)
        /// There is room, and none for this system.
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

    /// - Parameter share: of one system; `nil` for a quarter, and at least 16 where there are as many.
    init(limit: Int, share: Int? = nil) {
        self.limit = max(limit, 1)
        self.share = min(max(share ?? max(self.limit / 4, 16), 1), self.limit)
    }

    /// Whether another one may be let in.
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

    /// Takes a place, if there is one still: several may have been admitted at the same time.
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

    /// How many systems are there.
    var systems: Int { self.connectionsBySystem.count }
}
