// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

/// The unread bytes of a stream, without a network.
@Suite struct StreamInboxTests {
    private enum Event: Sendable {
        case data(Int), fin, fails, aborted, take(Int), wait(UInt64), cancel(UInt64), resume, network
    }

    /// The machine's results, as text. `read 3+4*` are two chunks whose take makes space.
    private static func run(_ events: [Event], limit: Int = 256 << 10) -> [String] {
        var machine = StreamInboxStateMachine(limit: limit)
        var log: [String] = []
        for event in events {
            switch event {
            case .data(let count): machine.append(ByteBuffer(repeating: 7, count: count))
            case .fin: machine.finish()
            case .fails: machine.fail(.truncated(cause: nil), dropsUnread: false)
            case .aborted: machine.fail(.aborted(.streamCancelled), dropsUnread: true)
            case .take(let count): log.append(Self.text(machine.take(upTo: count)))
            case .wait(let reader): log.append(machine.wait(reader) ? "waits" : "takes")
            case .cancel(let reader): log.append(machine.cancel(reader) ? "cancelled" : "too late")
            case .resume: log.append(machine.readerToResume().map { "resume \($0)" } ?? "none")
            case .network: log.append(machine.holdsNetwork() ? "held" : "goes on")
            }
        }
        return log
    }

    private static func text(_ take: StreamInboxStateMachine.Take) -> String {
        switch take {
        case .chunks(let chunks, let makesSpace):
            "read " + chunks.map { "\($0.readableBytes)" }.joined(separator: "+") + (makesSpace ? "*" : "")
        case .end: "end"
        case .wait: "wait"
        case .failed(let error): "\(error.code)"
        case .alreadyReading: "alreadyReading"
        }
    }

    @Test func `bytes reach the reader in order, and the end comes after the last one`() {
        #expect(
            Self.run([.data(3000), .data(4000), .fin, .take(0), .take(0), .take(0), .take(0)])
                == ["read 3000", "read 4000", "end", "end"]
        )
        #expect(Self.run([.take(0), .data(3), .take(0), .take(0)]) == ["wait", "read 3", "wait"])
    }

    @Test func `one take returns as many chunks as it may, and at least one`() {
        let chunks: [Event] = [.data(3000), .data(4000), .data(5000)]
        #expect(Self.run(chunks + [.take(7000), .take(7000)]) == ["read 3000+4000", "read 5000"])
        #expect(Self.run(chunks + [.take(6999), .take(20_000)]) == ["read 3000", "read 4000+5000"])
        #expect(Self.run(chunks + [.take(1)]) == ["read 3000"])
    }

    @Test func `small chunks are joined`() {
        #expect(Self.run([.data(1), .data(1024), .data(1025), .take(0), .take(0)]) == ["read 1025", "read 1025"])
    }

    @Test func `data that fills little of its read is copied out of the buffer, and other data is not`() throws {
        var machine = StreamInboxStateMachine(limit: 256 << 10)
        let buffer = ByteBuffer(repeating: 7, count: 64 << 10)
        for _ in 0..<3 {
            machine.append(try #require(buffer.getSlice(at: 100, length: 1025)))
            machine.endRead()
        }
        guard case .chunks(let little, _) = machine.take(upTo: 4000) else {
            Issue.record("no chunks")
            return
        }
        #expect(little.map(\.readableBytes) == [1025, 1025, 1025])
        #expect(little.allSatisfy { $0.storageCapacity <= 4 << 10 })
        // The end of one frame and the beginning of the next.
        machine.append(try #require(buffer.getSlice(at: 0, length: 2000)))
        machine.append(try #require(buffer.getSlice(at: 2009, length: 40_000)))
        machine.endRead()
        guard case .chunks(let much, _) = machine.take(upTo: 50_000) else {
            Issue.record("no chunks")
            return
        }
        #expect(much.map(\.readableBytes) == [2000, 40_000])
        #expect(much.allSatisfy { $0.storageCapacity == buffer.storageCapacity })
    }

    @Test func `a reader is resumed once, for bytes, the end or a failure`() {
        for event in [.data(1), .fin, .fails, .aborted] as [Event] {
            #expect(
                Self.run([.wait(1), .resume, event, .resume, .resume]) == ["waits", "none", "resume 1", "none"]
            )
            #expect(Self.run([event, .wait(1)]) == ["takes"])
        }
    }

    @Test func `one task reads at a time`() {
        #expect(Self.run([.wait(1), .take(0), .wait(2)]) == ["waits", "alreadyReading", "takes"])
    }

    @Test func `a cancelled reader loses nothing`() {
        #expect(
            Self.run([.wait(1), .cancel(2), .cancel(1), .data(5), .resume, .take(0)])
                == ["waits", "too late", "cancelled", "none", "read 5"]
        )
        #expect(
            Self.run([.wait(1), .data(5), .resume, .cancel(1), .take(0)])
                == ["waits", "resume 1", "too late", "read 5"]
        )
    }

    @Test func `the network is read until the limit is reached, and again when half of it was read`() {
        let most: [Event] = [.data(99_000), .network, .data(1000), .data(2000), .network]
        #expect(
            Self.run(most + [.take(0), .network, .take(0)], limit: 100_000)
                == ["goes on", "held", "read 99000*", "goes on", "read 1000"]
        )
        // After less than half of it the network is not read.
        let little: [Event] = [.data(30_000), .data(40_000), .data(30_000), .network]
        #expect(
            Self.run(little + [.take(0), .network, .take(0)], limit: 100_000)
                == ["held", "read 30000", "held", "read 40000*"]
        )
    }

    @Test func `bytes that arrived before a failure are read first`() {
        #expect(Self.run([.data(7), .fails, .data(5), .take(0), .take(0)]) == ["read 7", "truncated"])
        // After the end, a lost connection takes nothing away.
        #expect(Self.run([.data(7), .fin, .fails, .take(0), .take(0)]) == ["read 7", "end"])
    }

    @Test func `an abort drops unread bytes`() {
        #expect(Self.run([.data(7), .aborted, .take(0)]) == ["aborted"])
        #expect(Self.run([.data(7), .fin, .aborted, .fails, .take(0)]) == ["aborted"])
    }
}
