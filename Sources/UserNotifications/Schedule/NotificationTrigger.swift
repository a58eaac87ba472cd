// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The condition on which a notification is delivered.
///
/// ```swift
/// NotificationTrigger.timeInterval(.seconds(300))
/// NotificationTrigger.calendar(DateComponents(hour: 9, minute: 30), repeats: true)
/// NotificationTrigger.location(NotificationRegion(latitude: 52.52, longitude: 13.405, radius: 200))
/// ```
///
/// A notification whose date passed while nothing could deliver it, because the system was off, suspended or had no
/// daemon, is delivered once as soon as that is possible.
public struct NotificationTrigger: Sendable, Hashable {
    enum Condition: Sendable, Hashable {
        case timeInterval(Duration)
        case calendar(DateComponents)
        case location(NotificationRegion)
    }

    let condition: Condition
    /// Whether the notification is delivered at every date, and not only at the first.
    public let repeats: Bool

    /// Delivers a notification after a time.
    ///
    /// The time counts while the system is suspended or off. A change of the system's clock does not change it while
    /// the program that waits is running.
    ///
    /// - Parameters:
    ///   - interval: The time from adding the request. Valid range: more than 0, at most 10 years; at least 60 s if
    ///     it repeats.
    ///   - repeats: Whether the notification is delivered again after each further interval. Defaults to `false`.
    public static func timeInterval(_ interval: Duration, repeats: Bool = false) -> NotificationTrigger {
        NotificationTrigger(condition: .timeInterval(interval), repeats: repeats)
    }

    /// Delivers a notification at the next date with these components.
    ///
    /// - A component that is not set matches any value; hours, minutes and seconds below the finest set component are
    ///   0. `DateComponents(hour: 9)` is every day at 9:00:00.
    /// - Without a time zone, the system's time zone counts, also after the link `/etc/localtime` was changed.
    /// - A time that daylight saving time omits is moved to the next time that exists. A time that occurs twice on a
    ///   day counts once, the first time.
    /// - A day that a month or a year does not have is omitted: day 31 occurs in seven months, 29 February in leap
    ///   years.
    ///
    /// - Parameters:
    ///   - components: At least one of: year (1–9999), month (1–12), day (1–31), weekday (1–7; 1 is Sunday), weekday
    ///     ordinal (1–5), hour (0–23), minute (0–59), second (0–59). In the Gregorian calendar; a time zone is
    ///     permitted. Other components are refused. When the request is added, the next date is at most 10 years away;
    ///     otherwise adding it throws `triggerInvalid`.
    ///   - repeats: Whether the notification is delivered at every such date. Defaults to `false`: at the next one.
    public static func calendar(_ components: DateComponents, repeats: Bool = false) -> NotificationTrigger {
        NotificationTrigger(condition: .calendar(components), repeats: repeats)
    }

    /// Delivers a notification when the user enters or leaves a region.
    ///
    /// It is delivered when the boundary is crossed: a user who is inside already has to leave and come back. A
    /// crossing while nothing measured the location is noticed afterwards, unless the user has crossed it back.
    ///
    /// The host daemon measures the location with GeoClue
    /// (<https://www.freedesktop.org/software/geoclue/docs/gdbus-org.freedesktop.GeoClue2.Client.html>), only while
    /// there is such a notification. Adding one throws `locationUnavailable` where that is not possible, and without a
    /// daemon. At most 20 of an application wait, and 64 in all.
    ///
    /// - Parameters:
    ///   - region: The region.
    ///   - repeats: Whether the notification is delivered each time. Defaults to `false`: once.
    public static func location(_ region: NotificationRegion, repeats: Bool = false) -> NotificationTrigger {
        NotificationTrigger(condition: .location(region), repeats: repeats)
    }

    /// The region of a location; `nil` for another condition.
    package var region: NotificationRegion? {
        if case .location(let region) = self.condition { region } else { nil }
    }

    /// Checks every value against its range.
    ///
    /// - Throws: ``NotificationError`` with `triggerInvalid`, which names the value.
    public func validate() throws(NotificationError) {
        switch self.condition {
        case .timeInterval(let interval):
            guard interval > .zero, interval <= Self.maxInterval else {
                throw NotificationError(
                    .triggerInvalid,
                    "The interval must be more than 0 s and at most \(Self.maxInterval.components.seconds) s "
                        + "(10 years).",
                    field: "interval"
                )
            }
            guard !self.repeats || interval >= Self.minRepeatedInterval else {
                throw NotificationError(
                    .triggerInvalid,
                    "An interval that repeats must have at least 60 s.",
                    field: "interval"
                )
            }
        case .calendar(let components):
            try CalendarComponents.validate(components)
        case .location(let region): try region.validate()
        }
    }

    private static let maxInterval = Duration.seconds(3650 * 86_400)
    private static let minRepeatedInterval = Duration.seconds(60)

    /// Checks that a date is not too far away: a date beyond is the mark of what waits for a region.
    package func checkDistance(of next: Date, from date: Date) throws(NotificationError) {
        guard case .calendar = self.condition, next.timeIntervalSince(date) > Self.maxInterval.timeInterval else {
            return
        }
        throw NotificationError(.triggerInvalid, "The next date is more than 10 years away.", field: "trigger")
    }

    /// The next date at which a notification is delivered that was added, or delivered last, at a date.
    ///
    /// - Parameter date: The date. Defaults to now.
    /// - Returns: The next date; `nil` if there is none, such as for 30 February, a year that is over, or a region.
    public func nextTriggerDate(after date: Date = .now) -> Date? {
        self.nextTriggerDate(after: date, in: SystemTimeZone.current)
    }

    /// - Parameter zone: the time zone of components without one.
    func nextTriggerDate(after date: Date, in zone: TimeZone) -> Date? {
        guard (try? self.validate()) != nil else { return nil }
        return switch self.condition {
        case .timeInterval(let interval): date + interval.timeInterval
        case .calendar(let components): CalendarComponents.next(components, after: date, in: zone)
        case .location: nil
        }
    }

    /// Whether its dates depend on the system's time zone.
    var followsTimeZone: Bool {
        guard case .calendar(let components) = self.condition else { return false }
        return components.timeZone == nil && components.calendar == nil
    }

    /// The date from which the next delivery counts after one at `date` that was due at `due`.
    ///
    /// Deliveries that were missed meanwhile are not repeated, and an interval keeps its rhythm.
    func anchor(afterDeliveryAt date: Date, due: Date) -> Date {
        guard case .timeInterval(let interval) = self.condition, date > due else { return max(date, due) }
        let missed = (date.timeIntervalSince(due) / interval.timeInterval).rounded(.down)
        return due + missed * interval.timeInterval
    }
}

extension Duration {
    /// The duration in seconds.
    var timeInterval: TimeInterval {
        Double(self.components.seconds) + Double(self.components.attoseconds) / 1e18
    }
}
