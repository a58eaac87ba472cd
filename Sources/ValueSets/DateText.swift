// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Parses a date in the form of RFC 3339 §5.6, such as `2026-01-31T12:00:00.5+01:00`.
///
/// Foundation's parsers read 30 February as 2 March and ignore text after the date, so a typing error would become
/// another date.
enum DateText {
    /// The seconds since 1970. `nil` for a day or time that does not exist, for a leap second, and for text before or
    /// after the date.
    static func secondsSince1970(_ text: String) -> Double? {
        var rest = Substring(text).utf8
        guard let year = rest.number(digits: 4), rest.take("-"),
            let month = rest.number(digits: 2), rest.take("-"),
            let day = rest.number(digits: 2), (1...12).contains(month),
            (1...Self.days(inMonth: month, ofYear: year)).contains(day),
            rest.take("T") || rest.take("t"),
            let time = rest.time(), rest.take(":"),
            let second = rest.number(digits: 2), second < 60,
            let fraction = rest.fraction(),
            let offset = rest.offset(), rest.isEmpty
        else { return nil }
        let days = Self.daysSince1970(year: year, month: month, day: day)
        return Double(days * 86_400 + time + second - offset) + fraction
    }

    private static func days(inMonth month: Int, ofYear year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Counts years from March, so that the leap day is the last day of its year.
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let year = month > 2 ? year : year - 1
        let leapDays = year >= 0 ? year / 4 - year / 100 + year / 400 : -1
        let daysBeforeMonth = (153 * ((month + 9) % 12) + 2) / 5
        return year * 365 + leapDays + daysBeforeMonth + day - 1 - 719_468
    }
}

extension Substring.UTF8View {
    fileprivate mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard self.first == UInt8(ascii: character) else { return false }
        self.removeFirst()
        return true
    }

    private mutating func digit() -> Int? {
        guard let first = self.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return nil }
        self.removeFirst()
        return Int(first - UInt8(ascii: "0"))
    }

    fileprivate mutating func number(digits: Int) -> Int? {
        var number = 0
        for _ in 0..<digits {
            guard let digit = self.digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    /// Hours and minutes, in seconds.
    fileprivate mutating func time() -> Int? {
        guard let hour = self.number(digits: 2), hour < 24, self.take(":"),
            let minute = self.number(digits: 2), minute < 60
        else { return nil }
        return hour * 3600 + minute * 60
    }

    /// The fraction of a second after the decimal point; 0 if there is no decimal point.
    fileprivate mutating func fraction() -> Double? {
        guard self.take(".") else { return 0 }
        var digits = "0."
        while let digit = self.digit() { digits += String(digit) }
        return digits == "0." ? nil : Double(digits)
    }

    /// The offset from UTC, in seconds. Positive if the local time is ahead of UTC.
    fileprivate mutating func offset() -> Int? {
        if self.take("Z") || self.take("z") { return 0 }
        if self.take("+") { return self.time() }
        return self.take("-") ? self.time().map { -$0 } : nil
    }
}
