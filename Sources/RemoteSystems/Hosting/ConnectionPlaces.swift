// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

/// Who has how many of a host's places for connections: no more than there are, and no system of them more than its share, or one
/// that loses count could keep all the others out.
///
/// The host's own system is not held to a share: its programs have the machine itself in their hands, and there may be many.
/// A value without I/O. What it keeps is of open connections alone.
struct ConnectionPlaces: Sendable {
    enum Answer: Hashable, Sendable {
        case free
        /// - isNews: whether nobody was told since there was plenty of room last.
        case full(isNews: Bool)
        /// There is room, and none for this system.
        case fullForSystem(isNews: Bool)
    }

    private struct Guest {
        var count = 0
        var isTold = false
    }

    let limit: Int
    let share: Int
    private(set) var count = 0
    private var guests: [SystemID: Guest] = [:]
    private var isTold = false

    /// - Parameter share: of one system; `nil` for a quarter, and at least 16 where there are as many.
    init(limit: Int, share: Int? = nil) {
        self.limit = max(limit, 1)
        self.share = min(max(share ?? max(self.limit / 4, 16), 1), self.limit)
    }

    /// Whether another one may be let in.
    mutating func room(for system: SystemID, isOwn: Bool) -> Answer {
        if self.count < self.limit * 3 / 4 { self.isTold = false }
        guard self.count < self.limit else {
            defer { self.isTold = true }
            return .full(isNews: !self.isTold)
        }
        guard !isOwn, var guest = self.guests[system] else { return .free }
        if guest.count < self.share * 3 / 4 { guest.isTold = false }
        defer { self.guests[system] = guest }
        guard guest.count >= self.share else { return .free }
        defer { guest.isTold = true }
        return .fullForSystem(isNews: !guest.isTold)
    }

    /// Takes a place, if there is one still: several may have been admitted at the same time.
    mutating func enter(_ system: SystemID, isOwn: Bool) -> Bool {
        let here = self.guests[system]?.count ?? 0
        guard self.count < self.limit, isOwn || here < self.share else { return false }
        self.count += 1
        self.guests[system, default: Guest()].count += 1
        return true
    }

    mutating func leave(_ system: SystemID) {
        guard let here = self.guests[system]?.count else { return }
        self.count -= 1
        if here > 1 { self.guests[system]?.count = here - 1 } else { self.guests[system] = nil }
    }

    /// How many systems are there.
    var systems: Int { self.guests.count }
}
