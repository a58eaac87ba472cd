// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The deadline of a handshake.
///
/// A timer that fires late shows that this process was suspended or overloaded. The peer's bytes may have arrived in
/// time without being read. The peer therefore gets the lost time again, once, and at most as much as it had initially.
struct HandshakeDeadline {
    private(set) var time: NIODeadline
    private let allowed: TimeAmount
    private var isExtended = false

    init(_ time: NIODeadline, now: NIODeadline) {
        self.time = time
        self.allowed = time - now
    }

    /// Extends the deadline, after the peer was authenticated.
    mutating func extend(by time: TimeAmount) {
        self.time = self.time + time
    }

    /// What to do when the timer fires.
    enum OnTimer: Equatable {
        case giveUp
        /// Wait until ``HandshakeDeadline/time``.
        case wait
    }

    mutating func timerWentOff(now: NIODeadline) -> OnTimer {
        if now < self.time { return .wait }
        let late = now - self.time
        guard !self.isExtended, late > .nanoseconds(self.allowed.nanoseconds / 4) else { return .giveUp }
        self.isExtended = true
        self.time = now + min(late, self.allowed)
        return .wait
    }
}
