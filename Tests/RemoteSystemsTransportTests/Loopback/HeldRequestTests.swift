// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// Attacks with whole requests that the host must hold, because they wait or their handlers run.
@Suite struct HeldRequestTests {
    private static func message(_ bytes: Int, waits: Bool = false) -> ValueSet {
        ["text": .string(String(repeating: "x", count: bytes)), "waits": .bool(waits)]
    }

    /// The code of the response to a request that was refused.
    private static func code(_ frame: Frame?) -> String? {
        guard case .response(_, .resourceLimitsExceeded, _, let failure?)? = frame else { return nil }
        #expect(failure.canRetry)
        return failure.code
    }

    @Test func `requests of one peer hold little memory, further ones are refused, and others are served`() async throws
    {
        // Two megabytes for one peer.
        let budget = MemoryBudget(messageBytes: 1 << 10, requestBytes: 8 << 20)
        let end = Gate()
        defer { end.open() }
        try await LoopbackHost.with(memoryBudget: budget) { request, _ in
            if request.message["waits"]?.bool == true { await end.wait() }
            return Response(message: ["bytes": 1])
        } _: { host in
            let attacker = try host.account.system()
            let first = try await host.openRaw(as: attacker)
            for id in 1...3 as ClosedRange<UInt64> {
                try first.send(
                    .request(id: id, timeoutMilliseconds: 600_000, message: Self.message(600_000, waits: true))
                )
            }
            let hosts = try await host.connections.first()
            try await eventually("three handlers") { try await hosts.handlers == 3 }
            #expect(budget.requests.bytes > 1_700_000)
            for _ in 0..<5 {
                let peer = try await host.openRaw(as: attacker)
                try peer.send(
                    .request(id: 1, timeoutMilliseconds: 600_000, message: Self.message(600_000, waits: true)),
                    .request(id: 2, timeoutMilliseconds: 600_000, message: Self.message(600_000, waits: true)),
                    .request(id: 3, timeoutMilliseconds: 600_000, message: Self.message(1_000))
                )
                #expect(Self.code(try await peer.nextFrame()) == "request-bytes-exceeded")
                #expect(Self.code(try await peer.nextFrame()) == "request-bytes-exceeded")
                // What is within a connection's allowance is served.
                guard case .response(3, .success, _, nil)? = try await peer.nextFrame() else {
                    Issue.record("no response")
                    return
                }
                #expect(budget.requests.bytes <= 2 << 20)
            }
            #expect(host.log.all.contains { $0.contains("request-limit") })

            let caller = try await host.connect()
            #expect(try await caller.send(Self.message(800_000), timeout: .seconds(60)).status == .success)
            await caller.close()

            end.open()
            for _ in 1...3 {
                guard case .response(_, .success, _, nil)? = try await first.nextFrame() else {
                    Issue.record("no response")
                    return
                }
            }
            try await eventually("the released budget") { budget.requests.bytes == 0 }
            try first.send(.request(id: 4, timeoutMilliseconds: 600_000, message: Self.message(600_000)))
            guard case .response(4, .success, _, nil)? = try await first.nextFrame() else {
                Issue.record("no response")
                return
            }
        }
    }

    @Test func `requests whose time has passed are not held for a peer that does not read`() async throws {
        let budget = MemoryBudget(messageBytes: 1 << 20)
        let response = String(repeating: "x", count: 600_000)
        try await LoopbackHost.with(memoryBudget: budget) { _, _ in
            Response(message: ["text": .string(response)])
        } _: { host in
            let peer = try await host.openRaw()
            try await peer.stopReading()
            // The responses to these, 60 MB, fill the sockets' buffers, so those that follow wait.
            for id in 1...100 as ClosedRange<UInt64> {
                try peer.send(.request(id: id, timeoutMilliseconds: 600_000, message: [:]))
            }
            for id in 101...104 as ClosedRange<UInt64> {
                try peer.send(.request(id: id, timeoutMilliseconds: 1, message: Self.message(500_000)))
            }
            try peer.send(.ping(token: 7))
            let hosts = try await host.connections.first()
            try await eventually("the last frame") { try await hosts.ask { $0.owedPong } == 7 }
            // One step stays reserved while the connection holds short messages.
            try await eventually("the released budget") { budget.requests.bytes <= HeldMemory.step }
            #expect(try await hosts.hasRequestsIn)

            try await peer.channel.setOption(.autoRead, value: true).get()
            var answered: [UInt64] = []
            var cancelled: [UInt64] = []
            while answered.count + cancelled.count < 104 {
                switch try await peer.nextFrame() {
                case .response(let id, .success, _, nil): answered.append(id)
                case .response(let id, .failure, [:], let failure?):
                    #expect(failure.code == "cancelled")
                    cancelled.append(id)
                case .pong(token: 7), .ping: continue
                case let other:
                    Issue.record("\(String(describing: other)) came instead of a response")
                    return
                }
            }
            #expect(answered == Array(1...100))
            #expect(cancelled == Array(101...104))
        }
    }

    @Test func `requests that wait are released when their connection ends, and others when their handlers end`()
        async throws
    {
        let budget = MemoryBudget(messageBytes: 1 << 20)
        let end = Gate()
        defer { end.open() }
        try await LoopbackHost.with(limits: .patient { $0.concurrentRequests = 1 }, memoryBudget: budget) { _, _ in
            await end.wait()
            return Response()
        } _: { host in
            let peer = try await host.openRaw()
            for id in 1...3 as ClosedRange<UInt64> {
                try peer.send(.request(id: id, timeoutMilliseconds: 600_000, message: Self.message(600_000)))
            }
            try await eventually("three requests") { budget.requests.bytes > 1_700_000 }
            peer.close()
            try await eventually("the message of the running handler") { budget.requests.bytes < 700_000 }
            #expect(budget.requests.bytes > 500_000)
            end.open()
            try await eventually("the released budget") { budget.requests.bytes == 0 }
        }
    }

    @Test func `a peer that closes its connections holds no more while its handlers run`() async throws {
        // Two megabytes for one peer.
        let budget = MemoryBudget(messageBytes: 1 << 10, requestBytes: 8 << 20)
        let end = Gate()
        defer { end.open() }
        let running = Counter()
        try await LoopbackHost.with(memoryBudget: budget) { request, _ in
            running.increase()
            // Does not end when it is cancelled.
            await end.wait()
            return Response()
        } _: { host in
            let attacker = try host.account.system()
            for round in 1...5 {
                let peer = try await host.openRaw(as: attacker)
                for id in 1...3 as ClosedRange<UInt64> {
                    try peer.send(.request(id: id, timeoutMilliseconds: 600_000, message: Self.message(600_000)))
                }
                if round == 1 {
                    try await eventually("three handlers") { running.value == 3 }
                } else {
                    for _ in 1...3 { #expect(Self.code(try await peer.nextFrame()) == "request-bytes-exceeded") }
                }
                peer.close()
                let hosts = host.connections.all
                for connection in hosts { _ = await connection.waitUntilClosed() }
            }
            #expect(running.value == 3)
            #expect(budget.requests.bytes > 1_700_000 && budget.requests.bytes <= 2 << 20)
            end.open()
            try await eventually("the released budget") { budget.requests.bytes == 0 }
        }
    }

    @Test func `half messages of a peer with many connections are counted, also short ones`() async throws {
        let budget = MemoryBudget(messageBytes: 1 << 20, connectionsEach: 1)
        try await LoopbackHost.with(memoryBudget: budget) { host in
            let attacker = try host.account.system()
            let half = Array(ByteBuffer(integer: UInt32(8 << 10)).readableBytesView) + [0, 0, 0]
            var peers: [RawPeer] = []
            for _ in 0..<3 {
                let peer = try await host.openRaw(as: attacker)
                peer.send(half)
                peers.append(peer)
            }
            try await eventually("two reservations") { budget.frames.bytes == 2 * ((8 << 10) + 4) }
            for peer in peers { peer.close() }
            try await eventually("the released budget") { budget.frames.bytes == 0 }
            let other = try await host.openRaw()
            let hosts = try await eventually("the other connection") {
                host.connections.all.count == 4 ? host.connections.all.last : nil
            }
            #expect(try await hosts.ask { $0.requestMemory.allowance } == MemoryBudget.allowance)
            other.close()
        }
    }
}
