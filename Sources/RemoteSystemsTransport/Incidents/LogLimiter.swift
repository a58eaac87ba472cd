// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Decides which of many similar events are logged: the first few of a period, few of them with the same key. The
/// others are counted, for one summary at the end of the period.
///
/// A value type without I/O. It keeps at most as many keys as it logs events in a period, and a few of those with the
/// most of the others.
package struct LogLimiter<Key: Hashable & Sendable>: Sendable {
    package enum OnEvent: Hashable, Sendable {
        case log
        /// Only count the event.
        case count
        /// Only count the event, and call ``summarize()`` after this time. The first counted event of each period.
        case countAndSummarize(after: TimeAmount)
    }

    private let period: TimeAmount
    private let reserved: Int
    private var logged: KeyedLimiter<Key>
    private var end: NIODeadline?
    private var counted = 0
    /// The numbers of counted events of at most ``maxCountedKeys`` keys. They are too small if there are more keys.
    private var counts: [Key: Int] = [:]
    private static var maxCountedKeys: Int { 16 }

    /// - Parameters:
    ///   - period: Defaults to one minute.
    ///   - total: the maximum number of logged events in a period. Defaults to 10.
    ///   - perKey: the maximum with the same key. Defaults to 3.
    ///   - reserved: how many of the total are for keys of which no event is logged yet. Defaults to none.
    package init(period: TimeAmount = .minutes(1), total: Int = 10, perKey: Int = 3, reserved: Int = 0) {
        self.period = period
        self.reserved = reserved
        self.logged = KeyedLimiter(total: total, perKey: perKey)
    }

    package mutating func occurred(for key: Key, now: NIODeadline) -> OnEvent {
        // A period that has a summary due ends with the summary, so that each event is in exactly one.
        if self.counted == 0, let end, end <= now {
            self.end = nil
            self.logged = KeyedLimiter(total: self.logged.total, perKey: self.logged.perKey)
        }
        let end = self.end ?? now + self.period
        self.end = end
        let isPermitted = self.logged.count < self.logged.total - self.reserved || self.logged.count(of: key) == 0
        if isPermitted, self.logged.enter(key) { return .log }
        self.count(key)
        return self.counted == 1 ? .countAndSummarize(after: max(end - now, .zero)) : .count
    }

    /// The key with the most of the events that were only counted, if it has a considerable part of them; otherwise one
    /// of several, or `nil`.
    package var most: Key? { self.counts.max { $0.value < $1.value }?.key }

    private mutating func count(_ key: Key) {
        self.counted += 1
        if self.counts[key] != nil || self.counts.count < Self.maxCountedKeys {
            self.counts[key, default: 0] += 1
        } else {
            // After Misra and Gries (1982): a key with more than a seventeenth of all events is never lost.
            self.counts = self.counts.compactMapValues { $0 > 1 ? $0 - 1 : nil }
        }
    }

    /// Ends the period. Returns the number of events that were only counted.
    package mutating func summarize() -> Int {
        defer {
            self.counted = 0
            self.counts = [:]
            self.end = nil
            self.logged = KeyedLimiter(total: self.logged.total, perKey: self.logged.perKey)
        }
        return self.counted
    }
}
