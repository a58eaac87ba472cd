// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Limits the time that several holders of a quota may use in all, and divides it equally among those that use it. A
/// number of permits is as many seconds.
///
/// What a holder has used is paid off over time: at the rate of one holder, or at an equal part of the total rate if
/// that is less. So the rates of all holders are never more than the total, and no holder waits because of what another
/// one used: it has its own part, and one that has paid everything off never waits.
///
/// A value type without a clock; times are arguments.
package struct FairShare<Holder: Hashable & Sendable>: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// The time after which a holder that waits is looked at again. Its part grows when others stop.
    package static var maxWait: Duration { .seconds(1) }
    private static var minWait: Duration { .milliseconds(1) }

    /// The time that one holder may use at once, and the part of the time in the long run.
    let burst: Duration
    let share: Double
    /// The same for all holders.
    let totalBurst: Duration
    let totalShare: Double

    /// What each holder has used and, at ``updated``, not paid off. More than zero.
    private var used: [Holder: Duration] = [:]
    private var updated: Instant

    package init(burst: Duration, share: Double, totalBurst: Duration, totalShare: Double, now: Instant) {
        self.burst = burst
        self.share = share
        self.totalBurst = totalBurst
        self.totalShare = totalShare
        self.updated = now
    }

    /// The earliest time at which the holder may use time, as far as is known; `now` if it may.
    package func nextTime(of holder: Holder, after now: Instant) -> Instant {
        let paid = self.paid(until: now)
        guard let used = self.used[holder], used > paid else { return now }
        let active = self.used.values.count(where: { $0 > paid })
        let excess = used - paid - min(self.burst, self.totalBurst / active)
        guard excess >= .zero else { return now }
        return now + min(max(excess / self.rate(of: active), Self.minWait), Self.maxWait)
    }

    /// Counts time that the holder has used.
    package mutating func take(_ time: Duration, of holder: Holder, at now: Instant) {
        let paid = self.paid(until: now)
        if paid > .zero { self.used = self.used.compactMapValues { $0 > paid ? $0 - paid : nil } }
        self.updated = max(now, self.updated)
        self.used[holder, default: .zero] += time
    }

    /// The number of other holders that have not paid everything off.
    package func others(than holder: Holder, at now: Instant) -> Int {
        let paid = self.paid(until: now)
        return self.used.count { $0.key != holder && $0.value > paid }
    }

    /// What each holder has paid off since ``updated``.
    private func paid(until now: Instant) -> Duration {
        guard now > self.updated, !self.used.isEmpty else { return .zero }
        return (now - self.updated) * self.rate(of: self.used.count)
    }

    /// The rate of one of so many holders that have used time.
    private func rate(of active: Int) -> Double { min(self.share, self.totalShare / Double(active)) }
}
