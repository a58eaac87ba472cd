// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Limits the rate of something: each use takes tokens, which return over time.
///
/// A value type without a clock; times are arguments. A use may take more tokens than there are: the balance is then
/// negative, and the next use waits longer.
package struct TokenBucket: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// The number of tokens in a full bucket: the maximum burst.
    package let capacity: Double
    /// The number of tokens that return in a second.
    package let rate: Double
    private var balance: Double
    private var updated: Instant

    /// Creates a full bucket.
    ///
    /// - Parameters:
    ///   - capacity: at least 1.
    ///   - rate: tokens in a second, more than 0.
    package init(capacity: Double, rate: Double, now: Instant) {
        self.capacity = max(capacity, 1)
        self.rate = max(rate, 0.001)
        self.balance = self.capacity
        self.updated = now
    }

    /// The number of tokens at a time.
    package func balance(at now: Instant) -> Double {
        min(self.balance + max((now - self.updated).inSeconds, 0) * self.rate, self.capacity)
    }

    package func isFull(at now: Instant) -> Bool { self.balance(at: now) >= self.capacity }

    /// Whether there is at least one token.
    package func permits(at now: Instant) -> Bool { self.balance(at: now) >= 1 }

    /// The earliest time at which there is at least one token; `now` or earlier if there is one.
    package func nextTime(after now: Instant) -> Instant {
        let missing = 1 - self.balance(at: now)
        // Rounded up, so that there is a token at that time.
        return missing <= 0 ? now : now + .microseconds(Int64((missing / self.rate * 1_000_000).rounded(.up)) + 1)
    }

    /// Takes tokens, also more than there are.
    package mutating func take(_ tokens: Double = 1, at now: Instant) {
        self.balance = self.balance(at: now) - tokens
        self.updated = max(now, self.updated)
    }

    /// Returns tokens that a use has taken, because the use turned out not to count.
    package mutating func putBack(_ tokens: Double = 1, at now: Instant) { self.take(-tokens, at: now) }
}

/// A ``TokenBucket`` for each key. It keeps state of keys only while their buckets are not full.
package struct KeyedTokenBuckets<Key: Hashable & Sendable>: Sendable {
    package typealias Instant = ContinuousClock.Instant

    package let capacity: Double
    package let rate: Double
    /// The number of buckets above which full ones are removed.
    private var cleanUpAt = 64
    private var buckets: [Key: TokenBucket] = [:]

    package init(capacity: Double, rate: Double) {
        self.capacity = capacity
        self.rate = rate
    }

    /// The number of keys with state.
    package var count: Int { self.buckets.count }

    package func permits(_ key: Key, at now: Instant) -> Bool { self.buckets[key]?.permits(at: now) ?? true }

    /// The earliest time at which the key has at least one token.
    package func nextTime(of key: Key, after now: Instant) -> Instant {
        self.buckets[key]?.nextTime(after: now) ?? now
    }

    package mutating func take(_ tokens: Double = 1, of key: Key, at now: Instant) {
        self.buckets[key, default: TokenBucket(capacity: self.capacity, rate: self.rate, now: now)]
            .take(tokens, at: now)
        guard self.buckets.count >= self.cleanUpAt else { return }
        self.buckets = self.buckets.filter { !$0.value.isFull(at: now) }
        self.cleanUpAt = max(64, 2 * self.buckets.count)
    }

    /// Takes one token if there is one. Returns whether it was taken.
    package mutating func tryTake(_ key: Key, at now: Instant) -> Bool {
        guard self.permits(key, at: now) else { return false }
        self.take(of: key, at: now)
        return true
    }

    package mutating func putBack(_ tokens: Double = 1, of key: Key, at now: Instant) {
        self.buckets[key]?.putBack(tokens, at: now)
    }
}

extension Duration {
    fileprivate var inSeconds: Double {
        Double(self.components.seconds) + Double(self.components.attoseconds) / 1e18
    }
}
