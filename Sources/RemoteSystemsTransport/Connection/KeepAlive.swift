// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Notices that a peer has fallen silent. TCP alone would take many minutes.
///
/// After a third of the dead-peer time without a byte from the peer a ping goes out, and again after two thirds;
/// silence for the whole of it means that the peer is gone.
struct KeepAlive {
    private(set) var deadPeerTime: TimeAmount
    private var interval: TimeAmount
    private var lastHeard: NIODeadline
    private var lastPing: NIODeadline
    /// This late, the process itself has stood still, and the peer has as long again: less while it is in doubt.
    private var grace: TimeAmount
    /// Once in each silence: ticks that are late again and again must not keep a dead peer alive.
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

    /// Changes how long silence may last. A peer that has been silent for most of a shorter time is asked at once, and
    /// has two thirds of that time to answer.
    mutating func update(deadPeerTime: TimeAmount, now: NIODeadline) {
        self.deadPeerTime = deadPeerTime
        self.interval = .nanoseconds(deadPeerTime.nanoseconds / 3)
        self.grace = min(self.grace, self.interval)
        self.lastHeard = max(self.lastHeard, now - self.interval)
    }

    /// The peer may be gone: it is asked at once, and has no more than this to answer.
    mutating func probe(within time: TimeAmount, now: NIODeadline) {
        let left = min(time, self.deadPeerTime - self.interval)
        self.lastHeard = min(self.lastHeard, now + left - self.deadPeerTime)
        self.lastPing = now - self.interval
        self.grace = .nanoseconds(min(self.grace.nanoseconds, left.nanoseconds / 3))
    }

    enum OnTick: Equatable {
        case nothing
        case ping(UInt64)
        case dead
    }

    mutating func tick(now: NIODeadline) -> OnTick {
        // What the peer said meanwhile is not read yet: ask again.
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
