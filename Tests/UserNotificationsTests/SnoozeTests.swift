// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Testing
import ValueSets

@testable import UserNotifications

/// Notifications that the user has read, or wants to see later.
@Suite struct SnoozeTests {
    private typealias Daemon = StagedNotificationDaemon

    private static func notification(_ id: String = "tea") -> RemoteNotification {
        RemoteNotification(NotificationRequest(identifier: id, content: NotificationContent(title: id)))
    }

    private static func with(_ body: (DiscoveryStage, [StagedDesk]) async throws -> Void) async throws {
        try await DiscoveryStage.with { stage in
            var desks: [StagedDesk] = []
            for name in ["Kitchen", "Attic", "Office"] { desks.append(try await StagedDesk.appearing(name, on: stage)) }
            try await body(stage, desks)
            for desk in desks { try desk.daemon.running.cancel() }
        }
    }

    /// Waits until the only notification of the desks is hidden, and in their lists.
    private static func hidden(_ desks: [StagedDesk], until date: Date, _ stage: DiscoveryStage) async throws {
        try await stage.eventually("it is hidden") {
            for desk in desks {
                let list = try await desk.daemon.receiver.list()
                guard try desk.titles.isEmpty, list.map(\.snoozedUntil) == [date] else { return false }
            }
            return true
        }
    }

    private static func areRead(_ desks: [StagedDesk]) async throws -> Bool {
        for desk in desks {
            guard try await desk.daemon.receiver.list().map(\.isRead) == [true] else { return false }
        }
        return true
    }

    private static func key(_ desk: StagedDesk) async throws -> String {
        try #require(await desk.daemon.receiver.list().last?.key)
    }

    private static func snooze(_ desk: StagedDesk, for seconds: Int) async throws -> Date {
        try await desk.daemon.receiver.snooze(try await Self.key(desk), for: seconds)
    }

    /// The date comes. The clock jumps, so that no connection is silent for so long.
    private static func pass(_ seconds: Double, _ stage: DiscoveryStage) async throws {
        stage.clock.date += seconds
        try await stage.clock.advance(by: .seconds(61))
    }

    @Test("What is snoozed on one system is hidden on all, and is shown again on all at its date (X-40)")
    func everywhere() async throws {
        try await Self.with { stage, desks in
            let notification = Self.notification()
            for desk in desks { try await desk.receive(notification, stage) }
            let date = stage.clock.date
            let until = try await Self.snooze(desks[0], for: 600)
            #expect((600..<602).contains(until.timeIntervalSince(date)))
            try await Self.hidden(desks, until: until, stage)
            // The later date counts, on whichever system.
            #expect(try await Self.snooze(desks[1], for: 60) == until)
            let later = try await Self.snooze(desks[1], for: 1200)
            try await Self.hidden(desks, until: later, stage)
            try await Self.pass(602, stage)
            try await Self.hidden(desks, until: later, stage)
            try await Self.pass(602, stage)
            try await stage.eventually("it is shown again everywhere") {
                for desk in desks {
                    let list = try await desk.daemon.receiver.list()
                    guard try desk.titles == ["tea"], list.map(\.snoozedUntil) == [nil] else { return false }
                }
                return true
            }
            for desk in desks { #expect(try desk.daemon.screen.history.count == 2) }
        }
    }

    @Test("A question has a button that hides it until later, and the click on it dismisses nothing (X-40)")
    func button() async throws {
        try await ReceivingSystem.with { receiving in
            await receiving.receiver.setSnoozeButton(seconds: 600)
            let connection = try await receiving.connect()
            var plain = ReceivingSystem.question("plain")
            (plain.category, plain.request.content.categoryIdentifier) = (nil, nil)
            for notification in [ReceivingSystem.question(), plain, ReceivingSystem.question("short", expires: 60)] {
                _ = try await connection.deliver(notification)
            }
            let shown = receiving.screen.shown
            // One without buttons would stay on the screen with it, and one that is over before would not come again.
            #expect(
                shown.map { ($0.category?.actions ?? []).map(\.title) }
                    == [["Deploy", "Comment", "Later"], [], ["Deploy", "Comment"]]
            )
            receiving.screen.choose(.snooze, on: shown[0].identifier)
            // Servers close a notification after a click.
            receiving.screen.end(shown[0].identifier)
            // Events are handled in their order.
            receiving.screen.choose(on: shown[1].identifier)
            try await receiving.stage.eventually("the clicks are handled") {
                await receiving.receiver.list().count == 2
            }
            let waiting = await receiving.receiver.list()
            #expect(waiting.map(\.notification.request.identifier) == ["q", "short"])
            #expect(waiting.map { $0.snoozedUntil != nil } == [true, false])
            try await Self.pass(602, receiving.stage)
            try await receiving.stage.eventually("it is shown again, with its button") {
                receiving.screen.shown.map(\.identifier) == [shown[0].identifier]
                    && receiving.screen.shown[0].category?.actions.last?.identifier == .snooze
            }
            await connection.close()
        }
    }

    @Test("A system that was away hides what is snoozed; an end beats the snooze, and nothing comes back (X-40)")
    func away() async throws {
        try await Self.with { stage, desks in
            let notification = Self.notification()
            for desk in desks { try await desk.receive(notification, stage) }
            try await desks[2].leaves(stage)
            let until = try await Self.snooze(desks[0], for: 600)
            try await Self.hidden([desks[0], desks[1]], until: until, stage)
            try await desks[0].leaves(stage)
            try await desks[2].returns(stage)
            try await Self.hidden([desks[1], desks[2]], until: until, stage)
            // The user answers it in the list.
            try await desks[1].daemon.receiver.respond(try await Self.key(desks[1]), .default, text: nil)
            try await desks[0].returns(stage)
            try await stage.eventually("it is gone everywhere") {
                for desk in desks {
                    guard try await desk.daemon.receiver.list().isEmpty else { return false }
                }
                return true
            }
            try await Self.pass(700, stage)
            for desk in desks {
                let list = try await desk.daemon.receiver.list()
                #expect(try desk.titles.isEmpty && list.isEmpty)
            }
        }
    }

    @Test("What arrives later was read and snoozed already, and a new notification in its place is shown (X-40)")
    func later() async throws {
        try await Self.with { stage, desks in
            let tea = Self.notification()
            // The office knows what happens because it has something to show.
            try await desks[2].receive(Self.notification("other"), stage)
            try await desks[0].receive(tea, stage)
            let until = try await Self.snooze(desks[0], for: 600)
            #expect(try await desks[0].daemon.receiver.markRead(nil) == 1)
            try await stage.eventually("the office has learnt it") {
                let states = try await desks[2].daemon.receiver.states.all.values
                return states.contains { $0.isRead } && states.contains { $0.snoozedUntil == until }
            }
            let delivery = try await desks[2].receive(tea, stage)
            #expect(delivery == NotificationDelivery(.kept, reason: "It is shown at a later time."))
            #expect(try desks[2].titles == ["other"])
            let entry = try #require(await desks[2].daemon.receiver.list().last)
            #expect(entry.isRead && entry.snoozedUntil == until)
            let new = Self.notification()
            #expect(try await desks[2].receive(new, stage).status == .shown)
            #expect(try desks[2].titles == ["other", "tea"])
            #expect(try await desks[2].daemon.receiver.list().last?.isRead == false)
        }
    }

    @Test("A system that has not received a notification can neither end it nor hide it for longer (X-40)")
    func notReceived() async throws {
        try await Self.with { stage, desks in
            let notification = Self.notification()
            for desk in desks[..<2] { try await desk.receive(notification, stage) }
            // The office knows what happens because it has something to show.
            try await desks[2].receive(Self.notification("other"), stage)
            let until = try await Self.snooze(desks[0], for: 600)
            try await Self.hidden([desks[0], desks[1]], until: until, stage)
            try await stage.eventually("the office has learnt it") {
                try await !desks[2].daemon.receiver.states.all.isEmpty
            }
            let known = try await desks[2].daemon.receiver.states.all
            let id = try #require(notification.deliveryID).uuidString.lowercased()
            #expect(!known.keys.contains { $0.text.contains(id) })
            var forged: [String: ValueSet] = [:]
            for (key, state) in known {
                var state = state
                state.snoozedUntil = until + 86_400
                forged[key.text] = state.valueSet
            }
            try await desks[1].daemon.receiver.merge(forged, from: desks[2].system.id)
            #expect(try await desks[1].daemon.receiver.list().map(\.snoozedUntil) == [until])
            try await Self.hidden([desks[0], desks[1]], until: until, stage)
        }
    }

    @Test func `a system that publishes a thousand snoozes of one notification has one place for them`() async throws {
        try await Self.with { stage, desks in
            let receiver = try desks[0].daemon.receiver
            // What the user has ended here.
            for number in 0..<8 { try await desks[0].receive(Self.notification("\(number)"), stage) }
            for number in 1...8 {
                try desks[0].dismiss()
                try await stage.eventually("one more has ended") { await receiver.states.all.count == number }
            }
            let ends = await receiver.states.all
            // One of many that has arrived here proves any number of records.
            try await desks[0].receive(Self.notification(), stage)
            let delivery = try #require(await receiver.list().last?.stateKey)
            let date = Date(timeIntervalSince1970: stage.clock.date.timeIntervalSince1970.rounded())
            for round in 0..<2 {
                let records = (0..<1024).map { second in
                    let until = date + Double(600 + 1024 * round + second)
                    let state = NotificationState(status: .waiting, date: date, snoozedUntil: until)
                    return (delivery.record(state).text, state.valueSet)
                }
                await receiver.merge(Dictionary(uniqueKeysWithValues: records), from: try desks[1].system.id)
            }
            let known = await receiver.states.all
            #expect(ends.allSatisfy { known[$0.key] == $0.value })
            #expect(known.count == 9)
            let until = try #require(await receiver.list().last?.snoozedUntil)
            #expect(until == date + Double(600 + 2047))
        }
    }

    @Test("What is read on one system is marked on all, stays on the screens, and is still read after a restart (X-40)")
    func read() async throws {
        try await Self.with { stage, desks in
            let notification = Self.notification()
            for desk in desks { try await desk.receive(notification, stage) }
            let key = try await Self.key(desks[0])
            #expect(try await desks[0].daemon.receiver.markRead(["unknown"]) == 0)
            #expect(try await desks[0].daemon.receiver.markRead([key]) == 1)
            #expect(try await desks[0].daemon.receiver.markRead([key]) == 0)
            try await stage.eventually("it is read everywhere") { try await Self.areRead(desks) }
            #expect(try desks.map { try $0.titles } == [["tea"], ["tea"], ["tea"]])
            try await desks[0].leaves(stage)
            try await desks[0].returns(stage)
            try await stage.eventually("it is still read") { try await Self.areRead(desks) }
        }
    }

    @Test(
        "A snooze survives the daemon, and what is due while nothing runs is shown at the start (X-40)",
        arguments: [false, true]
    )
    func survives(isLate: Bool) async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = try await Daemon(stage, store)
            let until = try await first.receiver.snooze(try await first.show("tea", stage), for: 600)
            #expect(await first.receiver.markRead(nil) == 1)
            #expect(first.screen.shown.isEmpty)
            first.crash()
            if isLate { stage.clock.date += 3600 }
            let second = try await Daemon(stage, store)
            if !isLate {
                try await stage.clock.advance(by: .seconds(590))
                #expect(second.screen.history.isEmpty)
                #expect(await second.receiver.list().map(\.snoozedUntil) == [until])
            }
            try await stage.clock.advance(by: .seconds(12))
            try await stage.eventually("it is shown again") { second.screen.shown.map(\.content.title) == ["tea"] }
            let list = await second.receiver.list()
            #expect(list.map(\.snoozedUntil) == [nil] && list.map(\.isRead) == [true])
            #expect(second.screen.shown.first?.isSilenced == false)
            second.crash()
        }
    }

    @Test func `what is snoozed while the server shows it is not on the screen afterwards`() async throws {
        try await ReceivingSystem.with { receiving in
            let connection = try await receiving.connect()
            _ = try await connection.deliver(ReceivingSystem.question())
            let key = try #require(await receiving.receiver.list().first?.key)
            _ = try await receiving.receiver.snooze(key, for: 60)
            // The response of the server comes late.
            await receiving.receiver.shown(key)
            #expect(await receiving.receiver.list().map(\.isShown) == [false])
            #expect(receiving.screen.shown.isEmpty)
            await connection.close()
        }
    }

    @Test func `a notification is snoozed for 1 minute to 30 days, and not beyond its time`() async throws {
        try await ReceivingSystem.with { receiving in
            let connection = try await receiving.connect()
            _ = try await connection.deliver(ReceivingSystem.question("q", expires: 300))
            let key = try #require(await receiving.receiver.list().first?.key)
            for seconds in [Int.min, 59, 300, 2_592_001, Int.max] {
                let error = await #expect(throws: NotificationError.self) {
                    try await receiving.receiver.snooze(key, for: seconds)
                }
                #expect(error?.code == .limitExceeded && error?.field == "Seconds")
            }
            let error = await #expect(throws: NotificationError.self) {
                try await receiving.receiver.snooze("unknown", for: 60)
            }
            #expect(error?.code == .requestUnknown)
            #expect(receiving.screen.shown.count == 1)
            _ = try await receiving.receiver.snooze(key, for: 60)
            #expect(receiving.screen.shown.isEmpty)
            await connection.close()
        }
    }
}
