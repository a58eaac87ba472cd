// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

/// Which connections of strangers get a place on the port of an introduction.
@Suite struct IntroductionSlotsTests {
    private static func peer(_ number: Int) -> PeerKey { PeerKey(transport: .ip, [UInt8(number)]) }

    /// Slots that one peer has filled.
    private static func filled() -> (IntroductionSlots, [IntroductionSlots.ID]) {
        var slots = IntroductionSlots()
        let ids = (1...IntroductionSlots.maxConnectionsPerPeer).compactMap { _ -> IntroductionSlots.ID? in
            if case .entered(let id) = slots.enter(Self.peer(1)) { id } else { nil }
        }
        return (slots, ids)
    }

    private static func replaced(_ entry: IntroductionSlots.Entry) -> IntroductionSlots.ID? {
        if case .replaced(let id, _) = entry { id } else { nil }
    }

    @Test func `a peer's ninth connection replaces its oldest silent one`() {
        var (slots, ids) = Self.filled()
        #expect(ids.count == 8)
        slots.advance(ids[0], to: .speaking)
        #expect(Self.replaced(slots.enter(Self.peer(1))) == ids[1])
        #expect(Self.replaced(slots.enter(Self.peer(1))) == ids[2])
        #expect(slots.count == 8)
    }

    @Test func `another peer's connection replaces none while there is a place`() {
        var (slots, _) = Self.filled()
        guard case .entered = slots.enter(Self.peer(2)) else {
            Issue.record("it was not admitted")
            return
        }
    }

    @Test func `the connection that has shown least is replaced first`() {
        var (slots, ids) = Self.filled()
        for id in ids { slots.advance(id, to: .greeted) }
        slots.advance(ids[3], to: .proven)
        let newcomer = slots.enter(Self.peer(1))
        #expect(Self.replaced(newcomer) == ids[0])
        guard case .replaced(_, let id) = newcomer else { return }
        #expect(Self.replaced(slots.enter(Self.peer(1))) == id)
    }

    @Test func `a connection that has proven something keeps its place`() {
        var (slots, ids) = Self.filled()
        for id in ids { slots.advance(id, to: .proven) }
        #expect(slots.enter(Self.peer(1)) == .refused)
        slots.leave(ids[0])
        #expect(slots.enter(Self.peer(1)) != .refused)
    }

    @Test func `a stage is never lost`() {
        var (slots, ids) = Self.filled()
        slots.advance(ids[0], to: .proven)
        slots.advance(ids[0], to: .speaking)
        for id in ids.dropFirst() { slots.advance(id, to: .greeted) }
        #expect(Self.replaced(slots.enter(Self.peer(1))) == ids[1])
    }

    @Test func `a peer that gave a wrong proof displaces only peers that gave one`() {
        var slots = IntroductionSlots()
        slots.distrust(Self.peer(200))
        let ids = (0..<IntroductionSlots.maxConnections).compactMap { number -> IntroductionSlots.ID? in
            if case .entered(let id) = slots.enter(Self.peer(number)) { id } else { nil }
        }
        #expect(slots.enter(Self.peer(200)) == .refused)
        slots.distrust(Self.peer(5))
        #expect(Self.replaced(slots.enter(Self.peer(200))) == ids[5])
        // Other peers displace as before.
        #expect(Self.replaced(slots.enter(Self.peer(100))) == ids[0])
        // While there is a place, it gets one.
        slots.leave(ids[1])
        guard case .entered = slots.enter(Self.peer(200)) else {
            Issue.record("it was not admitted")
            return
        }
    }

    @Test func `a bounded number of peers that gave a wrong proof is remembered`() {
        var slots = IntroductionSlots()
        for number in 0...IntroductionSlots.maxDistrusted { slots.distrust(Self.peer(100 + number)) }
        for number in 0..<IntroductionSlots.maxConnections { _ = slots.enter(Self.peer(number)) }
        #expect(slots.enter(Self.peer(101)) == .refused)
        #expect(Self.replaced(slots.enter(Self.peer(100))) != nil)
    }

    @Test func `the thirty-third connection of many peers replaces the oldest silent one`() {
        var slots = IntroductionSlots()
        var first: IntroductionSlots.ID?
        for number in 0..<IntroductionSlots.maxConnections {
            if case .entered(let id) = slots.enter(Self.peer(number)), first == nil { first = id }
        }
        #expect(slots.count == 32)
        #expect(Self.replaced(slots.enter(Self.peer(100))) == first)
        #expect(slots.count == 32)
    }
}
