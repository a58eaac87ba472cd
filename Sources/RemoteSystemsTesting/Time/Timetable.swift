// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Actions by due time, in a time that moves only by ``step(to:)``.
///
/// A value type without I/O. Its owner performs the actions. Actions that are due at the same moment are returned in
/// the order in which they were added.
struct Timetable<Action> {
    /// Identifies an entry of the timetable.
    struct ID: Hashable {
        fileprivate var number: UInt64
    }

    private struct Entry {
        var due: Duration
        var id: ID
        /// A description of the action, for a message.
        var what: String
        var action: Action
    }

    /// The time since the beginning.
    private(set) var now = Duration.zero
    /// The entries, sorted by due time, then by number.
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

    /// Removes the entry. Returns its action, unless it was due already.
    mutating func remove(_ id: ID) -> Action? {
        guard let place = self.entries.firstIndex(where: { $0.id == id }) else { return nil }
        return self.entries.remove(at: place).action
    }

    /// Moves to the next moment, not after `limit`, at which something is due. Returns the due actions; an empty array
    /// if `limit` was reached.
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

    /// The next entries, earliest first.
    func next(_ count: Int) -> [(due: Duration, what: String)] { self.entries.prefix(count).map { ($0.due, $0.what) } }

    var count: Int { self.entries.count }

    mutating func removeAll() -> [Action] {
        defer { self.entries = [] }
        return self.entries.map(\.action)
    }
}

extension Array {
    /// The index of the first element that satisfies the predicate, in an array in which all such elements come last.
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
