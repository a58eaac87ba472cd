// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What is to happen when, in a time that only moves when it is told to.
///
/// A value without I/O: `Action` is whatever its owner does when the time has come. Things due at one moment happen in
/// the order in which they were put down.
struct Timetable<Action> {
    struct ID: Hashable {
        fileprivate var number: UInt64
    }

    private struct Entry {
        var due: Duration
        var id: ID
        /// What happens then, for a message.
        var what: String
        var action: Action
    }

    /// Since the beginning.
    private(set) var now = Duration.zero
    /// By due time, then by number.
    private var entries: [Entry] = []
    private var last: UInt64 = 0

    mutating func makeID() -> ID {
        self.last += 1
        return ID(number: self.last)
    }

    mutating func add(_ action: Action, id: ID, due: Duration, what: String = "") {
        let entry = Entry(due: due, id: id, what: what, action: action)
        let place = self.entries.partitioned { ($0.due, $0.id.number) > (due, id.number) }
        self.entries.insert(entry, at: place)
    }

    /// Takes the entry back. Returns what it would have done, if it has not.
    mutating func remove(_ id: ID) -> Action? {
        guard let place = self.entries.firstIndex(where: { $0.id == id }) else { return nil }
        return self.entries.remove(at: place).action
    }

    /// Moves on to the next moment, not after `limit`, at which something is due. Returns what that is; nothing when
    /// `limit` was reached.
    mutating func step(to limit: Duration) -> [Action] {
        guard let next = self.entries.first?.due, next <= limit else {
            self.now = max(self.now, limit)
            return []
        }
        self.now = max(self.now, next)
        let due = self.entries.prefix { $0.due <= self.now }
        self.entries.removeFirst(due.count)
        return due.map(\.action)
    }

    /// What is due next, the first first.
    func next(_ count: Int) -> [(due: Duration, what: String)] { self.entries.prefix(count).map { ($0.due, $0.what) } }

    var count: Int { self.entries.count }

    mutating func removeAll() -> [Action] {
        defer { self.entries = [] }
        return self.entries.map(\.action)
    }
}

extension Array {
    /// The first index whose element satisfies the predicate, in an array where all that do come last.
    fileprivate func partitioned(by isInSecondPart: (Element) -> Bool) -> Int {
        var low = 0
        var high = self.count
        while low < high {
            let middle = (low + high) / 2
            if isInSecondPart(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
