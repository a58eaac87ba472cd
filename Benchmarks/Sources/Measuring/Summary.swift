// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The statistics of a measurement. Percentiles are exact: they are taken from the sorted samples.
package struct Summary: Codable, Hashable, Sendable {
    package var count: Int
    package var minimum: Double
    package var median: Double
    package var p99: Double
    package var maximum: Double
    /// The operations per second over the whole measurement.
    package var perSecond: Double

    /// Returns nil if there are no samples: zeros would look like a very fast result.
    package init?(_ measurement: Measurement) {
        let sorted = measurement.nanoseconds.sorted()
        guard let first = sorted.first, let last = sorted.last, measurement.elapsedNanoseconds > 0 else { return nil }
        count = sorted.count
        minimum = Double(first)
        median = Self.percentile(50, of: sorted)
        p99 = Self.percentile(99, of: sorted)
        maximum = Double(last)
        perSecond = Double(sorted.count) * 1e9 / Double(measurement.elapsedNanoseconds)
    }

    /// The nearest-rank percentile: the smallest sample that at least `rank` per cent of the samples do not exceed.
    package static func percentile(_ rank: Int, of sorted: [Int64]) -> Double {
        guard !sorted.isEmpty else { return .nan }
        let position = (sorted.count * rank + 99) / 100
        return Double(sorted[min(max(position, 1), sorted.count) - 1])
    }
}

extension Collection<Double> {
    /// The median: the middle value, or the mean of the two middle values; nil if there is no value.
    package var median: Double? {
        let sorted = sorted()
        guard !sorted.isEmpty else { return nil }
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}
