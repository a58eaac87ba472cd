// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTesting

@Suite struct LaneTests {
    private static func bytes(_ count: Int) -> Lane.Piece { .bytes(ByteBuffer(repeating: 7, count: count)) }

    @Test func `bytes arrive at once, in order, with the end last`() {
        var lane = Lane()
        lane.send(Self.bytes(3), now: .zero)
        lane.send(.end, now: .zero)
        lane.send(Self.bytes(1), now: .zero)
        #expect(lane.bytes == 3)
        #expect(lane.pump(now: .zero, LinkConditions()) == .deliver(Self.bytes(3)))
        #expect(lane.pump(now: .zero, LinkConditions()) == .deliver(.end))
        #expect(lane.pump(now: .zero, LinkConditions()) == .nothing)
        #expect(lane.bytes == 0)
    }

    @Test func `delayed bytes arrive at their time`() {
        var lane = Lane()
        lane.send(Self.bytes(3), now: .seconds(1))
        let conditions = LinkConditions(latency: .seconds(2))
        #expect(lane.pump(now: .seconds(1), conditions) == .wait(until: .seconds(3)))
        #expect(lane.pump(now: .seconds(3), conditions) == .deliver(Self.bytes(3)))
    }

    @Test func `a slow link delivers no more per second than its rate`() {
        var lane = Lane()
        let conditions = LinkConditions(bytesPerSecond: 100)
        lane.send(Self.bytes(250), now: .zero)
        var now = Duration.zero
        var arrived: [Duration: Int] = [:]
        for _ in 0..<100 {
            switch lane.pump(now: now, conditions) {
            case .nothing: break
            case .wait(let until): now = until
            case .deliver(.bytes(let buffer)): arrived[now, default: 0] += buffer.readableBytes
            case .deliver: Issue.record("nothing else was sent")
            }
        }
        #expect(arrived.values.reduce(0, +) == 250)
        #expect(now == .milliseconds(2500))
        #expect(arrived.filter { $0.key <= .seconds(1) }.values.reduce(0, +) == 100)
    }

    @Test func `bytes sent during a silence arrive after it`() {
        var lane = Lane()
        lane.send(Self.bytes(3), now: .zero)
        #expect(lane.pump(now: .seconds(9), LinkConditions(isSilent: true)) == .nothing)
        #expect(lane.pump(now: .seconds(9), LinkConditions()) == .deliver(Self.bytes(3)))
    }

    @Test func `a fault changes one bit, or cuts, at the given byte`() {
        var faults = LinkFaults(cut: 5, corruption: 4)
        var first = ByteBuffer(bytes: [0, 0, 0])
        #expect(faults.pass(&first) == .pass)
        #expect(Array(first.readableBytesView) == [0, 0, 0])
        var second = ByteBuffer(bytes: [0, 0, 0])
        #expect(faults.pass(&second) == .cut(after: 2))
        #expect(Array(second.readableBytesView) == [0, 1, 0])
        var third = ByteBuffer(bytes: [0])
        #expect(faults.pass(&third) == .pass)
    }
}
