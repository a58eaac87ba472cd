// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// When an opening must be over.
///
/// A timer that goes off late tells that this process stood still or got no processor: what the peer sent meanwhile lies
/// unread, and is no reason to turn it away. It gets its time once more.
struct OpeningDeadline {
    private(set) var time: NIODeadline
    private let allowed: TimeAmount
    private var isExtended = false

    init(_ time: NIODeadline, now: NIODeadline) {
        self.time = time
        self.allowed = time - now
    }

    /// The peer has proved who it is, and may take longer.
    mutating func extend(by time: TimeAmount) {
        self.time = self.time + time
    }

    /// Whether the opening is over, asked when the timer has gone off; otherwise it is to be set again.
    mutating func isOver(now: NIODeadline) -> Bool {
        guard !self.isExtended, now - self.time > .nanoseconds(self.allowed.nanoseconds / 4) else {
            return now >= self.time
        }
        self.isExtended = true
        self.time = now + self.allowed
        return false
    }
}
