// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// Times in this machine's time zone.
enum LocalTime {
    /// A date as `yyyy-mm-dd hh:mm:ss`.
    static func text(_ date: Date) -> String {
        let seconds = date.timeIntervalSince1970
        // Beyond the years that a date of a person has.
        guard var seconds = time_t(exactly: seconds.rounded(.down)), abs(seconds) < 1 << 40 else { return "-" }
        var parts = unsafe tm()
        guard unsafe localtime_r(&seconds, &parts) != nil else { return "-" }
        let day = unsafe [parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday]
        let time = unsafe [parts.tm_hour, parts.tm_min, parts.tm_sec]
        return "\(Self.joined(day, "-")) \(Self.joined(time, ":"))"
    }

    private static func joined(_ numbers: [Int32], _ separator: String) -> String {
        numbers.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: separator)
    }

    /// The time of day as `hh:mm:ss`.
    static var now: String { String(Self.text(.now).suffix(8)) }
}
