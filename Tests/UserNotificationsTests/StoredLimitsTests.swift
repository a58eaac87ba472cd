// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing

@testable import UserNotifications

/// A store that compares keys byte for byte, as the database does. It keeps nothing but them.
final class ByteKeyedStore: NotificationStore {
    private let present = Mutex<Set<[UInt8]>>([])

    var keys: Set<[UInt8]> { self.present.withLock { $0 } }

    func load() async throws(NotificationError) -> [NotificationRecord] { [] }
    func history(after key: String?, limit: Int) async throws(NotificationError) -> [NotificationRecord] { [] }

    func commit(_ changes: [NotificationStoreChange]) async throws(NotificationError) {
        self.present.withLock { present in
            for change in changes {
                switch change {
                case .put(let record): present.insert(Array(record.key.utf8))
                case .remove(_, let key): present.remove(Array(key.utf8))
                case .prune: break
                }
            }
        }
    }
}

/// A store with more than the limits permit, as an earlier version has left it.
@Suite struct StoredLimitsTests {
    private typealias Daemon = StagedNotificationDaemon
    private static let system = String(repeating: "a", count: 52)

    @Test func `of a store with too many states as many are published and kept as are permitted`() async throws {
        try await DiscoveryStage.with { stage in
            let state = NotificationState(status: .dismissed, date: stage.clock.date)
            var records = try (0..<(NotificationStates.max + 200)).map { number in
                let key = NotificationState.RecordKey.end(.init(systemID: Self.system, deliveryID: UUID()))
                return try NotificationRecord(state, of: key, from: ["\(number / 150)"], sender: nil)
            }
            // Spellings of one character, which are no ids of systems.
            for spelling in ["\u{1EC7}", "e\u{323}\u{302}", "\u{1EB9}\u{302}"] {
                let key = "\(spelling).\(UUID().uuidString.lowercased())"
                records.append(NotificationRecord(.state, key: key, date: state.date, body: records[0].body))
            }
            let store = StepStore()
            try await store.commit(records.map { .put($0) })
            let daemon = try await Daemon(stage, store)
            try await stage.eventually("they are published") { !daemon.receiver.stateTopic.records.isEmpty }
            let published = Set(daemon.receiver.stateTopic.records.keys)
            #expect(published.count == NotificationStates.max)
            let stored = try await store.load().filter { $0.kind == .state }.map(\.key)
            #expect(published == Set(stored))
            daemon.crash()
        }
    }

    @Test func `of a store with too many badges as many are shown and kept as are permitted`() async throws {
        try await DiscoveryStage.with { stage in
            let (store, date) = (StepStore(), stage.clock.date)
            let other = NotificationSender(systemID: "other", application: "a")
            let local = NotificationSender(systemID: "s", application: "a", isLocal: true)
            var changes = try (0..<200).map { number in
                let record = try NotificationRecord(Badge(count: 1, sender: other), of: "\(number)", at: date)
                return NotificationStoreChange.put(record)
            }
            changes.append(.put(try NotificationRecord(Badge(count: 2, sender: local), of: "own", at: date)))
            try await store.commit(changes)
            let daemon = try await Daemon(stage, store)
            try await stage.eventually("they are shown") { daemon.screen.badges["own"] == 2 }
            #expect(daemon.screen.badges.count == Badges.maxPerSystem + 1)
            let stored = try await store.load().filter { $0.kind == .badge }
            #expect(stored.count == Badges.maxPerSystem + 1)
            daemon.crash()
        }
    }
}
