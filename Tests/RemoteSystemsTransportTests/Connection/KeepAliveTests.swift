// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

@Suite struct KeepAliveTests {
    private var keepAlive = KeepAlive(deadPeerTime: .seconds(15), now: .at(0))

    @Test mutating func `a third of the dead-peer time in silence asks for a ping, two thirds for another`() {
        #expect(self.keepAlive.tick(now: .at(4_999)) == .nothing)
        #expect(self.keepAlive.tick(now: .at(5_000)) == .ping(1))
        #expect(self.keepAlive.tick(now: .at(9_999)) == .nothing)
        #expect(self.keepAlive.tick(now: .at(10_000)) == .ping(2))
    }

    @Test mutating func `silence for the whole time means that the peer is gone`() {
        #expect(self.keepAlive.tick(now: .at(14_999)) == .ping(1))
        #expect(self.keepAlive.tick(now: .at(15_000)) == .dead)
    }

    @Test mutating func `anything heard starts the time anew`() {
        #expect(self.keepAlive.tick(now: .at(5_000)) == .ping(1))
        self.keepAlive.heard(now: .at(14_000))
        #expect(self.keepAlive.tick(now: .at(15_000)) == .nothing)
        #expect(self.keepAlive.tick(now: .at(19_000)) == .ping(2))
        #expect(self.keepAlive.tick(now: .at(29_000)) == .dead)
    }

    @Test mutating func `the next wake-up is when something is due, never earlier than needed`() {
        #expect(self.keepAlive.nextWakeUp == .at(5_000))
        _ = self.keepAlive.tick(now: .at(5_000))
        #expect(self.keepAlive.nextWakeUp == .at(10_000))
        _ = self.keepAlive.tick(now: .at(10_000))
        #expect(self.keepAlive.nextWakeUp == .at(15_000))
    }
}
