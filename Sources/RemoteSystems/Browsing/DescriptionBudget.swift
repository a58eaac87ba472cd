// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Limits the time that a browser spends on descriptions, for each holder of a quota and in all.
///
/// A description that must wait is not lost: the newest one is applied later. A description that is not large waits
/// only for others of its holder, so large ones of some holders do not delay the others. The cost is measured in time
/// rather than in bytes, so that the limits hold on any machine.
///
/// A value type without a clock; times are arguments.
struct DescriptionBudget {
    typealias Instant = ContinuousClock.Instant

    /// The length above which a description is large, in bytes.
    static let largeBytes = 16 << 10
    /// The time that descriptions of one holder may take at once, and the part of the time in the long run.
    static let burst = Duration.milliseconds(500)
    static let share = 0.05
    /// The time that large descriptions of all holders may take at once, and the part of the time in the long run.
    static let totalBurst = Duration.seconds(1)
    static let totalShare = 0.25
    /// The time that descriptions of all linked accounts may take at once, and the part of the time in the long run.
    static let linkedBurst = Duration.seconds(1)
    static let linkedShare = 0.2
    /// The minimum cost of a description. Limits the number of small changes of one holder to 50 a second.
    static let minCost = Duration.milliseconds(1)

    /// In milliseconds.
    private var holders = KeyedTokenBuckets<QuotaHolder>(
        capacity: Self.burst.inMilliseconds,
        rate: Self.share * 1000
    )
    private var linked: FairShare<QuotaHolder>
    private var total: TokenBucket

    init(now: Instant) {
        self.linked = FairShare(
            burst: Self.burst,
            share: Self.share,
            totalBurst: Self.linkedBurst,
            totalShare: Self.linkedShare,
            now: now
        )
        self.total = TokenBucket(capacity: Self.totalBurst.inMilliseconds, rate: Self.totalShare * 1000, now: now)
    }

    /// The time until which a holder's description must wait; `nil` if it may be applied now.
    func delay(_ bytes: Int, of holder: QuotaHolder, now: Instant) -> Instant? {
        var time =
            holder.isLinkedAccount
            ? self.linked.nextTime(of: holder, after: now) : self.holders.nextTime(of: holder, after: now)
        if bytes > Self.largeBytes { time = max(time, self.total.nextTime(after: now)) }
        return time > now ? time : nil
    }

    /// Counts the time that a description took.
    mutating func took(_ duration: Duration, _ bytes: Int, of holder: QuotaHolder, now: Instant) {
        let cost = max(duration, Self.minCost)
        if holder.isLinkedAccount {
            self.linked.take(cost, of: holder, at: now)
        } else {
            self.holders.take(cost.inMilliseconds, of: holder, at: now)
        }
        if bytes > Self.largeBytes { self.total.take(cost.inMilliseconds, at: now) }
    }
}

extension Duration {
    fileprivate var inMilliseconds: Double {
        Double(self.components.seconds) * 1000 + Double(self.components.attoseconds) / 1e15
    }
}
