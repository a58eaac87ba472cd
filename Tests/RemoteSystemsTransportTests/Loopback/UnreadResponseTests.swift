// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystemsIdentity
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// Attacks with responses that the peer does not read.
@Suite struct UnreadResponseTests {
    /// The bytes of each response.
    private static let bytes = 600_000
    /// The requests of each connection. Their responses are more than the sockets' buffers hold.
    private static let requests: UInt64 = 20

    /// Opens a connection that does not read, with requests whose handlers wait for a gate.
    private static func openUnread(_ host: LoopbackHost, as attacker: SystemIdentity) async throws -> RawPeer {
        let peer = try await host.openRaw(as: attacker)
        try await peer.stopReading()
        for id in 1...Self.requests {
            try peer.send(.request(id: id, timeoutMilliseconds: 600_000, message: ["waits": true]))
        }
        return peer
    }

    /// Runs a host whose responses are long, and an attacker with three connections that do not read them.
    private static func withUnread(
        _ budget: MemoryBudget,
        _ body: (LoopbackHost, [RawPeer]) async throws -> Void
    ) async throws {
        let response = String(repeating: "x", count: Self.bytes)
        let start = Gate()
        defer { start.open() }
        // The attacker does not answer pings either.
        let limits = ConnectionLimits.patient { $0.deadPeerTime = .seconds(180) }
        try await LoopbackHost.with(limits: limits, memoryBudget: budget) { request, _ in
            if request.message["waits"]?.bool == true { await start.wait() }
            return Response(message: ["text": .string(response)])
        } _: { host in
            let attacker = try host.account.system()
            var peers: [RawPeer] = []
            for _ in 0..<3 { peers.append(try await Self.openUnread(host, as: attacker)) }
            try await eventually("three connections") { host.connections.all.count == 3 }
            for connection in host.connections.all {
                try await eventually("the running handlers") { try await connection.handlers == Int(Self.requests) }
            }
            start.open()
            for connection in host.connections.all {
                try await eventually("the end of the handlers") { try await !connection.hasRequestsIn }
            }
            try await body(host, peers)
            for peer in peers { peer.close() }
        }
    }

    @Test func `responses that one system does not read hold little memory, and others get theirs`() async throws {
        // Two megabytes for one system. Its responses have 36 MB.
        let budget = MemoryBudget(messageBytes: 1 << 20, responseBytes: 8 << 20)
        try await Self.withUnread(budget) { host, peers in
            var held = 0
            for connection in host.connections.all {
                let buffered = try await connection.channel.getOption(.bufferedWritableBytes).get()
                held += buffered
            }
            // TLS adds some bytes to each record.
            let allowances = 3 * (MemoryBudget.responseAllowance + (64 << 10))
            #expect(held <= (2 << 20) + allowances + (1 << 16), "\(held)")
            #expect(budget.responses.bytes <= 2 << 20)
            #expect(host.log.all.contains { $0.contains("response-limit") })

            let caller = try await host.connect()
            let response = try await caller.send([:], timeout: .seconds(60))
            #expect(response.status == .success)
            await caller.close()

            // Every request has one response: its own, or the reason why that was dropped.
            var dropped = 0
            for peer in peers {
                try await peer.channel.setOption(.autoRead, value: true).get()
                var seen: Set<UInt64> = []
                while seen.count < Int(Self.requests) {
                    switch try await peer.nextFrame() {
                    case .response(let id, .success, _, nil): seen.insert(id)
                    case .response(let id, .failure, [:], let failure?):
                        #expect(failure.code == "response-bytes-exceeded" && !failure.canRetry)
                        seen.insert(id)
                        dropped += 1
                    case .ping: continue
                    case let other:
                        Issue.record("\(String(describing: other)) came instead of a response")
                        return
                    }
                }
            }
            #expect(dropped > 0)
            try await eventually("the released budget") { budget.responses.bytes == 0 }
            let first = try #require(peers.first)
            try first.send(.request(id: 100, timeoutMilliseconds: 600_000, message: [:]))
            guard case .response(100, .success, _, nil)? = try await first.nextFrame() else {
                Issue.record("no response")
                return
            }
        }
    }

    @Test func `unread responses are counted until the channel has closed`() async throws {
        let budget = MemoryBudget(messageBytes: 1 << 20)
        try await Self.withUnread(budget) { host, peers in
            #expect(budget.responses.bytes > 0)
            for connection in host.connections.all { connection.abort() }
            for connection in host.connections.all { try await connection.channel.closeFuture.get() }
            try await eventually("the released budget") { budget.responses.bytes == 0 }
            #expect(budget.connections == 0)
            for peer in peers { peer.close() }
        }
    }

    @Test func `a peer that reads gets short responses also if the budget is used up`() async throws {
        // The second connection of a system has the smaller allowance.
        let budget = MemoryBudget(messageBytes: 1 << 20, responseBytes: 0, connectionsEach: 1)
        let text = String(repeating: "x", count: 3_000)
        try await LoopbackHost.with(memoryBudget: budget) { _, _ in
            Response(message: ["text": .string(text)])
        } _: { host in
            let identity = try host.account.system()
            for _ in 0..<2 {
                let peer = try await host.openRaw(as: identity)
                var requests = ByteBuffer()
                for id in 1...100 as ClosedRange<UInt64> {
                    try requests.writeRequest(id: id, timeoutMilliseconds: 600_000, message: [:], limit: 1024)
                }
                peer.send(Array(requests.readableBytesView))
                for id in 1...100 as ClosedRange<UInt64> {
                    guard case .response(id, .success, _, nil)? = try await peer.nextFrame() else {
                        Issue.record("no response to \(id)")
                        return
                    }
                }
            }
            #expect(budget.responses.bytes == 0)
            #expect(!host.log.all.contains { $0.contains("response-limit") })
        }
    }
}
