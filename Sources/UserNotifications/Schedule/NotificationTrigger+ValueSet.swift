// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import ValueSets

extension NotificationTrigger {
    /// The trigger as a value set.
    public var valueSet: ValueSet {
        var set: ValueSet = [:]
        if self.repeats { set["Repeats"] = true }
        switch self.condition {
        case .timeInterval(let interval):
            // Rounded up: an interval is never 0.
            set["Milliseconds"] = .integer(Int64((interval.timeInterval * 1000).rounded(.up)))
        case .calendar(let components):
            var date: ValueSet = [:]
            for (name, value) in CalendarComponents.values(components) { date[Self.key(name)] = .integer(Int64(value)) }
            set.put((components.timeZone ?? components.calendar?.timeZone)?.identifier, "TimeZone")
            set["Date"] = .dictionary(date)
        case .location(let region): set["Region"] = .dictionary(region.valueSet)
        }
        return set
    }

    /// `weekdayOrdinal` as `WeekdayOrdinal`.
    private static func key(_ name: String) -> String { name.prefix(1).uppercased() + name.dropFirst() }

    /// Creates a trigger from a value set, and checks every field. Unknown keys are ignored.
    ///
    /// - Parameter set: The value set.
    /// - Throws: ``NotificationError`` that names the field.
    public init(_ set: ValueSet) throws(NotificationError) {
        let reader = FieldReader(set)
        let repeats = try reader.bool("Repeats") ?? false
        if let milliseconds = try reader.int("Milliseconds") {
            self = .timeInterval(.milliseconds(milliseconds), repeats: repeats)
        } else if let region = try reader.dictionary("Region") {
            do throws(NotificationError) {
                self = .location(try NotificationRegion(region), repeats: repeats)
            } catch {
                throw error.inside("Region")
            }
        } else {
            let date = FieldReader(try reader.dictionary("Date") ?? [:])
            var components = DateComponents()
            if let identifier = try reader.string("TimeZone") {
                guard let zone = TimeZone(identifier: identifier) else {
                    throw NotificationError(
                        .triggerInvalid,
                        "The time zone is unknown. Names are those of the IANA database, such as Europe/Berlin.",
                        field: "TimeZone"
                    )
                }
                components.timeZone = zone
            }
            components.year = try date.int("Year")
            components.month = try date.int("Month")
            components.day = try date.int("Day")
            components.weekday = try date.int("Weekday")
            components.weekdayOrdinal = try date.int("WeekdayOrdinal")
            components.hour = try date.int("Hour")
            components.minute = try date.int("Minute")
            components.second = try date.int("Second")
            self = .calendar(components, repeats: repeats)
        }
        try self.validate()
    }
}

extension NotificationRegion {
    var valueSet: ValueSet {
        var set: ValueSet = [
            "Latitude": .double(self.latitude), "Longitude": .double(self.longitude), "Radius": .double(self.radius),
        ]
        if !self.notifiesOnEntry { set["OnEntry"] = false }
        if self.notifiesOnExit { set["OnExit"] = true }
        return set
    }

    init(_ set: ValueSet) throws(NotificationError) {
        let reader = FieldReader(set)
        func number(_ key: String) throws(NotificationError) -> Double {
            // JSON does not distinguish 52 and 52.0.
            if let value = set[key], let number = value.double ?? value.int.map(Double.init) { return number }
            throw NotificationError(.triggerInvalid, "The value must be a number.", field: key)
        }
        self.init(
            latitude: try number("Latitude"),
            longitude: try number("Longitude"),
            radius: try number("Radius"),
            notifiesOnEntry: try reader.bool("OnEntry") ?? true,
            notifiesOnExit: try reader.bool("OnExit") ?? false
        )
    }
}
