// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
// Without it, Foundation knows no time zones but GMT.
internal import FoundationInternationalization

/// Dates that match components, as calendar triggers need them.
enum CalendarComponents {
    private static let ranges: [(name: String, range: ClosedRange<Int>, value: @Sendable (DateComponents) -> Int?)] = [
        ("year", 1...9999, { $0.year }), ("month", 1...12, { $0.month }), ("day", 1...31, { $0.day }),
        ("weekday", 1...7, { $0.weekday }), ("weekdayOrdinal", 1...5, { $0.weekdayOrdinal }),
        ("hour", 0...23, { $0.hour }), ("minute", 0...59, { $0.minute }), ("second", 0...59, { $0.second }),
    ]

    /// The names and values of the components that are set.
    static func values(_ components: DateComponents) -> [(name: String, value: Int)] {
        Self.ranges.compactMap { entry in entry.value(components).map { (entry.name, $0) } }
    }

    static func validate(_ components: DateComponents) throws(NotificationError) {
        var isEmpty = true
        for (name, range, value) in Self.ranges {
            guard let value = value(components) else { continue }
            isEmpty = false
            guard range.contains(value) else {
                throw NotificationError(
                    .triggerInvalid,
                    "The value must be from \(range.lowerBound) to \(range.upperBound).",
                    field: name
                )
            }
        }
        let others: [(String, Int?)] = [
            ("era", components.era), ("quarter", components.quarter), ("weekOfMonth", components.weekOfMonth),
            ("weekOfYear", components.weekOfYear), ("yearForWeekOfYear", components.yearForWeekOfYear),
            ("dayOfYear", components.dayOfYear), ("nanosecond", components.nanosecond),
        ]
        if let (name, _) = others.first(where: { $0.1 != nil }) {
            throw NotificationError(.triggerInvalid, "Triggers do not have this component.", field: name)
        }
        guard !isEmpty else {
            throw NotificationError(
                .triggerInvalid,
                "The trigger has no date. Set at least one of: \(Self.ranges.map(\.name).joined(separator: ", "))."
            )
        }
        if let calendar = components.calendar, calendar.identifier != .gregorian {
            throw NotificationError(.triggerInvalid, "Only the Gregorian calendar is supported.", field: "calendar")
        }
    }

    /// The next matching date. At most this many dates are tried whose time matches, but not their day: 29 February on
    /// a certain weekday can be 40 years away, with a first of March in each other year.
    private static let maxCandidates = 64

    /// - Parameter zone: the time zone of components without one.
    static func next(_ components: DateComponents, after date: Date, in zone: TimeZone) -> Date? {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = components.timeZone ?? components.calendar?.timeZone ?? zone
        var wanted = components
        wanted.calendar = nil
        wanted.timeZone = nil
        var candidate = date
        for _ in 0..<Self.maxCandidates {
            let next = calendar.nextDate(
                after: candidate,
                matching: wanted,
                matchingPolicy: .nextTime,
                repeatedTimePolicy: .first
            )
            guard let next, next > candidate else { return nil }
            let days = calendar.dateComponents([.year, .month, .day, .weekday, .weekdayOrdinal], from: next)
            let isDay = [
                (wanted.year, days.year), (wanted.month, days.month), (wanted.day, days.day),
                (wanted.weekday, days.weekday), (wanted.weekdayOrdinal, days.weekdayOrdinal),
            ].allSatisfy { $0.0 == nil || $0.0 == $0.1 }
            if isDay { return next }
            candidate = next
        }
        return nil
    }
}
