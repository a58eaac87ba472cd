// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// Limits the rate at which notifications are sent, per holder of a quota and in total.
struct SenderQuota {
    /// The notifications that one holder may send at once. One more is permitted every two seconds.
    static let burst = 30
    /// The notifications that all other systems together may send at once; the programs of this one as many more. Two
    /// more are permitted every second.
    static let totalBurst = 120

    private var holders = KeyedTokenBuckets<String>(capacity: Double(Self.burst), rate: 0.5)
    private var remote: TokenBucket
    private var local: TokenBucket

    init(_ now: ContinuousClock.Instant) {
        self.remote = TokenBucket(capacity: Double(Self.totalBurst), rate: 2, now: now)
        self.local = self.remote
    }

    /// Takes one permit of a sender.
    ///
    /// - Returns: whether there was one. A refusal takes none.
    mutating func take(_ sender: NotificationSender, _ now: ContinuousClock.Instant) -> Bool {
        let permits = sender.isLocal ? self.local.permits(at: now) : self.remote.permits(at: now)
        guard permits, self.holders.tryTake(sender.quotaHolder, at: now) else { return false }
        if sender.isLocal { self.local.take(at: now) } else { self.remote.take(at: now) }
        return true
    }
}
