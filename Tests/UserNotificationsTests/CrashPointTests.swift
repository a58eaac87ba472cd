// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import RemoteSystemsTesting
import Testing
import ValueSets

@testable import UserNotifications

/// What a daemon knows besides what is pending and what its senders wait for.
private struct Known: Equatable, Sendable {
    var permissions: [String] = []
    var states: [String: String] = [:]
    var outbox: [String] = []
    var badges: [String: Int] = [:]
    var waiting: [String] = []
}

/// A screen that keeps what it shows when the process ends.
private final class LastingScreen: PlacedNotificationPresenter {
    let events = AsyncStream<NotificationPresenterEvent> { $0.finish() }
    let capabilities: NotificationPresenterCapabilities = [.actions]

    func show(_ notification: PresentedNotification) async throws {}
    func close(_ identifier: String) async {}
    func place(of identifier: String) -> String? { "1 server" }
    func adopt(_ places: [String: String]) {}
}

/// Daemons that die between any two changes of their store.
@Suite struct CrashPointTests {
    private typealias Daemon = StagedNotificationDaemon

    @Test func `a crash leaves each change of permissions, states, outbox and badges whole or undone (N-07, X-40)`()
        async throws
    {
        let store = StepStore()
        try await ReceivingSystem.with(store: store) { receiving in
            let receiver = receiving.receiver
            let connection = try await receiving.connect()
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
            let changes: [() async throws -> Void] = [
                { try await receiver.set(.silent, for: .init(application: "news")) },
                { try await receiver.set(.denied, for: .init(system: "t", application: "news")) },
                { try await receiver.setBadge(7, of: program) },
                { try await post("a") },
                { try await post("b") },
                { _ = try await connection.deliver(ReceivingSystem.question("read")) },
                { _ = try await connection.deliver(ReceivingSystem.question("later")) },
                { _ = try await connection.deliver(ReceivingSystem.question("dismissed")) },
                { _ = try await receiver.markRead([key("read")]) },
                { _ = try await receiver.snooze(key("later"), for: 600) },
                { try await receiver.received(.closed(identifier: key("dismissed"), reason: .dismissed)) },
                { try await receiver.respond(key("read"), "yes", text: nil) },
                { _ = try await connection.withdraw(["later"]) },
                { _ = try await receiver.unpost(["a"]) },
                { try await receiver.setBadge(0, of: program) },
                { try await receiver.set(.allowed, for: .init(application: "news")) },
            ]
            var counts = [store.steps.count]
            var known = [await receiver.known]
            for change in changes {
                try await change()
                counts.append(store.steps.count)
                known.append(await receiver.known)
            }
            // Each has stored something, and changed what is known.
            #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 < $1 }, "\(counts)")
            #expect(zip(known, known.dropFirst()).allSatisfy { $0 != $1 })
            for (number, records) in store.steps.enumerated() {
                // The change in which the step was made.
                guard let change = counts.firstIndex(where: { number < $0 }), change > 0 else { continue }
                let again = NotificationReceiver(receiving.stage.configuration, presenter: nil) { _ in nil }
                await again.restore(try await StepStore(records).load())
                let restored = await again.known
                // What was acknowledged is there. Before that, all of it may be there or nothing.
                let isWhole = number < counts[change] - 1 && restored == known[change - 1]
                #expect(isWhole || restored == known[change], "step \(number)")
            }
            await connection.close()
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
                let badges = await again.receiver.known.badges
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
                let (store, screen) = (StepStore(records), LastingScreen())
                let again = NotificationReceiver(stage.configuration, presenter: screen, store: store) { _ in nil }
                await again.restore(try await store.load())
                await again.showRestored()
                #expect(await again.possiblyShownTwice == (number == 2 ? 1 : 0), "step \(number)")
            }
        }
    }
}

extension NotificationReceiver {
    fileprivate var known: Known {
        Known(
            permissions: self.permissions.all.map { "\($0.subject) \($0.permission)" },
            states: self.states.all.reduce(into: [:]) { known, state in
                let (key, value) = state
                known[key.text] = "\(value.status) \(value.isRead) \(Self.text(value.snoozedUntil))"
            },
            outbox: self.outbox.all.map { "\($0.key)" }.sorted(),
            badges: self.badges.all.mapValues(\.count),
            waiting: self.received.all.map { entry in
                "\(entry.notification.request.identifier) \(entry.isRead) \(Self.text(entry.snoozedUntil))"
            }
        )
    }

    private static func text(_ date: Date?) -> String { date.map { "\($0.timeIntervalSince1970)" } ?? "never" }
}
