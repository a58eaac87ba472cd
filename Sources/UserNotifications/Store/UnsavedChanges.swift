// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The changes that are not in the store yet: those on their way, and those that failed and are stored later.
///
/// The last change of each record counts. A value type: the receiver commits what ``begin(_:)`` returns.
struct UnsavedChanges {
    fileprivate struct Record: Hashable {
        var kind: NotificationRecord.Kind
        /// In UTF-8: the store compares bytes, and two keys of it may be one String.
        var key: [UInt8]

        init(_ change: NotificationStoreChange) {
            switch change {
            case .put(let record): (self.kind, self.key) = (record.kind, Array(record.key.utf8))
            case .remove(let kind, let key): (self.kind, self.key) = (kind, Array(key.utf8))
            // No record has this key.
            case .prune(let kind, _, _): (self.kind, self.key) = (kind, [])
            }
        }
    }

    private struct Change {
        var change: NotificationStoreChange
        /// The commit that it is on its way with, or has failed with.
        var batch: UInt64
        var hasFailed = false
    }

    private struct Unsaved {
        var last: Change
        /// The one before, while it is not in the store. It counts again if the last one is not to be stored.
        var previous: Change?
    }

    /// Changes that are stored together.
    struct Batch {
        fileprivate var number: UInt64
        /// The records that its caller changes.
        fileprivate var own: Set<Record>
        /// The changes, with those that failed earlier.
        fileprivate(set) var changes: [NotificationStoreChange] = []
    }

    /// The maximum number of changes that are kept for later. Beyond it the history is given up, and then how
    /// notifications have ended.
    static let max = 4096

    private var unsaved: [Record: Unsaved] = [:]
    private var lastNumber: UInt64 = 0

    /// Whether a change waits to be stored again.
    var hasFailed: Bool { self.unsaved.values.contains { $0.last.hasFailed } }

    /// The number of changes that are not in the store.
    var count: Int { self.unsaved.count }

    /// Begins to store changes, and those that failed earlier.
    mutating func begin(_ changes: [NotificationStoreChange]) -> Batch {
        self.lastNumber += 1
        var batch = Batch(number: self.lastNumber, own: Set(changes.map { Record($0) }))
        for change in changes {
            let (record, new) = (Record(change), Change(change: change, batch: batch.number))
            let last = self.unsaved[record]?.last
            // Of two changes of one record in one batch the later one counts.
            let previous = last?.batch == batch.number ? self.unsaved[record]?.previous : last
            self.unsaved[record] = Unsaved(last: new, previous: previous)
        }
        for (record, unsaved) in self.unsaved where unsaved.last.hasFailed {
            self.unsaved[record]?.last = Change(change: unsaved.last.change, batch: batch.number)
        }
        batch.changes = self.unsaved.values.map(\.last).filter { $0.batch == batch.number }.map(\.change)
        // After what they may remove.
        batch.changes.sort { !$0.isPruning && $1.isPruning }
        return batch
    }

    mutating func succeeded(_ batch: Batch) {
        for (record, unsaved) in self.unsaved {
            if unsaved.last.batch == batch.number { self.unsaved[record] = nil }
            if unsaved.previous?.batch == batch.number { self.unsaved[record]?.previous = nil }
        }
    }

    /// - Parameter isKept: whether the changes are stored later. Otherwise the caller reports the failure of its own,
    ///   and only those that failed earlier are kept.
    mutating func failed(_ batch: Batch, isKept: Bool) {
        for (record, unsaved) in self.unsaved {
            let isKept = isKept || !batch.own.contains(record)
            if unsaved.last.batch == batch.number {
                if isKept {
                    self.unsaved[record]?.last.hasFailed = true
                } else {
                    self.unsaved[record] = unsaved.previous.map { Unsaved(last: $0) }
                }
            }
            if unsaved.previous?.batch == batch.number {
                if isKept {
                    self.unsaved[record]?.previous?.hasFailed = true
                } else {
                    self.unsaved[record]?.previous = nil
                }
            }
        }
        self.giveUpSome()
    }

    private mutating func giveUpSome() {
        for kind in [NotificationRecord.Kind.history, .state] where self.unsaved.count > Self.max {
            self.unsaved = self.unsaved.filter { $0.key.kind != kind || !$0.value.last.hasFailed }
        }
        // What was answered may be shown once more after a restart.
        let excess = self.unsaved.count - Self.max
        guard excess > 0 else { return }
        let failed = self.unsaved.filter { $0.value.last.hasFailed && $0.value.last.change.isRemoval }
        for record in failed.keys.prefix(excess) { self.unsaved[record] = nil }
    }
}

extension NotificationStoreChange {
    fileprivate var isPruning: Bool {
        guard case .prune = self else { return false }
        return true
    }

    fileprivate var isRemoval: Bool {
        guard case .remove = self else { return false }
        return true
    }
}
