// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystemsIdentity
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// Attacks with messages that are never finished.
@Suite struct UnfinishedMessageTests {
    private static let length = 900_000
    /// The first part of a message of ``length`` bytes.
    private static func part(_ bytes: Int) -> [UInt8] {
        var buffer = ByteBuffer(integer: UInt32(Self.length))
        buffer.writeRepeatingByte(0, count: bytes)
        return Array(buffer.readableBytesView)
    }

    private static func code(of frames: [Frame]) -> String? {
        guard case .close(.resourceLimitsExceeded, let failure)? = frames.last else { return nil }
        #expect(failure?.canRetry == true)
        return failure?.code
    }

    @Test func `half messages of one peer hold little memory, and others are served meanwhile`() async throws {
        // Two messages of one peer, and a megabyte of those that wait.
        let budget = MemoryBudget(messageBytes: 1 << 20, frameBytes: 8 << 20, waitingBytesEach: 1 << 20)
        // None is closed for another reason, however long it takes to open the others.
        let limits = ConnectionLimits.patient { limits in
            limits.frameTime = .minutes(10)
            limits.deadPeerTime = .minutes(10)
        }
        try await LoopbackHost.with(limits: limits, memoryBudget: budget) { host in
            let attacker = try host.account.system()
            var peers: [RawPeer] = []
            for _ in 0..<20 {
                let peer = try await host.openRaw(as: attacker)
                peer.send(Self.part(300_000))
                peers.append(peer)
                #expect(budget.frames.bytes <= 2 << 20)
                #expect(budget.waiting.bytes <= 1 << 20)
            }
            let closed = try await eventually("a closed connection") { peers.first { $0.isClosed } }
            #expect(Self.code(of: try await closed.remainingFrames()) == "unfinished-bytes-exceeded")
            #expect(budget.frames.bytes > 0)
            #expect(budget.frames.bytes <= 2 << 20)
            #expect(budget.waiting.bytes <= 1 << 20)

            let message: ValueSet = ["text": .string(String(repeating: "x", count: 800_000))]
            let caller = try await host.connect()
            for _ in 0..<3 {
                #expect(try await caller.send(message, timeout: .seconds(60)).status == .success)
            }
            await caller.close()
            for peer in peers { peer.close() }
            _ = try await eventually("the released budget") {
                budget.frames.bytes == 0 && budget.waiting.bytes == 0 ? true : nil
            }
        }
    }

    @Test func `long messages of one peer on many connections wait for each other, and all arrive`() async throws {
        let budget = MemoryBudget(messageBytes: 1 << 20, frameBytes: 8 << 20)
        try await LoopbackHost.with(memoryBudget: budget) { host in
            let identity = try host.account.system()
            let message: ValueSet = ["text": .string(String(repeating: "x", count: 900_000))]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<12 {
                    let connection = try await host.connect(as: identity)
                    group.addTask {
                        for _ in 0..<3 {
                            let response = try await connection.send(message, timeout: .seconds(60))
                            #expect(response.status == .success)
                        }
                        await connection.close()
                    }
                }
                try await group.waitForAll()
            }
            #expect(budget.frames.bytes == 0 && budget.waiting.bytes == 0)
        }
    }

    @Test func `a byte from time to time does not keep a message unfinished`() async throws {
        try await LoopbackHost.with(limits: .patient { $0.frameTime = .milliseconds(500) }) { host in
            let peer = try await host.openRaw()
            peer.send([0, 0, 0, 200])
            for _ in 0..<600 where !peer.isClosed {
                peer.send([0])
                try await Task.sleep(for: .milliseconds(100))
                // Even a message of 200 bytes would be complete by now.
                if peer.isClosed { break }
            }
            #expect(Self.code(of: try await peer.remainingFrames()) == "frame-too-slow")
        }
    }

    @Test func `messages that follow each other without a gap each have their own time`() async throws {
        try await LoopbackHost.with(limits: .patient { $0.frameTime = .seconds(1) }) { host in
            var longestGap = Duration.zero
            // A busy machine can hold up the sender, which is too slow in earnest then.
            for _ in 0..<20 {
                let peer = try await host.openRaw()
                defer { peer.close() }
                longestGap = try await Self.sendWithoutGap(from: peer)
                if !peer.isClosed { return }
                guard longestGap > .milliseconds(500) else { break }
            }
            Issue.record("closed, although the longest gap between two messages was \(longestGap)")
        }
    }

    /// Sends pings for twice the time of a frame. Each send finishes one and begins the next.
    ///
    /// - Returns: the longest time between two sends.
    private static func sendWithoutGap(from peer: RawPeer) async throws -> Duration {
        var ping = ByteBuffer()
        try ping.writeFrame(.ping(token: 1), limit: 1_024)
        let bytes = Array(ping.readableBytesView)
        var last = ContinuousClock.now
        var longestGap = Duration.zero
        peer.send(Array(bytes.prefix(3)))
        for _ in 0..<20 {
            peer.send(Array(bytes.dropFirst(3) + bytes.prefix(3)))
            try await Task.sleep(for: .milliseconds(100))
            longestGap = max(longestGap, ContinuousClock.now - last)
            last = .now
        }
        return longestGap
    }
}
