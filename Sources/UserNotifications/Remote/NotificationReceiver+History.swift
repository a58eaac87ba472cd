// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import ValueSets

/// The notifications that have ended, for the user to read again.
extension NotificationReceiver {
    /// The maximum number of notifications in the history, and the time for which one is kept.
    private static let maxHistory = 10_000
    private static let historyLife: TimeInterval = 30 * 86_400
    /// The history is pruned once for so many notifications.
    private static let pruneInterval = 64

    /// What is to be stored when notifications have ended. The user's other systems learn it.
    ///
    /// - Parameters:
    ///   - action: what the user has chosen on this system.
    ///   - isKnown: whether another system has reported it.
    func changes(
        ending entries: [ReceivedNotifications.Entry],
        _ end: NotificationEnd,
        by action: NotificationActionIdentifier? = nil,
        isKnown: Bool = false
    ) throws(NotificationError) -> [NotificationStoreChange] {
        guard !entries.isEmpty else { return [] }
        let date = self.clock.date
        var changes: [NotificationStoreChange] = []
        for entry in entries {
            changes.append(.remove(.received, key: entry.key))
            changes.append(.put(try NotificationRecord(history: entry, end, by: action, at: date)))
        }
        if !isKnown, let status = end.status { changes += try self.settle(entries, status) }
        let count = self.endedCount
        self.endedCount += entries.count
        guard count == 0 || count / Self.pruneInterval != self.endedCount / Self.pruneInterval else { return changes }
        return changes + [self.pruning(keeping: Self.maxHistory)]
    }

    private func pruning(keeping count: Int) -> NotificationStoreChange {
        .prune(.history, before: self.clock.date - Self.historyLife, keeping: count)
    }

    /// A page of the history, the newest first.
    func history(after key: String?) async throws(NotificationError) -> NotificationPage {
        let records = try await self.store?.history(after: key, limit: NotificationPage.maxEntries) ?? []
        let oldest = self.clock.date - Self.historyLife
        var sets: [(String, ValueSet)] = []
        // What is too old is removed only when the next one ends.
        for record in records where record.date >= oldest { sets.append((record.key, try record.history())) }
        return NotificationPage(sets, isLast: records.count < NotificationPage.maxEntries || sets.count < records.count)
    }

    /// Deletes one notification of the history, or all.
    ///
    /// - Returns: how many were deleted.
    func forget(_ key: String?) async throws(NotificationError) -> Int {
        let count = try await self.historyCount(key)
        try await self.commit([key.map { .remove(.history, key: $0) } ?? self.pruning(keeping: 0)])
        return count
    }

    /// The number of notifications in the history.
    ///
    /// - Parameter key: the only one that is counted; `nil` for all.
    private func historyCount(_ key: String?) async throws(NotificationError) -> Int {
        guard let store else { return 0 }
        let oldest = self.clock.date - Self.historyLife
        var (count, last) = (0, String?.none)
        while true {
            let records = try await store.history(after: last, limit: NotificationPage.maxEntries)
            count += records.count { record in record.date >= oldest && (key.map { $0 == record.key } ?? true) }
            guard records.count == NotificationPage.maxEntries, key == nil || count == 0 else { return count }
            last = records.last?.key
        }
    }
}
