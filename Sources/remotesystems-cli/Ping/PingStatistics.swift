// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The statistics of a run of pings.
struct PingStatistics: Sendable {
    var sent = 0
    private var times: [Duration] = []

    var answered: Int { self.times.count }
    var lost: Int { self.sent - self.answered }

    mutating func answered(in time: Duration) { self.times.append(time) }

    /// The minimum, median, 99th percentile and maximum; nil if no ping was answered. Percentiles are the nearest rank.
    var roundTrips: (min: Duration, median: Duration, p99: Duration, max: Duration)? {
        let sorted = self.times.sorted()
        guard let least = sorted.first, let most = sorted.last else { return nil }
        return (least, Self.percentile(50, of: sorted), Self.percentile(99, of: sorted), most)
    }

    /// The percentile by the nearest-rank method: the smallest time that `rank` per cent of the times do not exceed.
    private static func percentile(_ rank: Int, of sorted: [Duration]) -> Duration {
        sorted[(sorted.count * rank + 99) / 100 - 1]
    }

    var summary: String {
        let counts = "\(self.sent) sent, \(self.answered) answered, \(self.lost) lost"
        guard let times = self.roundTrips else { return counts }
        let texts = [times.min, times.median, times.p99, times.max].map(\.microsecondsText)
        return "rtt min/median/p99/max = \(texts.joined(separator: "/")) µs\n\(counts)"
    }
}

extension Duration {
    var microseconds: Double {
        // Rounded to a tenth: the measurement is not more precise.
        let tenths = Double(self.components.seconds) * 1e7 + Double(self.components.attoseconds) / 1e11
        return tenths.rounded() / 10
    }

    /// The duration in microseconds, with one decimal.
    var microsecondsText: String { "\(self.microseconds)" }
}

/// The output of the summary with `--json`. Times are in microseconds.
struct PingSummaryOutput: Encodable {
    /// The round-trip times of the summary, in microseconds.
    struct RoundTrips: Encodable {
        var min: Double
        var median: Double
        var p99: Double
        var max: Double
    }

    let event = "summary"
    let time = Date.now
    var sent: Int
    var answered: Int
    var lost: Int
    var microseconds: RoundTrips?

    init(_ statistics: PingStatistics) {
        self.sent = statistics.sent
        self.answered = statistics.answered
        self.lost = statistics.lost
        self.microseconds = statistics.roundTrips.map {
            RoundTrips(
                min: $0.min.microseconds,
                median: $0.median.microseconds,
                p99: $0.p99.microseconds,
                max: $0.max.microseconds
            )
        }
    }
}
