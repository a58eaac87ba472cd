// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// When an opening must be over.
///
/// A timer that goes off late tells that this process stood still, or had too much else to do: what the peer sent meanwhile lies
/// unread, and is no reason to turn it away. It gets the time that was lost, once, and no more than it had.
struct HandshakeDeadline {
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

    enum OnTimer: Equatable {
        case giveUp
        /// Until the time that it is now.
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
