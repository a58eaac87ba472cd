// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The changes that are not in the store yet: those on their way, and those that failed and are stored later.
///
/// The last change of each record counts. A value type: the receiver commits what ``begin(_:)`` returns.
struct UnsavedChanges {
    fileprivate struct Record: Hashable {
        var kind: NotificationRecord.Kind
        var key: String

        init(_ change: NotificationStoreChange) {
            switch change {
            case .put(let record): (self.kind, self.key) = (record.kind, record.key)
            case .remove(let kind, let key): (self.kind, self.key) = (kind, key)
            // No record has this key.
            case .prune(let kind, _, _): (self.kind, self.key) = (kind, "")
            }
        }
    }

    private struct Unsaved {
        var change: NotificationStoreChange
        /// The commit that it is on its way with.
        var batch: UInt64
        var isOnItsWay = true
    }

    /// Changes that are stored together.
    struct Batch {
        fileprivate var number: UInt64
        fileprivate var own: [Record: NotificationStoreChange] = [:]
        /// What failed earlier, for records that this batch changes.
        fileprivate var replaced: [Record: NotificationStoreChange] = [:]
        /// The changes, with those that failed earlier.
        fileprivate(set) var changes: [NotificationStoreChange] = []
    }

    private var unsaved: [Record: Unsaved] = [:]
    private var lastNumber: UInt64 = 0

    /// Whether a change waits to be stored again.
    var hasFailed: Bool { self.unsaved.values.contains { !$0.isOnItsWay } }

    /// Begins to store changes, and those that failed earlier.
    mutating func begin(_ changes: [NotificationStoreChange]) -> Batch {
        self.lastNumber += 1
        var batch = Batch(number: self.lastNumber)
        for change in changes {
            let record = Record(change)
            if let earlier = self.unsaved[record], !earlier.isOnItsWay { batch.replaced[record] = earlier.change }
            batch.own[record] = change
            self.unsaved[record] = Unsaved(change: change, batch: batch.number)
        }
        for (record, earlier) in self.unsaved where !earlier.isOnItsWay {
            self.unsaved[record] = Unsaved(change: earlier.change, batch: batch.number)
        }
        batch.changes = self.unsaved.values.filter { $0.batch == batch.number }.map(\.change)
        // After what they may remove.
        batch.changes.sort { !$0.isPruning && $1.isPruning }
        return batch
    }

    mutating func succeeded(_ batch: Batch) {
        for (record, unsaved) in self.unsaved where unsaved.batch == batch.number { self.unsaved[record] = nil }
    }

    /// - Parameter isKept: whether the batch's own changes are stored later. Otherwise its caller reports the failure.
    mutating func failed(_ batch: Batch, isKept: Bool) {
        for (record, unsaved) in self.unsaved where unsaved.batch == batch.number {
            self.unsaved[record]?.isOnItsWay = false
            guard !isKept, batch.own[record] != nil else { continue }
            self.unsaved[record] = batch.replaced[record].map {
                Unsaved(change: $0, batch: batch.number, isOnItsWay: false)
            }
        }
    }
}

extension NotificationStoreChange {
    fileprivate var isPruning: Bool {
        guard case .prune = self else { return false }
        return true
    }
}
