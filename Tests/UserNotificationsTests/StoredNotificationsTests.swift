// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Testing
import ValueSets

@testable import UserNotifications

/// Notifications that survive the daemon.
@Suite struct StoredNotificationsTests {
    private typealias Daemon = StagedNotificationDaemon
    private static let sender = Daemon.sender

    private static func message(_ identifier: String, after seconds: Int, repeats: Bool = false) -> ValueSet {
        Daemon.message(identifier, after: seconds, repeats: repeats)
    }

    @Test("A scheduled notification survives the daemon, and is delivered once at its date (N-07)")
    func survives() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = try await Daemon(stage, store)
            let date = try await first.receiver.schedule(Self.message("tea", after: 600), by: Self.sender)
            #expect(date == stage.clock.date + 600)
            first.crash()
            try await stage.clock.advance(by: .seconds(300))
            let second = try await Daemon(stage, store)
            #expect(await second.receiver.pending.all.map(\.date) == [date])
            try await stage.clock.advance(by: .seconds(301))
            try await stage.eventually("what is due is shown") { second.screen.history.map(\.content.title) == ["tea"] }
            #expect(second.screen.history.first?.applicationName == "Calendar")
            #expect(await second.receiver.pending.all.isEmpty)
            second.crash()
        }
    }

    @Test("What was due while nothing ran is delivered once, as late as it is (N-07)")
    func late() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = try await Daemon(stage, store)
            _ = try await first.receiver.schedule(Self.message("once", after: 600), by: Self.sender)
            _ = try await first.receiver.schedule(Self.message("hourly", after: 3600, repeats: true), by: Self.sender)
            first.crash()
            let off = stage.clock.date
            stage.clock.date = off + 86_400 * 3 + 60
            let second = try await Daemon(stage, store)
            try await stage.clock.advance(by: .seconds(1))
            try await stage.eventually("what is due is shown") { second.screen.history.count == 2 }
            #expect(Set(second.screen.history.map(\.content.title)) == ["once", "hourly"])
            #expect(await second.receiver.pending.next == off + 86_400 * 3 + 3600)
            second.crash()
        }
    }

    @Test("A crash after any step loses no notification, and handles no response twice (N-07)")
    func everyStep() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let daemon = try await Daemon(stage, store)
            _ = try await daemon.receiver.schedule(Self.message("a", after: 60, repeats: true), by: Self.sender)
            _ = try await daemon.receiver.schedule(Self.message("b", after: 90), by: Self.sender)
            try await stage.clock.advance(by: .seconds(100))
            try await stage.eventually("both are shown") { daemon.screen.shown.count == 2 }
            let key = try #require(daemon.screen.shown.first { $0.content.title == "b" }?.identifier)
            try await daemon.receiver.respond(key, "yes", text: nil)
            daemon.crash()
            let steps = store.steps
            // Nothing, both requests, both deliveries, the answer.
            #expect(steps.count == 6)
            for (number, records) in steps.enumerated() {
                let again = try await Daemon(stage, StepStore(records))
                // Whatever was due is delivered again.
                try await stage.clock.advance(by: .seconds(200))
                let entries = await again.receiver.list()
                let responses = await again.receiver.routing.responses(for: Self.sender)
                let a = entries.filter { $0.notification.request.identifier == "a" }
                let b = entries.filter { $0.notification.request.identifier == "b" }
                #expect(a.count == (number >= 1 ? 1 : 0), "step \(number)")
                #expect(b.count + responses.count == (number >= 2 ? 1 : 0), "step \(number)")
                #expect(responses.count == (number == 5 ? 1 : 0), "step \(number)")
                #expect(again.screen.shown.count == entries.count, "step \(number)")
                again.crash()
            }
        }
    }

    @Test("What was shown before is shown again without a sound, and can be answered")
    func shownAgain() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = try await Daemon(stage, store)
            _ = try await first.receiver.schedule(Self.message("tea", after: 10), by: Self.sender)
            try await stage.clock.advance(by: .seconds(11))
            try await stage.eventually("it is shown") { first.screen.shown.first?.isSilenced == false }
            first.crash()
            let second = try await Daemon(stage, store)
            try await stage.eventually("it is shown again") { second.screen.shown.count == 1 }
            let shown = try #require(second.screen.shown.first)
            #expect(shown.isSilenced && second.screen.history.count == 1)
            try await second.receiver.respond(shown.identifier, "yes", text: nil)
            #expect(await second.receiver.routing.responses(for: Self.sender).map(\.requestIdentifier) == ["tea"])
            let error = await #expect(throws: NotificationError.self) {
                try await second.receiver.respond(shown.identifier, "yes", text: nil)
            }
            #expect(error?.code == .requestUnknown)
            second.crash()
        }
    }

    @Test func `What has expired while no daemon ran is not shown again, and is in the history`() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = try await Daemon(stage, store)
            for (identifier, seconds) in [("short", Int64(60)), ("long", 600)] {
                var notification = ReceivingSystem.question(identifier)
                notification.request.trigger = .timeInterval(.seconds(1))
                notification.expiration = .seconds(seconds)
                _ = try await first.receiver.schedule(notification, by: Self.sender)
            }
            try await stage.clock.advance(by: .seconds(2))
            try await stage.eventually("both are shown") { first.screen.shown.count == 2 }
            let entries = await first.receiver.list()
            let long = try #require(entries.first { $0.notification.request.identifier == "long" }).key
            first.crash()
            stage.clock.date += 120
            let second = try await Daemon(stage, store)
            try await stage.eventually("the other one is shown again") { !second.screen.history.isEmpty }
            try await stage.settle()
            #expect(second.screen.history.map(\.identifier) == [long])
            let left = await second.receiver.list().map(\.key)
            #expect(left == [long])
            let ended = try await store.history(after: nil, limit: 2)
            #expect(ended.count == 1)
            second.crash()
        }
    }

    @Test("What a clock that was set has changed is stored")
    func clockIsSet() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = try await Daemon(stage, store)
            _ = try await first.receiver.schedule(Self.message("tea", after: 600), by: Self.sender)
            stage.clock.date += 86_400
            let steps = store.steps.count
            try await stage.clock.advance(by: .seconds(61))
            try await stage.eventually("the change is stored") { store.steps.count > steps }
            first.crash()
            // Not late: an interval keeps its remaining time.
            let second = try await Daemon(stage, store)
            try await stage.clock.advance(by: .seconds(500))
            #expect(first.screen.history.isEmpty && second.screen.history.isEmpty)
            try await stage.clock.advance(by: .seconds(40))
            try await stage.eventually("what is due is shown") { second.screen.history.map(\.content.title) == ["tea"] }
            second.crash()
        }
    }

    @Test("A full disk refuses what it cannot keep, and changes nothing that is kept")
    func fullDisk() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let daemon = try await Daemon(stage, store)
            let date = try await daemon.receiver.schedule(Self.message("a", after: 60), by: Self.sender)
            store.fail(NotificationError(.storeFailed, "The disk is full."))
            for message in [Self.message("b", after: 5), Self.message("a", after: 5)] {
                let error = await #expect(throws: NotificationError.self) {
                    try await daemon.receiver.schedule(message, by: Self.sender)
                }
                #expect(error?.code == .storeFailed)
            }
            await #expect(throws: NotificationError.self) { try await daemon.receiver.cancel(["a"], of: Self.sender) }
            #expect(await daemon.receiver.pending.all.map(\.date) == [date])
            // What is due is shown nevertheless.
            try await stage.clock.advance(by: .seconds(61))
            try await stage.eventually("what is due is shown") { daemon.screen.history.map(\.content.title) == ["a"] }
            daemon.crash()
        }
    }

    @Test("A cancelled notification is not delivered, also not after a restart")
    func cancelled() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = try await Daemon(stage, store)
            _ = try await first.receiver.schedule(Self.message("tea", after: 60), by: Self.sender)
            var other = Self.sender
            other.application = "mail"
            #expect(try await first.receiver.cancel(["tea"], of: other) == 0)
            #expect(try await first.receiver.cancel(["tea", "unknown"], of: Self.sender) == 1)
            first.crash()
            let second = try await Daemon(stage, store)
            try await stage.clock.advance(by: .seconds(120))
            #expect(first.screen.history.isEmpty && second.screen.history.isEmpty)
            second.crash()
        }
    }

    @Test("When too many wait for the user, what is due waits until there is room")
    func noRoom() async throws {
        try await DiscoveryStage.with { stage in
            let daemon = try await Daemon(stage, StepStore())
            for number in 0..<64 {
                _ = try await daemon.receiver.schedule(Self.message("\(number)", after: 1), by: Self.sender)
            }
            try await stage.clock.advance(by: .seconds(2))
            _ = try await daemon.receiver.schedule(Self.message("last", after: 1), by: Self.sender)
            try await stage.clock.advance(by: .seconds(2))
            #expect(await daemon.receiver.list().count == 64)
            let key = try #require(await daemon.receiver.list().first?.key)
            try await daemon.receiver.respond(key, "yes", text: nil)
            try await stage.clock.advance(by: .seconds(61))
            #expect(await daemon.receiver.list().map(\.notification.request.identifier).contains("last"))
            daemon.crash()
        }
    }

    @Test("What waits until there is room does not count for the limit of an hour meanwhile (X-56)")
    func noRoomAndLimit() async throws {
        try await DiscoveryStage.with { stage in
            let daemon = try await Daemon(stage, StepStore())
            let subject = NotificationPermissions.Subject(application: Self.sender.application)
            try await daemon.receiver.set(.allowed, perHour: 65, for: subject)
            for number in 0..<64 {
                _ = try await daemon.receiver.schedule(Self.message("\(number)", after: 1), by: Self.sender)
            }
            try await stage.clock.advance(by: .seconds(2))
            _ = try await daemon.receiver.schedule(Self.message("last", after: 1), by: Self.sender)
            try await stage.clock.advance(by: .seconds(2))
            for _ in 1...3 {
                try await stage.clock.advance(by: .seconds(61))
                #expect(await daemon.receiver.pending.all.map(\.key.identifier) == ["last"])
            }
            let key = try #require(await daemon.receiver.list().first?.key)
            try await daemon.receiver.respond(key, "yes", text: nil)
            try await stage.clock.advance(by: .seconds(61))
            #expect(await daemon.receiver.list().map(\.notification.request.identifier).contains("last"))
            // The 65th has counted.
            _ = try await daemon.receiver.schedule(Self.message("more", after: 1), by: Self.sender)
            try await stage.clock.advance(by: .seconds(2))
            #expect(await daemon.receiver.pending.all.isEmpty)
            #expect(await daemon.receiver.list().map(\.notification.request.identifier).contains("more") == false)
            daemon.crash()
        }
    }

    @Test("When too many responses wait for a sender, the notification stays and can be answered later")
    func tooManyResponses() async throws {
        try await DiscoveryStage.with { stage in
            let daemon = try await Daemon(stage, StepStore())
            for number in 0..<64 {
                let key = try await daemon.show("\(number)", stage)
                try await daemon.receiver.respond(key, "yes", text: nil)
            }
            let key = try await daemon.show("last", stage)
            let error = await #expect(throws: NotificationError.self) {
                try await daemon.receiver.respond(key, "yes", text: nil)
            }
            #expect(error?.code == .limitExceeded)
            #expect(await daemon.receiver.list().map(\.key) == [key])
            daemon.crash()
        }
    }

    @Test("An unreadable record is left out, and the others are kept")
    func unreadable() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = try await Daemon(stage, store)
            _ = try await first.receiver.schedule(Self.message("tea", after: 60), by: Self.sender)
            first.crash()
            var records = try #require(store.steps.last)
            let bad = [
                NotificationRecord(.pending, key: "x", date: .now, body: [0xFF]),
                NotificationRecord(.received, key: "1", date: .now, body: try (["Id": "1"] as ValueSet).encoded()),
                NotificationRecord(.response, key: "y", date: .now, body: []),
            ]
            for record in bad { records["\(record.kind) \(record.key)"] = record }
            let second = try await Daemon(stage, StepStore(records))
            #expect(await second.receiver.pending.all.map(\.key.identifier) == ["tea"])
            #expect(await second.receiver.list().isEmpty)
            second.crash()
        }
    }

    @Test("What the user does with an older content does not answer the newer one")
    func olderContent() async throws {
        try await DiscoveryStage.with { stage in
            let daemon = try await Daemon(stage, StepStore())
            _ = try await daemon.receiver.schedule(Self.message("tea", after: 10), by: Self.sender)
            try await stage.clock.advance(by: .seconds(11))
            try await stage.eventually("it is shown") { daemon.screen.shown.count == 1 }
            let key = try #require(daemon.screen.shown.first?.identifier)
            // A newer one arrives that the server does not show yet.
            await daemon.receiver.replaceWithoutShowing(key)
            daemon.screen.choose("yes", on: key)
            daemon.screen.end(key)
            try await stage.clock.advance(by: .seconds(1))
            #expect(await daemon.receiver.list().map(\.key) == [key])
            #expect(await daemon.receiver.routing.responses(for: Self.sender).isEmpty)
            daemon.crash()
        }
    }

    @Test func `a dismissal that waits for the store does not end a newer content that is shown meanwhile`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let daemon = try await Daemon(stage, StepStore())
            let key = try await daemon.show("tea", stage)
            let (stored, feed) = AsyncStream.makeStream(of: Void.self)
            await daemon.receiver.holdEvents(until: stored)
            let earlier = await daemon.receiver.received(.closed(identifier: key, reason: .dismissed))
            await daemon.receiver.replace(key)
            feed.finish()
            await earlier.value
            let kept = await daemon.receiver.list().map(\.key)
            #expect(kept == [key])
            await daemon.receiver.received(.closed(identifier: key, reason: .dismissed)).value
            let rest = await daemon.receiver.list()
            #expect(rest.isEmpty)
            daemon.crash()
        }
    }
}

extension NotificationReceiver {
    /// Handles no further event before a stream ends, as while earlier ones are stored.
    fileprivate func holdEvents(until end: AsyncStream<Void>) {
        _ = self.eventCalls.begin(self.clock) { for await _ in end {} }
    }

    /// Receives the same notification again, and gives it to the presenter.
    fileprivate func replace(_ key: String) {
        self.replaceWithoutShowing(key)
        if let entry = self.received[key] { self.presents(entry) }
    }

    /// Receives the same notification again, as between its arrival and the moment at which it is shown.
    fileprivate func replaceWithoutShowing(_ key: String) {
        guard let entry = self.received[key] else { return }
        _ = try? self.received.add(entry.notification, from: entry.sender, name: nil, self.clock.now)
    }
}
