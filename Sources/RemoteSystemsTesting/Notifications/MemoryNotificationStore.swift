// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Synchronization
internal import UserNotifications

/// Keeps the notifications of a staged host daemon in memory, without a history.
final class MemoryNotificationStore: NotificationStore {
    private struct Key: Hashable {
        var kind: NotificationRecord.Kind
        var key: String
    }

    private let records = Mutex<[Key: NotificationRecord]>([:])

    func load() async throws(NotificationError) -> [NotificationRecord] {
        self.records.withLock { $0.values.sorted { ($0.date, $0.key) < ($1.date, $1.key) } }
    }

    func history(after key: String?, limit: Int) async throws(NotificationError) -> [NotificationRecord] { [] }

    func commit(_ changes: [NotificationStoreChange]) async throws(NotificationError) {
        self.records.withLock { records in
            for change in changes {
                switch change {
                case .put(let record):
                    guard record.kind != .history else { continue }
                    records[Key(kind: record.kind, key: record.key)] = record
                case .remove(let kind, let key): records[Key(kind: kind, key: key)] = nil
                // Only the history is pruned.
                case .prune: break
                }
            }
        }
    }
}
