// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

@Suite struct KeepAliveTests {
    private var keepAlive = KeepAlive(deadPeerTime: .seconds(15), now: .at(0))

    @Test mutating func `silence for one third of the dead-peer timeout causes a ping, and for two thirds another`() {
        #expect(self.keepAlive.tick(now: .at(4_999)) == .nothing)
        #expect(self.keepAlive.tick(now: .at(5_000)) == .ping(1))
        #expect(self.keepAlive.tick(now: .at(9_999)) == .nothing)
        #expect(self.keepAlive.tick(now: .at(10_000)) == .ping(2))
    }

    @Test mutating func `silence for the whole timeout means that the peer is gone`() {
        _ = self.keepAlive.tick(now: .at(5_000))
        _ = self.keepAlive.tick(now: .at(10_000))
        #expect(self.keepAlive.tick(now: .at(14_999)) == .nothing)
        #expect(self.keepAlive.tick(now: .at(15_000)) == .dead)
    }

    @Test(arguments: [0, 1, 2]) func `a process that was suspended sends a ping before it considers the peer dead`(
        pings: Int
    ) {
        var keepAlive = self.keepAlive
        for number in 0..<pings { _ = keepAlive.tick(now: .at(5_000 * Int64(number + 1))) }
        #expect(keepAlive.tick(now: .at(100_000)) == .ping(UInt64(pings) + 1))
        #expect(keepAlive.tick(now: .at(104_999)) == .nothing)
        #expect(keepAlive.tick(now: .at(105_000)) == .dead)
    }

    @Test mutating func `a shorter timeout applies at once, and leaves the peer two thirds of it to respond`() {
        _ = self.keepAlive.tick(now: .at(5_000))
        self.keepAlive.update(deadPeerTime: .seconds(3), now: .at(9_000))
        #expect(self.keepAlive.tick(now: .at(9_000)) == .ping(2))
        #expect(self.keepAlive.tick(now: .at(10_000)) == .ping(3))
        #expect(self.keepAlive.tick(now: .at(10_999)) == .nothing)
        #expect(self.keepAlive.tick(now: .at(11_000)) == .dead)
    }

    @Test mutating func `a longer timeout counts from the last data received`() {
        _ = self.keepAlive.tick(now: .at(5_000))
        self.keepAlive.update(deadPeerTime: .seconds(30), now: .at(6_000))
        #expect(self.keepAlive.tick(now: .at(14_999)) == .nothing)
        #expect(self.keepAlive.tick(now: .at(15_000)) == .ping(2))
        #expect(self.keepAlive.tick(now: .at(25_000)) == .ping(3))
        #expect(self.keepAlive.tick(now: .at(29_999)) == .nothing)
        #expect(self.keepAlive.tick(now: .at(30_000)) == .dead)
    }

    @Test mutating func `any data received restarts the timeout`() {
        #expect(self.keepAlive.tick(now: .at(5_000)) == .ping(1))
        self.keepAlive.heard(now: .at(14_000))
        #expect(self.keepAlive.tick(now: .at(15_000)) == .nothing)
        #expect(self.keepAlive.tick(now: .at(19_000)) == .ping(2))
        #expect(self.keepAlive.tick(now: .at(24_000)) == .ping(3))
        #expect(self.keepAlive.tick(now: .at(29_000)) == .dead)
    }

    @Test mutating func `the next wake-up is when something is due, never earlier than needed`() {
        #expect(self.keepAlive.nextWakeUp == .at(5_000))
        _ = self.keepAlive.tick(now: .at(5_000))
        #expect(self.keepAlive.nextWakeUp == .at(10_000))
        _ = self.keepAlive.tick(now: .at(10_000))
        #expect(self.keepAlive.nextWakeUp == .at(15_000))
    }

    @Test mutating func `a probe sends a ping at once, and waits no longer than its timeout`() {
        self.keepAlive.heard(now: .at(101_000))
        self.keepAlive.probe(within: .seconds(1), now: .at(102_000))
        #expect(self.keepAlive.nextWakeUp == .at(102_000))
        #expect(self.keepAlive.tick(now: .at(102_000)) == .ping(1))
        #expect(self.keepAlive.nextWakeUp == .at(103_000))
        #expect(self.keepAlive.tick(now: .at(103_000)) == .dead)
    }

    @Test mutating func `a process that was suspended during a probe sends one more ping`() {
        self.keepAlive.heard(now: .at(101_000))
        self.keepAlive.probe(within: .seconds(1), now: .at(102_000))
        #expect(self.keepAlive.tick(now: .at(102_000)) == .ping(1))
        #expect(self.keepAlive.tick(now: .at(103_400)) == .ping(2))
        #expect(self.keepAlive.tick(now: .at(103_733)) == .nothing)
        #expect(self.keepAlive.tick(now: .at(103_734)) == .dead)
    }

    @Test mutating func `a process that was suspended before its probe's ping sends it first, and waits as long`() {
        self.keepAlive.heard(now: .at(101_000))
        self.keepAlive.probe(within: .seconds(1), now: .at(102_000))
        #expect(self.keepAlive.tick(now: .at(110_000)) == .ping(1))
        #expect(self.keepAlive.tick(now: .at(110_999)) == .nothing)
        #expect(self.keepAlive.tick(now: .at(111_000)) == .dead)
    }

    // MARK: Lost time

    @Test mutating func `the peer gets the time again that this process lost before a ping`() {
        #expect(self.keepAlive.tick(now: .at(9_000)) == .ping(1))
        #expect(self.keepAlive.nextWakeUp == .at(14_000))
        #expect(self.keepAlive.tick(now: .at(17_000)) == .ping(2))
        // 15 s of silence, and the 4 s and 3 s that were lost.
        #expect(self.keepAlive.tick(now: .at(21_999)) == .nothing)
        #expect(self.keepAlive.tick(now: .at(22_000)) == .dead)
    }

    @Test mutating func `a tick that is late when the timeout elapses sends a ping, and waits as long again`() {
        _ = self.keepAlive.tick(now: .at(5_000))
        _ = self.keepAlive.tick(now: .at(10_000))
        #expect(self.keepAlive.tick(now: .at(17_000)) == .ping(3))
        #expect(self.keepAlive.tick(now: .at(18_999)) == .nothing)
        #expect(self.keepAlive.tick(now: .at(19_000)) == .dead)
    }

    @Test mutating func `bytes that are read after a late tick restart the timeout`() {
        _ = self.keepAlive.tick(now: .at(5_000))
        _ = self.keepAlive.tick(now: .at(10_000))
        #expect(self.keepAlive.tick(now: .at(17_000)) == .ping(3))
        self.keepAlive.heard(now: .at(17_001))
        #expect(self.keepAlive.tick(now: .at(22_001)) == .ping(4))
        #expect(self.keepAlive.tick(now: .at(27_001)) == .ping(5))
        // The lost time of the next silence counts from nothing.
        #expect(self.keepAlive.tick(now: .at(34_001)) == .ping(6))
        #expect(self.keepAlive.tick(now: .at(36_001)) == .dead)
    }

    @Test mutating func `a tick that is late by a quarter of the interval, or less, gives no time`() {
        #expect(self.keepAlive.tick(now: .at(6_250)) == .ping(1))
        #expect(self.keepAlive.tick(now: .at(11_251)) == .ping(2))
        #expect(self.keepAlive.tick(now: .at(16_250)) == .dead)
    }

    /// Suspended for 4 s before each tick.
    @Test mutating func `in one silence a peer gets no more time than the timeout, and one more ping`() {
        var now: Int64 = 0
        var result = KeepAlive.OnTick.nothing
        while result != .dead, now < 1_000_000 {
            now = Int64(self.keepAlive.nextWakeUp.uptimeNanoseconds / 1_000_000) + 4_000
            result = self.keepAlive.tick(now: .at(now))
        }
        // The timeout, as much again, the last ping's third, and the last delay.
        #expect(result == .dead)
        #expect(now <= 15_000 + 15_000 + 5_000 + 4_000)
    }

    @Test mutating func `a silent peer is considered dead even if the process is suspended repeatedly`() {
        #expect(self.keepAlive.tick(now: .at(100_000)) == .ping(1))
        #expect(self.keepAlive.tick(now: .at(200_000)) == .dead)
        self.keepAlive.heard(now: .at(201_000))
        #expect(self.keepAlive.tick(now: .at(300_000)) == .ping(2))
    }

    @Test mutating func `a response ends the probe`() {
        self.keepAlive.heard(now: .at(101_000))
        self.keepAlive.probe(within: .seconds(1), now: .at(102_000))
        _ = self.keepAlive.tick(now: .at(102_000))
        self.keepAlive.heard(now: .at(102_100))
        #expect(self.keepAlive.tick(now: .at(103_000)) == .nothing)
        #expect(self.keepAlive.nextWakeUp == .at(107_100))
    }

    @Test mutating func `a probe never extends the timeout`() {
        self.keepAlive.heard(now: .at(100_000))
        self.keepAlive.probe(within: .seconds(60), now: .at(102_000))
        #expect(self.keepAlive.tick(now: .at(102_000)) == .ping(1))
        #expect(self.keepAlive.tick(now: .at(107_000)) == .ping(2))
        #expect(self.keepAlive.tick(now: .at(112_000)) == .dead)
    }
}
