// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// Limits the rate at which notifications are sent, per holder of a quota and in total.
struct SenderQuota {
    /// The notifications that one holder may send at once. One more is permitted every two seconds.
    static let burst = 30
    /// The notifications that all senders of a kind together may send at once. Two more are permitted every second.
    /// Both numbers are divided equally among the holders that send, so those that send much keep no other from it.
    static let totalBurst = 120
    /// The maximum number of holders of a kind that send at a time. Applications of this system are only claimed.
    static let maxHolders = 64

    /// The limit that a refused sender has met.
    enum Limit: Hashable {
        /// That of its holder.
        case own
        /// That of all senders of its kind.
        case total
    }

    private var holders = KeyedTokenBuckets<String>(capacity: Double(Self.burst), rate: 0.5)
    /// One permit is a second.
    private var totals: [NotificationSender.Kind: FairShare<String>]

    init(_ now: ContinuousClock.Instant) {
        let burst = Duration.seconds(Self.totalBurst)
        let total = FairShare<String>(burst: burst, share: 2, totalBurst: burst, totalShare: 2, now: now)
        self.totals = [.local: total, .ownSystem: total, .linkedAccount: total]
    }

    /// Takes one permit of a sender.
    ///
    /// - Returns: the limit that refuses it; `nil` if there was a permit. A refusal takes none.
    mutating func take(_ sender: NotificationSender, _ now: ContinuousClock.Instant) -> Limit? {
        let holder = sender.quotaHolder
        guard self.holders.permits(holder, at: now) else { return .own }
        guard let total = self.totals[sender.kind], total.nextTime(of: holder, after: now) <= now,
            total.others(than: holder, at: now) < Self.maxHolders
        else { return .total }
        self.totals[sender.kind]?.take(.seconds(1), of: holder, at: now)
        self.holders.take(of: holder, at: now)
        return nil
    }
}
