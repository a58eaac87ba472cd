// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Notices that a peer has fallen silent. TCP alone would take many minutes.
///
/// After a third of the dead-peer time without a byte from the peer a ping goes out, and again after two thirds;
/// silence for the whole of it means that the peer is gone.
struct KeepAlive {
    private let deadPeerTime: TimeAmount
    private let interval: TimeAmount
    private var lastHeard: NIODeadline
    private var lastPing: NIODeadline
    private var token: UInt64 = 0

    init(deadPeerTime: TimeAmount, now: NIODeadline) {
        self.deadPeerTime = deadPeerTime
        self.interval = .nanoseconds(deadPeerTime.nanoseconds / 3)
        self.lastHeard = now
        self.lastPing = now
    }

    mutating func heard(now: NIODeadline) {
        self.lastHeard = now
    }

    enum OnTick: Equatable {
        case nothing
        case ping(UInt64)
        case dead
    }

    mutating func tick(now: NIODeadline) -> OnTick {
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
