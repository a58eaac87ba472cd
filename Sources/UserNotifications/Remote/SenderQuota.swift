// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// Limits the rate at which notifications are sent, per holder of a quota and in total.
struct SenderQuota {
    /// The notifications that one holder may send at once. One more is permitted every two seconds.
    static let burst = 30
    /// The notifications that all holders together may send at once. Two more are permitted every second.
    static let totalBurst = 120

    private var holders = KeyedTokenBuckets<String>(capacity: Double(Self.burst), rate: 0.5)
    private var total: TokenBucket

    init(_ now: ContinuousClock.Instant) {
        self.total = TokenBucket(capacity: Double(Self.totalBurst), rate: 2, now: now)
    }

    /// Takes one permit of a holder.
    ///
    /// - Returns: whether there was one. A refusal takes none.
    mutating func take(_ holder: String, _ now: ContinuousClock.Instant) -> Bool {
        guard self.total.permits(at: now), self.holders.tryTake(holder, at: now) else { return false }
        self.total.take(at: now)
        return true
    }
}
