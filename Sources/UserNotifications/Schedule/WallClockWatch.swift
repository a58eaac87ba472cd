// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems

/// Notices that the system's clock was set.
struct WallClockWatch {
    private var instant: ContinuousClock.Instant
    private var date: Date

    /// A smaller difference is the correction of a clock that runs too fast or too slowly.
    private static let tolerance: TimeInterval = 2
    /// The longest wait for a date. After it, a change of the clock is noticed.
    private static let longestWait = Duration.seconds(60)

    init(_ clock: FeatureClock) { (self.instant, self.date) = (clock.now, clock.date) }

    /// The time by which the clock was set since the last call; `nil` if it was not set.
    mutating func change(_ clock: FeatureClock) -> TimeInterval? {
        let (instant, date) = (clock.now, clock.date)
        let expected = self.date + (instant - self.instant).timeInterval
        let change = date.timeIntervalSince(expected)
        guard abs(change) > Self.tolerance else { return nil }
        (self.instant, self.date) = (instant, date)
        return change
    }

    /// The instant until which to wait for a date.
    static func instant(of date: Date, _ clock: FeatureClock) -> ContinuousClock.Instant {
        let rest = date.timeIntervalSince(clock.date)
        guard rest < Self.longestWait.timeInterval else { return clock.now + Self.longestWait }
        // A millisecond later, so that the date has been reached in spite of rounding.
        return clock.now + .seconds(max(rest, 0)) + .milliseconds(rest > 0 ? 1 : 0)
    }
}
