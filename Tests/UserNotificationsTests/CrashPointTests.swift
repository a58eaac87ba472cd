// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserNotifications

/// What a daemon knows, by the kind of the records that keep it.
private typealias Known = [NotificationRecord.Kind: [String]]

/// A screen that keeps what it shows when the process ends. It has room for two notifications.
private final class LastingScreen: PlacedNotificationPresenter {
    private struct State {
        var places: [String: String] = [:]
        var last = 0
    }

    let events = AsyncStream<NotificationPresenterEvent> { $0.finish() }
    let capabilities: NotificationPresenterCapabilities = [.actions]
    let places: AsyncStream<[String: String]>
    private let feed: AsyncStream<[String: String]>.Continuation
    private let state = Mutex(State())

    init() { (self.places, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    /// What is on the screen.
    var shown: [String: String] { self.state.withLock { $0.places } }

    func show(_ notification: PresentedNotification) async throws { self.move(notification.identifier) }
    func close(_ identifier: String) async {
        self.update { state in state.places = state.places.filter { $0.value != identifier } }
    }
    func shownTogether(of notifications: [PresentedNotification]) -> [PresentedNotification] {
        Array(notifications.suffix(2))
    }
    func adopt(_ places: [String: String]) { self.state.withLock { $0.places = places } }

    /// Shows a notification at another place, as a new server does.
    func move(_ identifier: String) {
        self.update { state in
            state.last += 1
            state.places = state.places.filter { $0.value != identifier }
            state.places["\(state.last) server"] = identifier
        }
    }

    private func update(_ change: (inout State) -> Void) {
        self.state.withLock { state in
            change(&state)
            self.feed.yield(state.places)
        }
    }
}

/// Daemons that die between any two changes of their store.
@Suite struct CrashPointTests {
    private typealias Daemon = StagedNotificationDaemon

    @Test func `a crash leaves each change of each kind of record whole or undone (N-07, X-40)`() async throws {
        let store = StepStore()
        try await ReceivingSystem.with(store: store) { receiving in
            let receiver = receiving.receiver
            let (connection, second) = (try await receiving.connect(), try await receiving.connect())
            let tablet = try await StagedDesk.appearing("Tablet", on: receiving.stage)
            _ = await receiver.beginMirroring(as: receiving.host.id)
            try await receiving.stage.eventually("the tablet is known") {
                await receiver.otherSystems.contains { $0.application(RemoteSystemHost.machineApplicationID) != nil }
            }
            let ofDesktop = RemoteNotification(
                NotificationRequest(
                    identifier: NotificationReceiver.mirroredIdentifier,
                    content: NotificationContent(title: "1 message")
                )
            )
            let program = NotificationSender(systemID: "s", application: "mail", isLocal: true)
            let targets = ["\(receiving.host.id)", "\(try receiving.stage.system("Attic").id)"]
            func post(_ identifier: String) async throws {
                let request = NotificationRequest(
                    identifier: identifier,
                    content: NotificationContent(title: "Deployed")
                )
                let message = NotificationMessage.post(RemoteNotification(request), to: targets)
                try await receiver.post(message, by: program)
            }
            func key(_ identifier: String) async throws -> String {
                let entries = await receiver.list()
                return try #require(entries.first { $0.notification.request.identifier == identifier }).key
            }
            func take(_ identifier: String, _ rest: Int) async throws {
                _ = try await second.resume([identifier])
                try await receiving.stage.eventually("the response is taken") {
                    store.steps.last?.keys.count { $0.hasPrefix("response ") } == rest
                }
            }
            let changes: [() async throws -> Void] = [
                { try await receiver.set(.silent, for: .init(application: "news")) },
                { try await receiver.set(.denied, for: .init(system: "t", application: "news")) },
                { try await receiver.setBadge(7, of: program) },
                { _ = try await receiver.schedule(Daemon.message("tea", after: 600), by: program) },
                { try await post("a") },
                { try await post("b") },
                { _ = try await connection.deliver(ReceivingSystem.question("read")) },
                { _ = try await connection.deliver(ReceivingSystem.question("later")) },
                { _ = try await connection.deliver(ReceivingSystem.question("dismissed")) },
                { _ = try await receiver.markRead([key("read")]) },
                { _ = try await receiver.snooze(key("later"), for: 600) },
                {
                    // The responses wait for the other connection.
                    await connection.close()
                    try await receiving.stage.settle()
                    try await receiver.received(.closed(identifier: key("dismissed"), reason: .dismissed)).value
                },
                { try await receiver.respond(key("read"), "yes", text: nil) },
                { _ = try await second.withdraw(["later"]) },
                { try await take("dismissed", 1) },
                { try await take("read", 0) },
                {
                    await receiver.mirror(ofDesktop, of: "chat")
                    try await receiving.stage.eventually("it is on the tablet") {
                        try tablet.titles == ["1 message"]
                    }
                },
                { await receiver.endMirrored(NotificationReceiver.mirroredIdentifier, isDismissed: true) },
                { _ = try await receiver.cancel(["tea"], of: program) },
                { _ = try await receiver.forget(nil) },
                { _ = try await receiver.unpost(["a"]) },
                { try await receiver.setBadge(0, of: program) },
                { try await receiver.set(.allowed, for: .init(application: "news")) },
                { await receiver.set(places: ["1 server": "1"]) },
                { await receiver.set(places: ["2 server": "1"]) },
                { await receiver.set(places: [:]) },
            ]
            _ = try await connection.deliver(ReceivingSystem.question("first"))
            let asker = try #require(await receiver.list().first).sender
            var counts = [store.steps.count]
            var known = [try await receiver.known(asker)]
            for change in changes {
                try await change()
                counts.append(store.steps.count)
                known.append(try await receiver.known(asker))
            }
            // Each has stored something, and changed what is known.
            #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 < $1 }, "\(counts)")
            #expect(zip(known, known.dropFirst()).allSatisfy { $0 != $1 })
            for kind in NotificationRecord.Kind.allCases {
                #expect(Set(known.map { $0[kind] }).count > 1, "nothing has changed the records of the kind \(kind)")
            }
            for (number, records) in store.steps.enumerated() {
                // The change in which the step was made.
                guard let change = counts.firstIndex(where: { number < $0 }), change > 0 else { continue }
                let left = StepStore(records)
                let again = NotificationReceiver(receiving.stage.configuration, presenter: nil, store: left) { _ in
                    nil
                }
                await again.restore(try await left.load())
                let restored = try await again.known(asker)
                // What was acknowledged is there. Before that, all of it may be there or nothing.
                let isWhole = number < counts[change] - 1 && restored == known[change - 1]
                #expect(isWhole || restored == known[change], "step \(number)")
            }
            await second.close()
            try tablet.daemon.running.cancel()
        }
    }

    @Test func `a crash while a sender is denied shows nothing more of it, and no badge (X-56)`() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let daemon = try await Daemon(stage, store)
            _ = try await daemon.show("tea", stage)
            try await daemon.receiver.setBadge(3, of: Daemon.sender)
            let before = store.steps.count
            try await daemon.receiver.set(.denied, for: .init(application: Daemon.sender.application))
            daemon.crash()
            // The permission, and then what it removes.
            #expect(store.steps.count == before + 2)
            for (number, records) in store.steps.enumerated().dropFirst(before) {
                let again = try await Daemon(stage, StepStore(records))
                try await stage.eventually("it is discarded") { await again.receiver.list().isEmpty }
                try await stage.settle()
                #expect(again.screen.history.isEmpty && again.screen.badges.isEmpty, "step \(number)")
                let badges = try await again.receiver.known(.badge, Daemon.sender)
                #expect(badges.isEmpty, "step \(number)")
                again.crash()
            }
        }
    }

    @Test func `a notification that may be on the screen twice is counted, and one whose place is known is not (N-07)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = NotificationReceiver(stage.configuration, presenter: LastingScreen(), store: store) { _ in nil }
            let running = Task(executorPreference: stage.clock.taskExecutor) { try await first.run() }
            defer { running.cancel() }
            _ = try await first.schedule(Daemon.message("tea", after: 1), by: Daemon.sender)
            try await stage.clock.advance(by: .seconds(2))
            // Nothing, the request, the delivery, the place.
            try await stage.eventually("its place is stored") { store.steps.count == 4 }
            for (number, records) in store.steps.enumerated() {
                let again = try await Self.restore(records, on: LastingScreen(), stage)
                await again.showRestored()
                #expect(await again.possiblyShownTwice == (number == 2 ? 1 : 0), "step \(number)")
            }
        }
    }

    @Test func `the next daemon knows each place on the screen, also of what is shown again or has ended (N-07)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let (store, screen) = (StepStore(), LastingScreen())
            let first = NotificationReceiver(stage.configuration, presenter: screen, store: store) { _ in nil }
            let running = Task(executorPreference: stage.clock.taskExecutor) { try await first.run() }
            defer { running.cancel() }
            _ = try await first.schedule(Daemon.message("tea", after: 1), by: Daemon.sender)
            try await stage.clock.advance(by: .seconds(2))
            try await stage.eventually("its place is stored") { store.steps.count == 4 }
            let key = try #require(await first.list().first?.key)
            screen.move(key)
            try await stage.eventually("its new place is stored") { store.steps.count == 5 }
            try await first.respond(key, "yes", text: nil)
            // The end, and then that it is closed.
            try await stage.eventually("it is closed") { store.steps.count == 7 }
            let places = [nil, nil, nil, "1 server", "2 server", "2 server", nil]
            for (number, records) in store.steps.enumerated() {
                let left = LastingScreen()
                let again = try await Self.restore(records, on: left, stage)
                let expected = places[number].map { [$0: key] } ?? [:]
                #expect(left.shown == expected, "step \(number)")
                #expect(await again.list().isEmpty == (number < 2 || number > 4), "step \(number)")
            }
        }
    }

    @Test func `what an earlier daemon had no room for does not count as possibly shown (N-07)`() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let daemon = try await Daemon(stage, store)
            for identifier in ["tea", "cake", "soup"] { _ = try await daemon.show(identifier, stage) }
            daemon.crash()
            let records = try #require(store.steps.last)
            let again = try await Self.restore(records, on: LastingScreen(), stage)
            #expect(await again.list().count == 3)
            await again.showRestored()
            #expect(await again.possiblyShownTwice == 2)
        }
    }

    /// A receiver of the next process, before it shows anything.
    private static func restore(
        _ records: [String: NotificationRecord],
        on screen: LastingScreen,
        _ stage: DiscoveryStage
    ) async throws -> NotificationReceiver {
        let store = StepStore(records)
        let receiver = NotificationReceiver(stage.configuration, presenter: screen, store: store) { _ in nil }
        await receiver.restore(try await store.load())
        return receiver
    }
}

extension NotificationReceiver {
    fileprivate static let mirroredIdentifier = "desktop-1"

    /// - Parameter asker: the sender for which responses wait.
    fileprivate func known(_ asker: NotificationSender) async throws -> Known {
        var known: Known = [:]
        for kind in NotificationRecord.Kind.allCases { known[kind] = try await self.known(kind, asker) }
        return known
    }

    /// Without a default case, so that a new kind of record cannot be left out.
    fileprivate func known(_ kind: NotificationRecord.Kind, _ asker: NotificationSender) async throws -> [String] {
        switch kind {
        case .pending:
            return self.pending.all.map { "\($0.notification.request.identifier) \(Self.text($0.date))" }
        case .received:
            return self.received.all.map { entry in
                "\(entry.notification.request.identifier) \(entry.isRead) \(Self.text(entry.snoozedUntil))"
            }
        case .response:
            return self.routing.responses(for: asker).map { "\($0.requestIdentifier) \($0.actionIdentifier)" }
                .sorted()
        case .outbox: return self.outbox.all.map { "\($0.key)" }.sorted()
        case .permission: return self.permissions.all.map { "\($0.subject) \($0.permission)" }
        case .state:
            return self.states.all.map { state in
                let (key, value) = state
                return "\(key.text) \(value.status) \(value.isRead) \(Self.text(value.snoozedUntil))"
            }.sorted()
        case .history:
            return try await self.history(after: nil).sets.map { set in
                ["Id", "Event", "Action"].map { set[$0]?.string ?? "" }.joined(separator: " ")
            }
        case .badge: return self.badges.all.map { "\($0.key) \($0.value.count)" }.sorted()
        case .mirrored:
            // Those of an earlier process, and those of this one.
            let restored = self.restoredMirrored[Self.mirroredIdentifier]?.map(\.deliveryID) ?? []
            let own = self.mirror?.notifications.deliveries(of: Self.mirroredIdentifier) ?? []
            return (restored + own).map { "\($0)" }
        case .counter: return ["\(self.received.lastNumber)"]
        case .place: return self.places.map { "\($0.key) \($0.value)" }.sorted()
        }
    }

    private static func text(_ date: Date?) -> String { date.map { "\($0.timeIntervalSince1970)" } ?? "never" }
}
