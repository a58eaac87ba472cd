// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Detects a silent peer. TCP alone would take many minutes.
///
/// A ping is sent after a third of the timeout without a byte from the peer, and again after two thirds. The peer
/// counts as lost when the timeout elapses.
///
/// A tick that is late shows that this process was suspended or overloaded, and could not read meanwhile. The peer gets
/// the lost time again: during one silence, at most as much as the timeout.
struct KeepAlive {
    private(set) var deadPeerTime: TimeAmount
    private var interval: TimeAmount
    private var lastHeard: NIODeadline
    private var lastPing: NIODeadline
    /// The maximum time that the peer gets to respond to a ping after a late tick at which it would count as lost. A
    /// tick is late after a quarter of it. Shorter while a probe is pending.
    private var grace: TimeAmount
    /// Whether the grace was used since the peer last sent something. It is used once, so that repeatedly late ticks
    /// cannot keep the connection to a lost peer open.
    private var hasUsedGrace = false
    /// The lost time that the peer got again since it last sent something.
    private var givenBack = TimeAmount.zero
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
        self.hasUsedGrace = false
        self.givenBack = .zero
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
        self.giveBack(now - self.nextWakeUp, now: now)
        if self.lastHeard + self.deadPeerTime <= now { return .dead }
        guard self.nextPing <= now else { return .nothing }
        self.lastPing = now
        self.token += 1
        return .ping(self.token)
    }

    /// Gives the peer the time again by which a tick is late.
    private mutating func giveBack(_ late: TimeAmount, now: NIODeadline) {
        guard late > .nanoseconds(self.grace.nanoseconds / 4) else { return }
        let given = max(min(late, self.deadPeerTime - self.givenBack), .zero)
        self.givenBack = self.givenBack + given
        self.lastHeard = self.lastHeard + given
        // Bytes that arrived meanwhile are not read yet, so a peer that would count as lost is pinged again.
        let grace = min(late, self.grace)
        guard self.lastHeard + self.deadPeerTime < now + grace, !self.hasUsedGrace else { return }
        self.hasUsedGrace = true
        self.lastHeard = now + (grace - self.deadPeerTime)
        self.lastPing = min(self.lastPing, now - self.interval)
    }

    var nextWakeUp: NIODeadline {
        min(self.nextPing, self.lastHeard + self.deadPeerTime)
    }

    private var nextPing: NIODeadline {
        max(self.lastHeard, self.lastPing) + self.interval
    }
}
