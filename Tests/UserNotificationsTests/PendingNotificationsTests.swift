// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import UserNotifications

@Suite struct PendingNotificationsTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private static let sender = NotificationSender(systemID: "s", application: "calendar")

    private static func add(
        _ identifier: String,
        _ trigger: NotificationTrigger,
        to pending: inout PendingNotifications,
        from sender: NotificationSender = sender
    ) throws {
        let request = NotificationRequest(
            identifier: identifier,
            content: NotificationContent(title: identifier),
            trigger: trigger
        )
        _ = try pending.add(RemoteNotification(request), trigger, from: sender, at: Self.start)
    }

    @Test("Notifications are due once, in the order of their dates (N-02)")
    func due() throws {
        var pending = PendingNotifications()
        try Self.add("second", .timeInterval(.seconds(20)), to: &pending)
        try Self.add("first", .timeInterval(.seconds(10)), to: &pending)
        #expect(pending.next == Self.start + 10)
        #expect(pending.takeDue(at: Self.start + 9.999).isEmpty)
        let due = pending.takeDue(at: Self.start + 3600)
        #expect(due.map(\.entry.key.identifier) == ["first", "second"] && due.allSatisfy { $0.next == nil })
        #expect(pending.next == nil && pending.takeDue(at: .distantFuture).isEmpty)
    }

    @Test("What is cancelled while another notification is delivered is not delivered, nor does it come back (N-02)")
    func cancelledMeanwhile() throws {
        var pending = PendingNotifications()
        try Self.add("first", .timeInterval(.seconds(60)), to: &pending)
        try Self.add("hourly", .timeInterval(.seconds(3600), repeats: true), to: &pending)
        let now = Self.start + 4000
        let first = pending.takeNextDue(at: now)
        #expect(first?.entry.key.identifier == "first")
        pending.remove(PendingNotifications.Key(sender: Self.sender, identifier: "hourly"))
        let second = pending.takeNextDue(at: now)
        #expect(second == nil && pending.next == nil)
    }

    @Test("A repeated notification that was missed is due once, and keeps its rhythm (N-07, X-52)")
    func missed() throws {
        var pending = PendingNotifications()
        try Self.add("hourly", .timeInterval(.seconds(3600), repeats: true), to: &pending)
        #expect(pending.takeDue(at: Self.start + 3600 * 5 + 100).count == 1)
        #expect(pending.next == Self.start + 3600 * 6)
        #expect(pending.takeDue(at: Self.start + 3600 * 6).count == 1)
        #expect(pending.next == Self.start + 3600 * 7)
    }

    @Test("64 notifications of an application wait; one more is an error, and a replacement is not (X-63)")
    func limit() throws {
        var pending = PendingNotifications()
        for number in 0..<64 { try Self.add("\(number)", .timeInterval(.seconds(60)), to: &pending) }
        let error = #expect(throws: NotificationError.self) {
            try Self.add("64", .timeInterval(.seconds(60)), to: &pending)
        }
        #expect(error?.code == .tooManyPending)
        try Self.add("63", .timeInterval(.seconds(5)), to: &pending)
        #expect(pending.all.count == 64 && pending.all.first?.key.identifier == "63")
        var other = Self.sender
        other.application = "mail"
        try Self.add("64", .timeInterval(.seconds(60)), to: &pending, from: other)
        pending.remove(.init(sender: Self.sender, identifier: "0"))
        try Self.add("64", .timeInterval(.seconds(60)), to: &pending)
    }

    @Test("A trigger that never fires is not accepted")
    func never() throws {
        var pending = PendingNotifications()
        let error = #expect(throws: NotificationError.self) {
            try Self.add("x", .calendar(DateComponents(month: 2, day: 30)), to: &pending)
        }
        #expect(error?.code == .triggerInvalid && pending.all.isEmpty)
    }

    @Test("A date that is more than ten years away is not accepted, and ten years are")
    func tooFar() throws {
        var pending = PendingNotifications()
        func date(year: Int) -> DateComponents {
            DateComponents(timeZone: TimeZone(identifier: "UTC"), year: year, month: 1, day: 1)
        }
        // 2027-01-15 is the start.
        for year in [2038, 4001, 9999] {
            let error = #expect(throws: NotificationError.self) {
                try Self.add("x", .calendar(date(year: year)), to: &pending)
            }
            #expect(error?.code == .triggerInvalid && pending.all.isEmpty, "\(year)")
        }
        try Self.add("x", .calendar(date(year: 2037)), to: &pending)
        try Self.add("y", .timeInterval(.seconds(3650 * 86_400)), to: &pending)
        #expect(pending.all.count == 2)
    }

    @Test("A clock that is set changes calendar dates, and not the rest of an interval")
    func clockIsSet() throws {
        var pending = PendingNotifications()
        let zone = TimeZone(identifier: "UTC")
        try Self.add("interval", .timeInterval(.seconds(600)), to: &pending)
        // 2027-01-15 08:00 UTC is the start.
        try Self.add("daily", .calendar(DateComponents(timeZone: zone, hour: 9), repeats: true), to: &pending)
        #expect(pending.all.last?.date == Self.start + 3600)
        // A year back: the date counts again from the clock.
        let year: TimeInterval = 365 * 86_400
        #expect(pending.clockWasSet(by: -year, to: Self.start - year).count == 2)
        #expect(pending.all.map(\.date) == [Self.start - year + 600, Self.start - year + 3600])
        // Forward again: the daily one is late and due once.
        _ = pending.clockWasSet(by: year, to: Self.start)
        #expect(pending.takeDue(at: Self.start).map(\.entry.key.identifier) == ["daily"])
        #expect(pending.all.map(\.date) == [Self.start + 600, Self.start + 3600])
    }

    @Test("A clock that is set back by minutes does not deliver again what was delivered")
    func smallStep() throws {
        var pending = PendingNotifications()
        let components = DateComponents(timeZone: TimeZone(identifier: "UTC"), hour: 9)
        try Self.add("daily", .calendar(components, repeats: true), to: &pending)
        #expect(pending.takeDue(at: Self.start + 3600).count == 1)
        #expect(pending.clockWasSet(by: -1800, to: Self.start + 1800).isEmpty)
        #expect(pending.takeDue(at: Self.start + 3600).isEmpty)
        #expect(pending.next == Self.start + 3600 + 86_400)
    }

    private static func zone(_ identifier: String) throws -> TimeZone { try #require(TimeZone(identifier: identifier)) }

    @Test("A date without a time zone follows the system's when that is changed, also while no process runs (X-53)")
    func zoneIsChanged() throws {
        var pending = PendingNotifications(zone: try Self.zone("UTC"))
        // 2027-01-15 08:00 UTC is the start.
        try Self.add("daily", .calendar(DateComponents(hour: 9), repeats: true), to: &pending)
        try Self.add("fixed", .calendar(DateComponents(timeZone: Self.zone("UTC"), hour: 10)), to: &pending)
        try Self.add("interval", .timeInterval(.seconds(600)), to: &pending)
        #expect(pending.all.map(\.date) == [600, 3600, 7200].map { Self.start + $0 })
        let daily = try #require(pending.all.first { $0.key.identifier == "daily" })
        for (zone, hours) in [("Asia/Tokyo", 16), ("America/New_York", 6), ("UTC", 1)] as [(String, TimeInterval)] {
            let changed = pending.follow(try Self.zone(zone), at: Self.start + 60)
            #expect(changed.map(\.key.identifier) == ["daily"], "\(zone)")
            #expect(changed.map(\.date) == [Self.start + hours * 3600], "\(zone)")
            #expect(pending.all.count == 3 && pending.all.contains { $0 == changed.first })
            let again = pending.follow(try Self.zone(zone), at: Self.start + 60)
            #expect(again.isEmpty)
            var restored = PendingNotifications(zone: try Self.zone(zone))
            restored.restore(daily, at: Self.start + 60)
            #expect(restored.next == Self.start + hours * 3600, "\(zone)")
        }
        // The following dates are in the zone as well.
        _ = pending.follow(try Self.zone("Asia/Tokyo"), at: Self.start + 60)
        _ = pending.takeDue(at: Self.start + 16 * 3600)
        #expect(pending.next == Self.start + 40 * 3600)
    }

    @Test("A single date that is over in the new time zone is due at once, and one that was missed stays due")
    func overInZone() throws {
        var pending = PendingNotifications(zone: try Self.zone("UTC"))
        try Self.add("noon", .calendar(DateComponents(year: 2027, month: 1, day: 15, hour: 12)), to: &pending)
        let entry = try #require(pending.all.first)
        #expect(entry.date == Self.start + 4 * 3600)
        let late = Self.start + 5 * 3600
        var restored = PendingNotifications(zone: try Self.zone("UTC"))
        restored.restore(entry, at: late)
        #expect(restored.next == entry.date)
        // It was noon there before it was added.
        _ = pending.follow(try Self.zone("Asia/Tokyo"), at: Self.start + 60)
        #expect(pending.next == Self.start + 60)
    }

    @Test("The system's time zone is read from its link into the time zone database")
    func systemZone() throws {
        let link = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createSymbolicLink(
            atPath: link.path(),
            withDestinationPath: "../usr/share/zoneinfo/Asia/Tokyo"
        )
        defer { try? FileManager.default.removeItem(at: link) }
        #expect(SystemTimeZone.zone(ofLink: link.path())?.identifier == "Asia/Tokyo")
        #expect(SystemTimeZone.zone(ofLink: link.path() + "-none") == nil)
    }

    @Test("A stored notification whose clock was wrong is delivered one interval later at the latest")
    func restored() throws {
        var pending = PendingNotifications()
        try Self.add("interval", .timeInterval(.seconds(600)), to: &pending)
        let entry = try #require(pending.all.first)
        // A machine without a battery begins in 1970.
        let boot = Date(timeIntervalSince1970: 100)
        var restored = PendingNotifications()
        restored.restore(entry, at: boot)
        #expect(restored.next == boot + 600)
        restored = PendingNotifications()
        restored.restore(entry, at: Self.start + 300)
        #expect(restored.next == Self.start + 600)
    }
}

extension PendingNotifications {
    fileprivate mutating func takeDue(at date: Date) -> [Due] {
        var all: [Due] = []
        while let due = self.takeNextDue(at: date) { all.append(due) }
        return all
    }
}
