// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

/// Which connections of strangers get a place on the port of an introduction.
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

    @Test func `a peer that has its share replaces none of a peer that has less`() {
        var slots = UnauthenticatedSlots()
        guard case .entered(let other) = slots.enter(Self.peer(2), at: Self.start) else { return }
        var ids: [UnauthenticatedSlots.ID] = []
        for _ in 1..<UnauthenticatedSlots.maxConnections {
            if case .entered(let id) = slots.enter(Self.peer(1), at: Self.start) { ids.append(id) }
        }
        // The other peer's connection is the oldest one.
        for round in 1...10 {
            for _ in 0..<UnauthenticatedSlots.maxConnections {
                let replaced = Self.replaced(slots.enter(Self.peer(1), at: Self.at(100 * round)))
                #expect(replaced != other)
            }
        }
        #expect(ids.count == UnauthenticatedSlots.maxConnections - 1)
    }
}
