// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The statistics of a run of pings.
struct Statistics: Sendable {
    var sent = 0
    var times: [Duration] = []
    var lost: Int { self.sent - self.times.count }

    var summary: String {
        let sorted = self.times.sorted()
        guard let least = sorted.first, let most = sorted.last else {
            return "\(self.sent) sent, 0 answered, \(self.lost) lost"
        }
        // Percentiles by the nearest rank: the smallest time that so many per cent of the times do not exceed.
        let (median, p99) = (sorted[(sorted.count * 50 + 99) / 100 - 1], sorted[(sorted.count * 99 + 99) / 100 - 1])
        return """
            rtt min/median/p99/max = \([least, median, p99, most].map(Self.text).joined(separator: "/")) µs
            \(self.sent) sent, \(self.times.count) answered, \(self.lost) lost
            """
    }

    static func text(_ time: Duration) -> String {
        String(format: "%.1f", Double(time.components.seconds) * 1e6 + Double(time.components.attoseconds) / 1e12)
    }
}

/// An address: `host:port`, `[ipv6]:port`, or an IP address without a port.
struct Address {
    var host: String
    var port: Int

    /// Returns `nil` if the text is the name of a system rather than an address.
    init?(_ text: String, usualPort: Int) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            self.host = String(text[text.index(after: text.startIndex)..<end])
            self.port = Int(text[end...].dropFirst(2)) ?? usualPort
        } else if parts.count == 2, let port = Int(parts[1]) {
            (self.host, self.port) = (String(parts[0]), port)
        } else if parts.count > 2
            || text.split(separator: ".").count == 4 && text.allSatisfy({ $0.isNumber || $0 == "." })
        {
            (self.host, self.port) = (text, usualPort)
        } else {
            return nil
        }
    }
}
