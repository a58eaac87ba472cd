// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Prints lines of JSON to stdout, each with the time in seconds.
enum Output {
    static func line(_ fields: KeyValuePairs<String, String>) {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        let micros = String(1_000_000 + time.tv_nsec / 1000).dropFirst()
        let members = fields.map { "\(quoted($0.key)):\(quoted($0.value))" }
        let text = "{\"time\":\(time.tv_sec).\(micros),\(members.joined(separator: ","))}\n"
        let bytes = Array(text.utf8)
        _ = unsafe write(1, bytes, bytes.count)
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                quoted += "\\"
                quoted.unicodeScalars.append(scalar)
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default:
                quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
