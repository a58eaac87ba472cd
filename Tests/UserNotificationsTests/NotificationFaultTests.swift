// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserNotifications

/// A store in memory whose process dies after a number of changes. What is changed after that is lost.
private final class DyingStore: Sendable {
    private struct State {
        var records: [String: NotificationRecord] = [:]
        /// The changes until the process dies.
        var left = 0
        /// The number of the process that lives.
        var process = 0
    }

    /// The store as one process uses it. A process that is dead changes nothing more.
    struct Handle: NotificationStore {
        let store: DyingStore
        let process: Int

        func load() async throws(NotificationError) -> [NotificationRecord] { self.store.load() }

        // The history has no part in what is lost or doubled.
        func history(after key: String?, limit: Int) async throws(NotificationError) -> [NotificationRecord] { [] }

        func commit(_ changes: [NotificationStoreChange]) async throws(NotificationError) {
            try self.store.commit(changes, by: self.process)
        }
    }

    private let state = Mutex(State())

    var isDead: Bool { self.state.withLock { $0.left <= 0 } }
    /// The notifications and responses.
    var count: Int { self.state.withLock { $0.records.values.count { $0.kind != .counter } } }

    /// Begins the life of the next process.
    func live(for changes: Int) -> Handle {
        let process = self.state.withLock { state in
            state.left = changes
            state.process += 1
            return state.process
        }
        return Handle(store: self, process: process)
    }

    private func load() -> [NotificationRecord] {
        self.state.withLock { $0.records.values.sorted { ($0.date, $0.key) < ($1.date, $1.key) } }
    }

    private func commit(_ changes: [NotificationStoreChange], by process: Int) throws(NotificationError) {
        let isDead = self.state.withLock { state in
            guard state.left > 0, state.process == process else { return true }
            state.left -= 1
            for change in changes {
                switch change {
                case .put(let record) where record.kind == .history: break
                case .put(let record): state.records["\(record.kind) \(record.key)"] = record
                case .remove(let kind, let key): state.records["\(kind) \(key)"] = nil
                case .prune: break
                }
            }
            return state.left == 0
        }
        // The last change was stored, and the program did not learn it.
        if isDead { throw NotificationError(.storeFailed, "The process is dead.") }
    }
}

/// A screen that shows nothing more for a process that is dead.
private final class MortalScreen: NotificationPresenter {
    let events = AsyncStream<NotificationPresenterEvent> { $0.finish() }
    let capabilities: NotificationPresenterCapabilities = [.actions]
    private let store: DyingStore
    private let history = Mutex<[PresentedNotification]>([])

    init(_ store: DyingStore) { self.store = store }

    var shown: [PresentedNotification] { self.history.withLock { $0 } }

    func show(_ notification: PresentedNotification) async throws {
        guard !self.store.isDead else { return }
        self.history.withLock { $0.append(notification) }
    }

    func close(_ identifier: String) async {}
}

/// Ten thousand notifications, and daemons that die at every kind of step.
@Suite(.timeLimit(.minutes(30))) struct NotificationFaultTests {
    private static let senders = (0..<8).map { NotificationSender(systemID: "s", application: "app \($0)") }

    /// What the applications and the user know.
    private struct Ledger {
        var accepted: Set<String> = []
        /// How often each was shown as new, and how often one was shown again.
        var announced: [String: Int] = [:]
        var shownAgain = 0
        /// The responses that reached an application, by the notification. Applications ignore an id that they know.
        var responses: [String: Set<String>] = [:]
        var deaths = 0
    }

    @Test("Of 10 000 notifications none is lost and each is responded to once, whenever the daemon dies (N-07, N-54)")
    func tenThousand() async throws {
        let total = 10_000
        var random = SeededGenerator(seed: 12)
        var ledger = Ledger()
        var next = 0
        try await DiscoveryStage.with { stage in
            let store = DyingStore()
            while next < total || store.count > 0 {
                let handle = store.live(for: Int.random(in: 1...300, using: &random))
                try await Self.live(stage, handle, &next, total, &ledger)
                ledger.deaths += 1
                #expect(ledger.deaths < total, "nothing goes on")
                if ledger.deaths >= total { return }
            }
        }
        #expect(ledger.accepted.count == total)
        let unanswered = ledger.accepted.subtracting(ledger.responses.keys)
        #expect(unanswered.isEmpty, "lost: \(unanswered.count)")
        #expect(ledger.responses.count == total)
        #expect(ledger.responses.values.allSatisfy { $0.count == 1 })
        #expect(ledger.deaths > 100)
        // What is delivered is stored before it is shown. After a death it is shown again, without a sound.
        #expect(ledger.announced.values.allSatisfy { $0 == 1 })
        print("FAULTS: \(ledger.deaths) deaths, \(ledger.shownAgain) times a notification was shown again")
    }

    /// One daemon, until it dies or nothing is left to do.
    private static func live(
        _ stage: DiscoveryStage,
        _ handle: DyingStore.Handle,
        _ next: inout Int,
        _ total: Int,
        _ ledger: inout Ledger
    ) async throws {
        let store = handle.store
        let screen = MortalScreen(store)
        let receiver = NotificationReceiver(stage.configuration, presenter: screen, store: handle) { _ in nil }
        await receiver.restore(try await handle.load())
        let running = Task(executorPreference: stage.clock.taskExecutor) { try await receiver.run() }
        defer { running.cancel() }
        while !store.isDead, next < total || store.count > 0 {
            // Applications add some, and try again what was not acknowledged.
            for _ in 0..<40 where next < total && !store.isDead {
                let identifier = "\(next)"
                let sender = Self.senders[next % Self.senders.count]
                guard (try? await receiver.schedule(Self.message(identifier), by: sender)) != nil else { break }
                ledger.accepted.insert(identifier)
                next += 1
            }
            guard !store.isDead else { break }
            try await stage.clock.advance(by: .seconds(2))
            // The user answers everything, and the applications learn it.
            for entry in await receiver.list() where !store.isDead {
                try? await receiver.respond(entry.key, "yes", text: nil)
            }
            guard !store.isDead else { break }
            for sender in Self.senders {
                for response in await receiver.routing.responses(for: sender) where !store.isDead {
                    ledger.responses[response.requestIdentifier, default: []].insert(response.id)
                    await receiver.acknowledge(response)
                }
            }
        }
        for shown in screen.shown {
            if shown.isSilenced {
                ledger.shownAgain += 1
            } else {
                ledger.announced[shown.content.title, default: 0] += 1
            }
        }
    }

    private static func message(_ identifier: String) -> ValueSet {
        let request = NotificationRequest(
            identifier: identifier,
            content: NotificationContent(title: identifier, categoryIdentifier: "c"),
            trigger: .timeInterval(.seconds(1))
        )
        let category = NotificationCategory(
            identifier: "c",
            actions: [NotificationAction(identifier: "yes", title: "Yes")]
        )
        return NotificationMessage.schedule(RemoteNotification(request, category: category))
    }
}

extension NotificationReceiver {
    /// An application has handled a response, as after its acknowledgement.
    fileprivate func acknowledge(_ response: NotificationResponse) async {
        self.routing.sent(response.id, over: ObjectIdentifier(self), .taken)
        await self.commitOrLog { [.remove(.response, key: response.id)] }
    }
}
