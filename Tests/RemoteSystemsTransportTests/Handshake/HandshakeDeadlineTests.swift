// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

@Suite struct HandshakeDeadlineTests {
    private var deadline = HandshakeDeadline(.at(1_000), now: .at(0))

    @Test(arguments: [1_000, 1_001, 1_250]) func `an handshake is over when its time is`(now: Int64) {
        var deadline = self.deadline
        #expect(deadline.timerWentOff(now: .at(now)) == .giveUp)
    }

    @Test mutating func `a process that stood still gives the peer the time that was lost`() {
        #expect(self.deadline.timerWentOff(now: .at(1_400)) == .wait)
        #expect(self.deadline.time == .at(1_800))
        #expect(self.deadline.timerWentOff(now: .at(1_800)) == .giveUp)
    }

    @Test mutating func `but only once, however often it stands still, and no more than the peer had`() {
        #expect(self.deadline.timerWentOff(now: .at(5_000)) == .wait)
        #expect(self.deadline.time == .at(6_000))
        #expect(self.deadline.timerWentOff(now: .at(60_000)) == .giveUp)
    }

    @Test mutating func `a peer that has proved who it is has the time that is added`() {
        self.deadline.extend(by: .seconds(4))
        #expect(self.deadline.time == .at(5_000))
        #expect(self.deadline.timerWentOff(now: .at(4_999)) == .wait)
        #expect(self.deadline.timerWentOff(now: .at(5_000)) == .giveUp)
    }

    /// As when connecting took all of it.
    @Test func `an handshake with no time left is over`() {
        var deadline = HandshakeDeadline(.at(1_000), now: .at(1_100))
        #expect(deadline.timerWentOff(now: .at(1_100)) == .wait)
        #expect(deadline.timerWentOff(now: .at(1_100)) == .giveUp)
    }
}
