// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The time of day in this machine's time zone.
enum LocalTime {
    static var now: String {
        var seconds = time(nil)
        var parts = unsafe tm()
        guard unsafe localtime_r(&seconds, &parts) != nil else { return "--:--:--" }
        let (hour, minute, second) = unsafe (parts.tm_hour, parts.tm_min, parts.tm_sec)
        return [hour, minute, second].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}
