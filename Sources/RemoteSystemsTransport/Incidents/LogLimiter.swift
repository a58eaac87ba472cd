// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Decides which of many similar events are logged: the first few of a period, few of them with the same key. The
/// others are counted, for one summary at the end of the period.
///
/// A value type without I/O. It keeps at most as many keys as it logs events in a period.
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
        self.counted += 1
        return self.counted == 1 ? .countAndSummarize(after: max(end - now, .zero)) : .count
    }

    /// Ends the period. Returns the number of events that were only counted.
    package mutating func summarize() -> Int {
        defer {
            self.counted = 0
            self.end = nil
            self.logged = KeyedLimiter(total: self.logged.total, perKey: self.logged.perKey)
        }
        return self.counted
    }
}
