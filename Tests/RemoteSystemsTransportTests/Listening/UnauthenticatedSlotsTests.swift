// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

/// Which connections get a place on a port before their peers are authenticated.
@Suite struct UnauthenticatedSlotsTests {
    private static let start = UnauthenticatedSlots.Instant.now

    /// A time, in milliseconds after the start.
    private static func at(_ milliseconds: Int) -> UnauthenticatedSlots.Instant {
        Self.start + .milliseconds(milliseconds)
    }

    private static func peer(_ number: Int) -> PeerKey {
        PeerKey(transport: .ip, [UInt8(number / 256), UInt8(number % 256)])
    }

    /// Slots that are all taken since the start.
    private static func filled(by peer: (Int) -> Int) -> (UnauthenticatedSlots, [UnauthenticatedSlots.ID]) {
        var slots = UnauthenticatedSlots()
        let ids = (0..<UnauthenticatedSlots.maxConnections).compactMap { number -> UnauthenticatedSlots.ID? in
            if case .entered(let id) = slots.enter(Self.peer(peer(number)), at: Self.start) { id } else { nil }
        }
        return (slots, ids)
    }

    private static func replaced(_ entry: UnauthenticatedSlots.Entry) -> UnauthenticatedSlots.ID? {
        if case .replaced(let id, _) = entry { id } else { nil }
    }

    @Test func `while there is a place, a connection replaces none`() {
        var (slots, ids) = Self.filled { _ in 1 }
        #expect(ids.count == UnauthenticatedSlots.maxConnections)
        slots.leave(ids[0])
        guard case .entered = slots.enter(Self.peer(1), at: Self.at(10_000)) else {
            Issue.record("It replaced another one, or was refused.")
            return
        }
        #expect(slots.count == UnauthenticatedSlots.maxConnections)
    }

    @Test func `a silent connection keeps its place for a tenth of a second`() {
        var (slots, ids) = Self.filled { $0 }
        #expect(slots.enter(Self.peer(1000), at: Self.at(99)) == .refused)
        #expect(Self.replaced(slots.enter(Self.peer(1000), at: Self.at(100))) == ids[0])
        #expect(Self.replaced(slots.enter(Self.peer(1001), at: Self.at(100))) == ids[1])
        #expect(slots.count == UnauthenticatedSlots.maxConnections)
    }

    @Test(arguments: [UnauthenticatedSlots.Stage.speaking, .greeted])
    func `a connection that has begun keeps its place for half a second, and no longer`(
        stage: UnauthenticatedSlots.Stage
    ) {
        var (slots, ids) = Self.filled { $0 }
        for id in ids { slots.advance(id, to: stage) }
        #expect(slots.enter(Self.peer(1000), at: Self.at(499)) == .refused)
        #expect(Self.replaced(slots.enter(Self.peer(1000), at: Self.at(500))) == ids[0])
        #expect(slots.enter(Self.peer(1000), at: Self.at(500)) != .refused)
    }

    @Test func `silent connections are replaced first, then the oldest one, whatever it has sent`() {
        var (slots, ids) = Self.filled { $0 }
        slots.advance(ids[0], to: .greeted)
        slots.advance(ids[1], to: .speaking)
        for id in ids.dropFirst(3) { slots.advance(id, to: .speaking) }
        let order = (0..<3).map { Self.replaced(slots.enter(Self.peer(1000 + $0), at: Self.at(600))) }
        #expect(order == [ids[2], ids[0], ids[1]])
    }

    @Test func `a connection that has proven something keeps its place`() {
        var (slots, ids) = Self.filled { $0 }
        for id in ids { slots.advance(id, to: .proven) }
        #expect(slots.enter(Self.peer(1000), at: Self.at(10_000)) == .refused)
        slots.leave(ids[0])
        #expect(slots.enter(Self.peer(1000), at: Self.at(10_000)) != .refused)
    }

    @Test func `a stage is never lost`() {
        var (slots, ids) = Self.filled { $0 }
        slots.advance(ids[0], to: .proven)
        slots.advance(ids[0], to: .speaking)
        for id in ids.dropFirst() { slots.advance(id, to: .greeted) }
        #expect(Self.replaced(slots.enter(Self.peer(1000), at: Self.at(10_000))) == ids[1])
    }

    // MARK: Peer keys

    @Test func `other peers replace the connections of a peer beyond its share at any time, the oldest first`() {
        var (slots, ids) = Self.filled { _ in 1 }
        let excess = UnauthenticatedSlots.maxConnections - UnauthenticatedSlots.share
        for number in 0..<excess {
            #expect(Self.replaced(slots.enter(Self.peer(1000 + number), at: Self.start)) == ids[number])
        }
        // Its share is guaranteed as that of any other peer.
        #expect(slots.enter(Self.peer(2000), at: Self.at(99)) == .refused)
    }

    @Test func `a peer that has its share replaces none of a peer that has less`() throws {
        var slots = UnauthenticatedSlots()
        let first = slots.enter(Self.peer(2), at: Self.start)
        let other = try #require(Self.entered(first))
        var ids: [UnauthenticatedSlots.ID] = []
        for _ in 1..<UnauthenticatedSlots.maxConnections {
            if case .entered(let id) = slots.enter(Self.peer(1), at: Self.start) { ids.append(id) }
        }
        #expect(ids.count == UnauthenticatedSlots.maxConnections - 1)
        // The other peer's connection is the oldest one.
        for round in 1...10 {
            for _ in ids {
                let entry = slots.enter(Self.peer(1), at: Self.at(100 * round))
                let replaced = try #require(Self.replaced(entry))
                #expect(replaced != other)
            }
            // Only the other peer's connection is beyond its guaranteed time.
            #expect(slots.enter(Self.peer(1), at: Self.at(100 * round)) == .refused)
        }
    }

    // MARK: Known peers

    /// Slots whose common places are all taken by strangers, which have sent a byte.
    private static func flooded() -> (UnauthenticatedSlots, [UnauthenticatedSlots.ID]) {
        var (slots, ids) = Self.filled { $0 }
        for id in ids { slots.advance(id, to: .speaking) }
        return (slots, ids)
    }

    private static func entered(_ entry: UnauthenticatedSlots.Entry) -> UnauthenticatedSlots.ID? {
        if case .entered(let id) = entry { id } else { nil }
    }

    @Test func `strangers that fill the port leave places for known peers`() {
        var (slots, _) = Self.flooded()
        #expect(slots.enter(Self.peer(1000), at: Self.start) == .refused)
        for number in 0..<UnauthenticatedSlots.maxKnownConnections {
            #expect(Self.entered(slots.enter(Self.peer(2000 + number), isKnown: true, at: Self.start)) != nil)
        }
        #expect(slots.enter(Self.peer(3000), isKnown: true, at: Self.start) == .refused)
        #expect(slots.count == UnauthenticatedSlots.maxConnections + UnauthenticatedSlots.maxKnownConnections)
    }

    @Test func `no stranger replaces a connection in the places for known peers, whatever its age`() {
        var (slots, _) = Self.flooded()
        let known = Self.entered(slots.enter(Self.peer(2000), isKnown: true, at: Self.start))
        #expect(known != nil)
        for number in 0..<1000 {
            #expect(Self.replaced(slots.enter(Self.peer(3000 + number), at: Self.at(600 + 10 * number))) != known)
        }
    }

    @Test func `a known peer also gets the common places, and replaces a stranger before another known peer`() {
        var (slots, strangers) = Self.flooded()
        var known: [UnauthenticatedSlots.ID?] = []
        for number in 0..<UnauthenticatedSlots.maxKnownConnections {
            known.append(Self.entered(slots.enter(Self.peer(2000 + number), isKnown: true, at: Self.start)))
        }
        slots.leave(strangers[0])
        let further = Self.entered(slots.enter(Self.peer(3000), isKnown: true, at: Self.start))
        #expect(further != nil)
        if let further { slots.advance(further, to: .speaking) }
        // The time of all is over now.
        #expect(Self.replaced(slots.enter(Self.peer(3001), isKnown: true, at: Self.at(500))) == strangers[1])
        // Without a stranger whose time is over, the oldest known one is replaced.
        for number in 0..<UnauthenticatedSlots.maxConnections {
            _ = slots.enter(Self.peer(4000 + number), at: Self.at(500))
        }
        #expect(Self.replaced(slots.enter(Self.peer(3002), isKnown: true, at: Self.at(500))) == known[0])
    }

    @Test func `a known peer replaces the connections of another one beyond its share at any time`() {
        var (slots, _) = Self.flooded()
        let ids = (0..<UnauthenticatedSlots.maxKnownConnections).map { _ in
            Self.entered(slots.enter(Self.peer(2000), isKnown: true, at: Self.start))
        }
        let excess = UnauthenticatedSlots.maxKnownConnections - UnauthenticatedSlots.knownShare
        for number in 0..<excess {
            let entry = slots.enter(Self.peer(3000 + number), isKnown: true, at: Self.start)
            #expect(Self.replaced(entry) == ids[number])
        }
        #expect(slots.enter(Self.peer(4000), isKnown: true, at: Self.start) == .refused)
    }
}
