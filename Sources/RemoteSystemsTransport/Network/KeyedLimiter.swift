// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Counts uses of something against a limit in total and a limit for each key, such as a peer.
///
/// The limit for each key keeps one peer from excluding all others. With `sharesOfFree`, several peers together cannot
/// exclude the others either: the fuller the limiter is, the less one key may use. A value type without I/O. It keeps
/// state of keys in use only.
package struct KeyedLimiter<Key: Hashable & Sendable>: Sendable {
    /// Whether a limit permits another use.
    package enum Capacity: Hashable, Sendable {
        case free
        /// The limit in total is reached.
        case full
        /// The limit of this key is reached. Others may have capacity.
        case fullForKey
    }

    package let total: Int
    package let perKey: Int
    package private(set) var count = 0
    private var counts: [Key: Int] = [:]
    private let sharesOfFree: Int?

    /// - Parameter sharesOfFree: divides what is free. A key may use at most one of the shares, if that is less than
    ///   `perKey`. Defaults to `nil`: `perKey` alone applies.
    package init(total: Int, perKey: Int, sharesOfFree: Int? = nil) {
        self.total = total
        self.perKey = perKey
        self.sharesOfFree = sharesOfFree.map { max($0, 1) }
    }

    /// The number of keys in use.
    package var keys: Int { self.counts.count }

    package func count(of key: Key) -> Int { self.counts[key] ?? 0 }

    /// Whether an amount can be added without exceeding a limit.
    package func capacity(for key: Key, adding amount: Int = 1) -> Capacity {
        guard self.count + amount <= self.total else { return .full }
        let share = self.sharesOfFree.map { (self.total - self.count) / $0 } ?? .max
        return self.count(of: key) + amount <= min(self.perKey, share) ? .free : .fullForKey
    }

    /// Adds an amount unless a limit is reached. Returns whether it was added.
    package mutating func enter(_ key: Key, adding amount: Int = 1) -> Bool {
        guard self.capacity(for: key, adding: amount) == .free else { return false }
        self.add(amount, for: key)
        return true
    }

    /// Adds an amount, even beyond the limits. A negative amount is removed.
    package mutating func add(_ amount: Int, for key: Key) {
        let count = self.count(of: key) + amount
        self.count += amount
        self.counts[key] = count > 0 ? count : nil
    }

    /// Removes one, if there is any.
    package mutating func leave(_ key: Key) {
        guard self.counts[key] != nil else { return }
        self.add(-1, for: key)
    }
}
