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
    /// The number of the notifications and responses.
    var count: Int {
        self.state.withLock { $0.records.values.count { $0.kind != .counter && $0.kind != .place } }
    }

    /// A process dies now.
    func die(_ process: Int) {
        self.state.withLock { state in
            if state.process == process { state.left = 0 }
        }
    }

    /// Whether a process lives.
    func lives(_ process: Int) -> Bool { self.state.withLock { $0.left > 0 && $0.process == process } }

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

/// A screen that keeps what it shows when a process dies, as the notification server of a desktop does.
private final class LastingScreen: Sendable {
    private struct State {
        /// The keys of the notifications, by their places.
        var keys: [Int: String] = [:]
        var lastPlace = 0
    }

    private let state = Mutex(State())

    /// Shows a notification at a new place.
    ///
    /// - Returns: the place, and whether the notification is at another one already.
    func show(_ key: String) -> (place: Int, isTwice: Bool) {
        self.state.withLock { state in
            let isTwice = state.keys.values.contains(key)
            state.lastPlace += 1
            state.keys[state.lastPlace] = key
            return (state.lastPlace, isTwice)
        }
    }

    func close(_ place: Int) { self.state.withLock { $0.keys[place] = nil } }
}

/// The screen as one process uses it. For a process that is dead it does nothing more.
private final class MortalPresenter: PlacedNotificationPresenter {
    struct Shown {
        var notification: PresentedNotification
        /// Whether it is at a place that no process has stored.
        var isAtNewPlace: Bool
        /// Whether it is at another place, too.
        var isTwice: Bool
    }

    private struct State {
        var places: [Int: String] = [:]
        var history: [Shown] = []
    }

    let events = AsyncStream<NotificationPresenterEvent> { $0.finish() }
    let capabilities: NotificationPresenterCapabilities = [.actions]
    let places: AsyncStream<[String: String]>
    private let feed: AsyncStream<[String: String]>.Continuation
    private let screen: LastingScreen
    private let process: DyingStore.Handle
    /// The keys of what waits for the user. An earlier process may have left other notifications on the screen.
    private let waiting: Set<String>
    /// How many notifications the process shows. It dies before it has stored the place of the last one.
    private let maxShown: Int?
    private let state = Mutex(State())

    init(_ screen: LastingScreen, of process: DyingStore.Handle, waiting: Set<String>, maxShown: Int?) {
        (self.places, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.screen = screen
        self.process = process
        self.waiting = waiting
        self.maxShown = maxShown
    }

    var shown: [Shown] { self.state.withLock { $0.history } }
    private var isDead: Bool { !self.process.store.lives(self.process.process) }

    func show(_ notification: PresentedNotification) async throws {
        guard !self.isDead else { return }
        self.state.withLock { state in
            let isAtNewPlace = !state.places.values.contains(notification.identifier)
            var isTwice = false
            if isAtNewPlace {
                let (place, isThere) = self.screen.show(notification.identifier)
                state.places[place] = notification.identifier
                isTwice = isThere
            }
            state.history.append(Shown(notification: notification, isAtNewPlace: isAtNewPlace, isTwice: isTwice))
            if state.history.count == self.maxShown { self.process.store.die(self.process.process) }
            self.report(state)
        }
    }

    func close(_ identifier: String) async {
        guard !self.isDead else { return }
        self.state.withLock { state in
            for (place, key) in state.places where key == identifier {
                self.screen.close(place)
                state.places[place] = nil
            }
            self.report(state)
        }
    }

    func shownTogether(of notifications: [PresentedNotification]) -> [PresentedNotification] { notifications }

    func adopt(_ places: [String: String]) {
        self.state.withLock { state in
            for (text, key) in places {
                guard let place = Int(text) else { continue }
                if self.waiting.contains(key) { state.places[place] = key } else { self.screen.close(place) }
            }
            self.report(state)
        }
    }

    private func report(_ state: State) {
        self.feed.yield(Dictionary(uniqueKeysWithValues: state.places.map { ("\($0.key)", $0.value) }))
    }
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
        /// How often one was shown again beside itself, and how often the daemons said that this was possible.
        var shownTwice = 0
        var statedTwice = 0
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
            let (store, screen) = (DyingStore(), LastingScreen())
            while next < total || store.count > 0 {
                let handle = store.live(for: Int.random(in: 1...600, using: &random))
                let waiting = try await handle.load().filter { $0.kind == .received }.map(\.key)
                let maxShown = Bool.random(using: &random) ? Int.random(in: 1...200, using: &random) : nil
                let presenter = MortalPresenter(screen, of: handle, waiting: Set(waiting), maxShown: maxShown)
                try await Self.live(stage, handle, presenter, &next, total, &ledger)
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
        // The faults also hit the moment between a notification on the screen and its place in the store.
        #expect(ledger.shownTwice > 0)
        print(
            "FAULTS: \(ledger.deaths) deaths, \(ledger.shownAgain) times a notification was shown again,",
            "\(ledger.shownTwice) of these twice, of \(ledger.statedTwice) stated by the daemons"
        )
    }

    /// One daemon, until it dies or nothing is left to do.
    private static func live(
        _ stage: DiscoveryStage,
        _ handle: DyingStore.Handle,
        _ screen: MortalPresenter,
        _ next: inout Int,
        _ total: Int,
        _ ledger: inout Ledger
    ) async throws {
        let store = handle.store
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
        let shownAgain = screen.shown.filter(\.notification.isSilenced)
        for shown in screen.shown where !shown.notification.isSilenced {
            ledger.announced[shown.notification.content.title, default: 0] += 1
        }
        ledger.shownAgain += shownAgain.count
        let stated = await receiver.possiblyShownTwice
        // What has no stored place was on the screen or not, and the daemon may die before it shows all of it again.
        #expect(shownAgain.count(where: \.isAtNewPlace) <= stated)
        #expect(screen.shown.allSatisfy { !$0.isTwice || $0.notification.isSilenced })
        ledger.shownTwice += shownAgain.count(where: \.isTwice)
        ledger.statedTwice += stated
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
