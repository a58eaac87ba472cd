// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The order in which keys of an ``AttemptQueue`` take turns: machines, or the advertised names at one machine.
///
/// A key that has had no turn since it began to wait goes before the others, so a system that appears does not wait
/// behind copies of an advertisement, which never stop waiting. While keys that had a turn wait, at least one turn in
/// nine is theirs, so keys that keep appearing do not exclude them.
struct AttemptTurns<Key> {
    /// The maximum number of turns of new keys in a row while others wait.
    static var newInRow: Int { 8 }

    private var new: ArraySlice<Key> = []
    private var repeated: ArraySlice<Key> = []
    /// The number of turns of new keys since the last turn of another one.
    private var row = 0

    var isEmpty: Bool { self.new.isEmpty && self.repeated.isEmpty }
    var count: Int { self.new.count + self.repeated.count }

    private var isTurnOfNew: Bool { !self.new.isEmpty && (self.row < Self.newInRow || self.repeated.isEmpty) }

    /// The key that ``popFirst()`` returns.
    var first: Key? { self.isTurnOfNew ? self.new.first : self.repeated.first }

    /// Adds a key at the end of its kind.
    ///
    /// - Parameter isNew: whether the key has had no turn since it began to wait.
    mutating func append(_ key: Key, isNew: Bool) {
        if isNew { self.new.append(key) } else { self.repeated.append(key) }
    }

    /// Removes and returns the key whose turn it is.
    mutating func popFirst() -> Key? {
        guard self.isTurnOfNew else {
            self.row = 0
            return self.repeated.popFirst()
        }
        self.row += 1
        return self.new.popFirst()
    }

    /// Removes the key whose turn it is, without counting a turn: nothing waits for it any more.
    mutating func dropFirst() {
        if self.isTurnOfNew { self.new.removeFirst() } else { _ = self.repeated.popFirst() }
    }

    /// Removes the other keys.
    mutating func keep(_ isKept: (Key) -> Bool) {
        self.new = self.new.filter(isKept)[...]
        self.repeated = self.repeated.filter(isKept)[...]
    }
}
