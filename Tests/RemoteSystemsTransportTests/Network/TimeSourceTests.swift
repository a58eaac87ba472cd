// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import RemoteSystemsTransport
import Testing

@Suite struct TimeSourceTests {
    @Test func `the time of a thread grows with its work`() {
        let time = TimeSource(manual: nil)
        let start = time.threadTime
        #expect(start > .zero)
        // The clock of threads may count in steps of several milliseconds.
        let end = ContinuousClock.now + .seconds(60)
        while time.threadTime - start < .milliseconds(20), .now < end {}
        #expect(time.threadTime - start >= .milliseconds(20))
    }

    @Test func `the time of a thread does not grow while it waits`() {
        let time = TimeSource(manual: nil)
        let start = time.threadTime
        // Blocks the thread itself: a suspended task may continue on another one.
        usleep(200_000)
        #expect(time.threadTime - start < .milliseconds(100))
    }

    @Test func `work takes no time by a clock that a test advances`() {
        let clock = ManualClock()
        let time = TimeSource(manual: clock)
        #expect(time.threadTime == .zero)
        clock.advance(by: .seconds(10))
        #expect(time.threadTime == .zero)
    }
}
