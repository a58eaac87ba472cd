// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

@Suite struct OpeningDeadlineTests {
    private var deadline = OpeningDeadline(.at(1_000), now: .at(0))

    @Test(arguments: [1_000, 1_001, 1_250]) func `an opening is over when its time is`(now: Int64) {
        var deadline = self.deadline
        #expect(deadline.isOver(now: .at(now)) == true)
    }

    @Test mutating func `a process that stood still gives the peer its time once more`() {
        #expect(self.deadline.isOver(now: .at(1_251)) == false)
        #expect(self.deadline.time == .at(2_251))
        #expect(self.deadline.isOver(now: .at(2_251)) == true)
    }

    @Test mutating func `but only once, however often it stands still`() {
        #expect(self.deadline.isOver(now: .at(5_000)) == false)
        #expect(self.deadline.isOver(now: .at(60_000)) == true)
    }

    @Test mutating func `a peer that has proved who it is has the time that is added`() {
        self.deadline.extend(by: .seconds(4))
        #expect(self.deadline.time == .at(5_000))
        #expect(self.deadline.isOver(now: .at(4_999)) == false)
        #expect(self.deadline.isOver(now: .at(5_000)) == true)
    }
}
