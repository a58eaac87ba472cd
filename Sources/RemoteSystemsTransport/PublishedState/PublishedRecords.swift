// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// The records of one topic, and the order in which they last changed.
///
/// There is no log of deltas. For each key only the newest change is kept, and for a dropped key a tombstone. The
/// changes after any version are found from these. A subscriber therefore costs no memory, however far behind it is,
/// and the changes that it missed are coalesced.
struct PublishedRecords: Sendable {
    /// A record with its encoded length and its newest change.
    struct Record: Sendable {
        let value: ValueSet
        /// The length of the encoded record, in bytes.
        let bytes: Int
        /// The sequence number of the record's newest change.
        let sequence: UInt64
    }

    /// A change of one key.
    struct Change: Sendable {
        /// The number of the change, counted over all keys.
        let sequence: UInt64
        let version: UInt64
        let key: StateKey
    }

    private(set) var records: [StateKey: Record] = [:]
    /// The number of commits.
    private(set) var version: UInt64 = 0
    private(set) var lastSequence: UInt64 = 0
    /// The length of all keys and records, in bytes.
    private(set) var bytes = 0
    /// The newest change that was removed. A subscriber that has not received it needs a snapshot.
    private(set) var horizon: (sequence: UInt64, version: UInt64) = (0, 0)
    /// The dropped keys, with the sequence number of the drop.
    private var tombstones: [StateKey: UInt64] = [:]
    /// The changes in ascending order. Contains superseded changes until it is compacted.
    private(set) var log: [Change] = []
    private let maxTombstones: Int

    init(maxTombstones: Int) {
        self.maxTombstones = maxTombstones
    }

    /// Returns how much a commit enlarges the topic.
    func growth(put: [(key: StateKey, value: ValueSet, bytes: Int)], drop: [StateKey]) -> (bytes: Int, records: Int) {
        var growth = (bytes: 0, records: 0)
        for (key, _, bytes) in put {
            if let old = self.records[key] {
                growth.bytes += bytes - old.bytes
            } else {
                growth.bytes += bytes + key.text.utf8.count
                growth.records += 1
            }
        }
        for key in drop {
            guard let old = self.records[key] else { continue }
            growth.bytes -= old.bytes + key.text.utf8.count
            growth.records -= 1
        }
        return growth
    }

    /// Changes several records as one version.
    ///
    /// - Returns: whether anything changed; if not, there is no new version.
    mutating func commit(put: [(key: StateKey, value: ValueSet, bytes: Int)], drop: [StateKey]) -> Bool {
        let next = self.version + 1
        let last = self.lastSequence
        for (key, value, bytes) in put {
            let old = self.records[key]
            if let old, old.value == value { continue }
            self.bytes += old.map { bytes - $0.bytes } ?? (bytes + key.text.utf8.count)
            self.tombstones[key] = nil
            self.records[key] = Record(value: value, bytes: bytes, sequence: self.note(key, next))
        }
        for key in drop {
            guard let old = self.records.removeValue(forKey: key) else { continue }
            self.bytes -= old.bytes + key.text.utf8.count
            self.tombstones[key] = self.note(key, next)
        }
        guard self.lastSequence > last else { return false }
        self.version = next
        self.forgetTombstones()
        self.compact()
        return true
    }

    private mutating func note(_ key: StateKey, _ version: UInt64) -> UInt64 {
        self.lastSequence += 1
        self.log.append(Change(sequence: self.lastSequence, version: version, key: key))
        return self.lastSequence
    }

    /// Removes a quarter of the tombstones at once, so that the search for the oldest is rare.
    private mutating func forgetTombstones() {
        guard self.tombstones.count > self.maxTombstones else { return }
        var excess = self.tombstones.count - self.maxTombstones * 3 / 4
        for change in self.log where excess > 0 && self.tombstones[change.key] == change.sequence {
            self.tombstones[change.key] = nil
            self.horizon = (change.sequence, change.version)
            excess -= 1
        }
    }

    private mutating func compact() {
        guard self.log.count > 2 * (self.records.count + self.tombstones.count) + 64 else { return }
        self.log = self.log.filter { self.newest($0) != nil }
    }

    /// The present state of a key: a record, or a drop.
    enum Newest {
        case record(Record)
        case dropped
    }

    /// Returns the current state of a change's key; `nil` if the key has changed again.
    func newest(_ change: Change) -> Newest? {
        if let record = self.records[change.key] {
            return record.sequence == change.sequence ? .record(record) : nil
        }
        return self.tombstones[change.key] == change.sequence ? .dropped : nil
    }

    /// Returns the index in ``log`` of the first change after this one.
    func place(after sequence: UInt64) -> Int {
        self.place { $0.sequence <= sequence }
    }

    /// Returns the newest change that a subscriber with this version has received; `nil` if later changes were removed,
    /// or if there is no such version.
    func sequence(of version: UInt64) -> UInt64? {
        guard version <= self.version, version >= self.horizon.version else { return nil }
        let next = self.place { $0.version <= version }
        return next < self.log.count ? self.log[next].sequence - 1 : self.lastSequence
    }

    private func place(where isBefore: (Change) -> Bool) -> Int {
        var low = 0
        var high = self.log.count
        while low < high {
            let middle = (low + high) / 2
            if isBefore(self.log[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
