// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValueSets

@testable import UserNotifications

@Suite struct NotificationTriggerTests {
    private static func date(_ text: String) throws -> Date { try Date(text, strategy: .iso8601) }

    private static func berlin(
        year: Int? = nil,
        month: Int? = nil,
        day: Int? = nil,
        hour: Int? = nil,
        minute: Int? = nil,
        second: Int? = nil,
        weekday: Int? = nil,
        weekdayOrdinal: Int? = nil
    ) -> DateComponents {
        DateComponents(
            timeZone: TimeZone(identifier: "Europe/Berlin"),
            year: year,
            month: month,
            day: day,
            hour: hour,
            minute: minute,
            second: second,
            weekday: weekday,
            weekdayOrdinal: weekdayOrdinal
        )
    }

    /// The dates of a repeated trigger, as text.
    private static func dates(_ components: DateComponents, after start: String, count: Int) throws -> [String] {
        let trigger = NotificationTrigger.calendar(components, repeats: true)
        var (dates, date) = ([String](), try Self.date(start))
        for _ in 0..<count {
            date = try #require(trigger.nextTriggerDate(after: date))
            dates.append(date.ISO8601Format())
        }
        return dates
    }

    @Test("A time interval is delivered after it, and fails out of its range instead of trapping (X-52)")
    func interval() throws {
        let start = try Self.date("2026-03-01T00:00:00Z")
        let trigger = NotificationTrigger.timeInterval(.milliseconds(1500))
        #expect(trigger.nextTriggerDate(after: start) == start + 1.5)
        for (interval, repeats) in [
            (Duration.zero, false), (.seconds(-1), false), (.seconds(Int64.max), false),
            (.seconds(59) + .milliseconds(999), true),
        ] {
            let trigger = NotificationTrigger.timeInterval(interval, repeats: repeats)
            let error = #expect(throws: NotificationError.self) { try trigger.validate() }
            #expect(error?.code == .triggerInvalid && error?.field == "interval")
            #expect(trigger.nextTriggerDate() == nil)
        }
        try NotificationTrigger.timeInterval(.seconds(60), repeats: true).validate()
    }

    @Test("A calendar trigger follows its time zone through daylight saving time (X-53)")
    func daylightSaving() throws {
        // Omitted on 29 March: moved to 3:00.
        #expect(
            try Self.dates(Self.berlin(hour: 2, minute: 30), after: "2026-03-27T12:00:00Z", count: 3)
                == ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
        )
        // Twice on 25 October: the first counts.
        #expect(
            try Self.dates(Self.berlin(hour: 2, minute: 30), after: "2026-10-24T12:00:00Z", count: 2)
                == ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
        )
        #expect(
            try Self.dates(Self.berlin(hour: 9), after: "2026-10-24T06:59:59Z", count: 3)
                == ["2026-10-24T07:00:00Z", "2026-10-25T08:00:00Z", "2026-10-26T08:00:00Z"]
        )
        // A day that begins at 1:00.
        let cairo = DateComponents(timeZone: TimeZone(identifier: "Africa/Cairo"), hour: 0, minute: 15)
        #expect(
            try Self.dates(cairo, after: "2026-04-22T23:00:00Z", count: 2)
                == ["2026-04-23T22:00:00Z", "2026-04-24T21:15:00Z"]
        )
    }

    @Test("Leap days, the ends of months and weekdays occur where the calendar has them (X-53)")
    func days() throws {
        #expect(
            try Self.dates(Self.berlin(month: 2, day: 29, hour: 12), after: "2095-01-01T00:00:00Z", count: 2)
                == ["2096-02-29T11:00:00Z", "2104-02-29T11:00:00Z"]
        )
        #expect(
            try Self.dates(Self.berlin(day: 31, hour: 12), after: "2026-01-01T00:00:00Z", count: 4)
                == ["2026-01-31T11:00:00Z", "2026-03-31T10:00:00Z", "2026-05-31T10:00:00Z", "2026-07-31T10:00:00Z"]
        )
        // The second Tuesday.
        #expect(
            try Self.dates(Self.berlin(hour: 8, weekday: 3, weekdayOrdinal: 2), after: "2026-06-10T00:00:00Z", count: 2)
                == ["2026-07-14T06:00:00Z", "2026-08-11T06:00:00Z"]
        )
        #expect(
            try Self.dates(Self.berlin(minute: 5), after: "2026-06-10T00:05:00Z", count: 2)
                == ["2026-06-10T01:05:00Z", "2026-06-10T02:05:00Z"]
        )
    }

    @Test("A date that never occurs has no next date (X-53)")
    func never() throws {
        let now = try Self.date("2026-03-01T00:00:00Z")
        for components in [
            Self.berlin(month: 2, day: 30), Self.berlin(year: 2025, month: 1), Self.berlin(month: 4, day: 31, hour: 1),
        ] {
            #expect(NotificationTrigger.calendar(components).nextTriggerDate(after: now) == nil)
        }
    }

    @Test("Components out of range, and those that triggers do not have, are errors that name them")
    func ranges() {
        var week = DateComponents()
        week.weekOfYear = 3
        for (components, field) in [
            (DateComponents(month: 13), "month"), (DateComponents(day: 0), "day"), (DateComponents(hour: 24), "hour"),
            (DateComponents(hour: 1, minute: -1), "minute"), (DateComponents(second: 60), "second"),
            (DateComponents(weekday: 8), "weekday"), (DateComponents(year: 10_000), "year"), (week, "weekOfYear"),
            (DateComponents(calendar: Calendar(identifier: .hebrew), hour: 1), "calendar"), (DateComponents(), nil),
        ] {
            let error = #expect(throws: NotificationError.self) {
                try NotificationTrigger.calendar(components).validate()
            }
            #expect(error?.code == .triggerInvalid)
            #expect(error?.field == field)
        }
    }

    @Test("A trigger survives its encoding")
    func encoding() throws {
        for trigger in [
            NotificationTrigger.timeInterval(.milliseconds(1)), .timeInterval(.seconds(3600), repeats: true),
            .calendar(Self.berlin(month: 2, day: 29, hour: 12), repeats: true),
            .calendar(DateComponents(weekday: 2, weekdayOrdinal: 1)),
        ] {
            #expect(try NotificationTrigger(trigger.valueSet) == trigger)
        }
        for (set, field) in [
            (["Milliseconds": 0], "interval"), (["Date": ["Hour": "9"]], "Hour"),
            (["Date": ["Hour": 9], "TimeZone": "Mars/Olympus"], "TimeZone"), ([:], nil),
        ] as [(ValueSet, String?)] {
            let error = #expect(throws: NotificationError.self) { try NotificationTrigger(set) }
            #expect(error?.field == field)
        }
    }
}
