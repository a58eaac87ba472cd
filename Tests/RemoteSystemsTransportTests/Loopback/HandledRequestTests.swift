// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// Attacks with requests on many connections whose handlers run at the same time.
@Suite struct HandledRequestTests {
    /// The number of requests that a connection may have in flight.
    private static let window = 128

    /// Sends as many requests as the host permits, and waits until it has read them.
    private static func flood(_ peer: RawPeer) async throws {
        for id in 1...UInt64(Self.window) {
            try peer.send(.request(id: id, timeoutMilliseconds: 600_000, message: ["waits": true]))
        }
        try peer.send(.ping(token: 7))
        while let frame = try await peer.nextFrame() {
            if case .pong(token: 7) = frame { return }
        }
        Issue.record("the connection has ended")
    }

    /// Runs `body` with a host whose handlers wait for a gate if a request says so, and do not end when they are
    /// cancelled. `Counter` counts the handlers that have begun.
    private static func with(
        _ body: (LoopbackHost, MemoryBudget, Counter, Gate) async throws -> Void
    ) async throws {
        let (budget, begun, end) = (MemoryBudget(messageBytes: 1 << 20), Counter(), Gate())
        defer { end.open() }
        try await LoopbackHost.with(memoryBudget: budget) { request, _ in
            guard request.message["waits"]?.bool == true else { return Response() }
            begun.increase()
            await end.wait()
            return Response()
        } _: { host in
            try await body(host, budget, begun, end)
        }
    }

    @Test func `a peer with many connections has few requests handled at once, and others are served`() async throws {
        try await Self.with { host, budget, begun, end in
            let attacker = try host.account.system()
            var peers: [RawPeer] = []
            for _ in 0..<6 {
                let peer = try await host.openRaw(as: attacker)
                try await Self.flood(peer)
                peers.append(peer)
            }
            // The first two connections have all places of the peer. Four requests of the others need none.
            let handled = MemoryBudget.handledEach + 4 * MemoryBudget.handledOfConnection
            try await eventually("the handlers") { begun.value == handled }
            #expect(budget.places == MemoryBudget.handledEach)

            let caller = try await host.connect()
            #expect(try await caller.send([:], timeout: .seconds(60)).status == .success)
            await caller.close()
            // Each connection of the peer goes on, too.
            let further = try await host.connect(as: attacker)
            #expect(try await further.send([:], timeout: .seconds(60)).status == .success)
            await further.close()
            #expect(begun.value == handled)

            // All requests are handled in the end.
            end.open()
            for peer in peers {
                var responses = 0
                while responses < Self.window, let frame = try await peer.nextFrame() {
                    if case .response(_, .success, _, nil) = frame { responses += 1 }
                }
                #expect(responses == Self.window)
            }
            #expect(begun.value == 6 * Self.window)
            try await eventually("the released places") { budget.places == 0 }
        }
    }

    @Test func `a peer that closes its connections has no more requests handled while its handlers run`()
        async throws
    {
        try await Self.with { host, budget, begun, end in
            let attacker = try host.account.system()
            for _ in 0..<2 {
                let peer = try await host.openRaw(as: attacker)
                try await Self.flood(peer)
                peer.close()
            }
            for connection in host.connections.all { _ = await connection.waitUntilClosed() }
            try await eventually("the handlers") { begun.value == MemoryBudget.handledEach }
            let peer = try await host.openRaw(as: attacker)
            try await Self.flood(peer)
            let handled = MemoryBudget.handledEach + MemoryBudget.handledOfConnection
            try await eventually("the first handlers of the connection") { begun.value == handled }
            #expect(budget.places == MemoryBudget.handledEach)
            #expect(begun.value == handled)
            // The requests that wait start when the handlers of the closed connections have ended.
            end.open()
            try await eventually("all handlers") { begun.value == MemoryBudget.handledEach + Self.window }
            try await eventually("the released places") { budget.places == 0 }
        }
    }

    @Test func `several peers that have all places which they get leave some for the next`() throws {
        let budget = MemoryBudget(messageBytes: 1 << 20)
        for number in 1...200 as ClosedRange<UInt8> {
            let peer = try GreedyPeers.peer(number)
            while budget.reservePlaces(MemoryBudget.handledStep, for: peer) {}
        }
        #expect(budget.places < MemoryBudget.handled)
        let busy = MemoryBudget(messageBytes: 1 << 20)
        for number in 1...15 as ClosedRange<UInt8> {
            let peer = try GreedyPeers.peer(number)
            while busy.reservePlaces(MemoryBudget.handledStep, for: peer) {}
        }
        #expect(busy.reservePlaces(128, for: try GreedyPeers.peer(16)))
    }

    @Test func `the systems of a linked account share the places of one, and a large window has places for two`() throws
    {
        let budget = MemoryBudget(messageBytes: 1 << 20, window: 4_096)
        let account = try GreedyPeers.account(1)
        #expect(budget.reservePlaces(8_192, for: account))
        #expect(!budget.reservePlaces(1, for: account))
        budget.releasePlaces(8_192, for: account)
        #expect(budget.places == 0)
    }
}
