// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A time that the user enters: a number of seconds, or a number with a unit, such as `500ms`, `90s`, `10m`, `2h` or
/// `1d`.
struct EnteredTime: ExpressibleByArgument, CustomStringConvertible {
    /// What a help says about the form.
    static let form = "such as 90s, 10m, 2h or 1d; a number without a unit is in seconds"
    private static let units = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)]

    /// Not checked: it may be negative, infinite or no number.
    let seconds: Double

    /// The number of seconds as a duration. Only for a number that was checked.
    var duration: Duration { .seconds(self.seconds) }

    /// The time with the largest unit of which it is a whole number, as the user can enter it.
    var description: String {
        guard self.seconds.isFinite else { return "\(self.seconds)" }
        let unit = Self.units.last { self.seconds >= $0.1 && Int(exactly: self.seconds / $0.1) != nil } ?? ("s", 1)
        let number = self.seconds / unit.1
        return Int(exactly: number).map { "\($0)\(unit.0)" } ?? "\(number)\(unit.0)"
    }

    var defaultValueDescription: String { Int(exactly: self.seconds).map { "\($0)" } ?? "\(self.seconds)" }

    init(seconds: Double) { self.seconds = seconds }

    init?(argument: String) {
        if let seconds = Double(argument) {
            self.seconds = seconds
            return
        }
        guard let (unit, seconds) = Self.units.first(where: { argument.hasSuffix($0.0) }),
            let number = Double(argument.dropLast(unit.count))
        else { return nil }
        self.seconds = number * seconds
    }
}
