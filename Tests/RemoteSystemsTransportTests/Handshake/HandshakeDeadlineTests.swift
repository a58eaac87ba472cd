// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

@Suite struct HandshakeDeadlineTests {
    private var deadline = HandshakeDeadline(.at(1_000), now: .at(0))

    @Test(arguments: [1_000, 1_001, 1_250]) func `a handshake ends at its deadline`(now: Int64) {
        var deadline = self.deadline
        #expect(deadline.timerWentOff(now: .at(now)) == .giveUp)
    }

    @Test mutating func `after our process was suspended the peer gets the lost time again`() {
        #expect(self.deadline.timerWentOff(now: .at(1_400)) == .wait)
        #expect(self.deadline.time == .at(1_800))
        #expect(self.deadline.timerWentOff(now: .at(1_800)) == .giveUp)
    }

    @Test mutating func `the extra time is granted once, and is no longer than the original`() {
        #expect(self.deadline.timerWentOff(now: .at(5_000)) == .wait)
        #expect(self.deadline.time == .at(6_000))
        #expect(self.deadline.timerWentOff(now: .at(60_000)) == .giveUp)
    }

    @Test mutating func `an authenticated peer gets the additional time`() {
        self.deadline.extend(by: .seconds(4))
        #expect(self.deadline.time == .at(5_000))
        #expect(self.deadline.timerWentOff(now: .at(4_999)) == .wait)
        #expect(self.deadline.timerWentOff(now: .at(5_000)) == .giveUp)
    }

    /// The case in which connecting used all of it.
    @Test func `a handshake with no time left has ended`() {
        var deadline = HandshakeDeadline(.at(1_000), now: .at(1_100))
        #expect(deadline.timerWentOff(now: .at(1_100)) == .wait)
        #expect(deadline.timerWentOff(now: .at(1_100)) == .giveUp)
    }
}
