// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// Limits the rate at which notifications are sent, per holder of a quota and in total.
struct SenderQuota {
    /// The notifications that one holder may send at once. One more is permitted every two seconds.
    static let burst = 30
    /// The notifications that all senders of a kind together may send at once. Two more are permitted every second.
    static let totalBurst = 120

    private var holders = KeyedTokenBuckets<String>(capacity: Double(Self.burst), rate: 0.5)
    private var totals: [NotificationSender.Kind: TokenBucket]

    init(_ now: ContinuousClock.Instant) {
        let total = TokenBucket(capacity: Double(Self.totalBurst), rate: 2, now: now)
        self.totals = [.local: total, .ownSystem: total, .linkedAccount: total]
    }

    /// Takes one permit of a sender.
    ///
    /// - Returns: whether there was one. A refusal takes none.
    mutating func take(_ sender: NotificationSender, _ now: ContinuousClock.Instant) -> Bool {
        guard self.totals[sender.kind]?.permits(at: now) == true, self.holders.tryTake(sender.quotaHolder, at: now)
        else { return false }
        self.totals[sender.kind]?.take(at: now)
        return true
    }
}
