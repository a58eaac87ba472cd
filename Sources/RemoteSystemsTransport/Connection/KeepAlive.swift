// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Detects a silent peer. TCP alone would take many minutes.
///
/// A ping is sent after a third of the timeout without a byte from the peer, and again after two thirds. The peer
/// counts as lost when the timeout elapses.
struct KeepAlive {
    private(set) var deadPeerTime: TimeAmount
    private var interval: TimeAmount
    private var lastHeard: NIODeadline
    private var lastPing: NIODeadline
    /// The delay of a tick that shows that our own process was suspended, and the additional time that the peer then
    /// gets. Shorter while a probe is pending.
    private var grace: TimeAmount
    /// Whether the grace was used since the peer last sent something. It is used once, so that repeatedly late ticks
    /// cannot keep the connection to a lost peer open.
    private var hasBeenLate = false
    private var token: UInt64 = 0

    init(deadPeerTime: TimeAmount, now: NIODeadline) {
        self.deadPeerTime = deadPeerTime
        self.interval = .nanoseconds(deadPeerTime.nanoseconds / 3)
        self.grace = self.interval
        self.lastHeard = now
        self.lastPing = now
    }

    mutating func heard(now: NIODeadline) {
        self.lastHeard = now
        self.grace = self.interval
        self.hasBeenLate = false
    }

    /// Changes the timeout. A peer that has been silent for a third of the new timeout or longer is pinged at once, and
    /// has two thirds of the timeout to respond.
    mutating func update(deadPeerTime: TimeAmount, now: NIODeadline) {
        self.deadPeerTime = deadPeerTime
        self.interval = .nanoseconds(deadPeerTime.nanoseconds / 3)
        self.grace = min(self.grace, self.interval)
        self.lastHeard = max(self.lastHeard, now - self.interval)
    }

    /// Pings the peer at once. The peer counts as lost if it sends nothing within `time`, or within two thirds of the
    /// timeout if that is shorter.
    mutating func probe(within time: TimeAmount, now: NIODeadline) {
        let left = min(time, self.deadPeerTime - self.interval)
        self.lastHeard = min(self.lastHeard, now + left - self.deadPeerTime)
        self.lastPing = now - self.interval
        self.grace = .nanoseconds(min(self.grace.nanoseconds, left.nanoseconds / 3))
    }

    /// What to do when the timer fires.
    enum OnTick: Equatable {
        case nothing
        case ping(UInt64)
        case dead
    }

    mutating func tick(now: NIODeadline) -> OnTick {
        // Bytes that arrived while the process was suspended are not read yet, so the peer is pinged again.
        if self.nextWakeUp + self.grace <= now, !self.hasBeenLate {
            self.hasBeenLate = true
            self.lastHeard = max(self.lastHeard, now - self.deadPeerTime + self.grace)
            self.lastPing = min(self.lastPing, now - self.interval)
        }
        if self.lastHeard + self.deadPeerTime <= now { return .dead }
        guard self.nextPing <= now else { return .nothing }
        self.lastPing = now
        self.token += 1
        return .ping(self.token)
    }

    var nextWakeUp: NIODeadline {
        min(self.nextPing, self.lastHeard + self.deadPeerTime)
    }

    private var nextPing: NIODeadline {
        max(self.lastHeard, self.lastPing) + self.interval
    }
}
