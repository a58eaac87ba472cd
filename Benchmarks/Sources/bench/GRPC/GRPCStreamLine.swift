// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Measuring

/// All messages of an exchange on one bidirectional stream.
struct GRPCStreamLine: Line {
    let connection: GRPCConnection

    /// Up to so many bytes under way, the task that reads answers also writes the next messages, which saves a change of
    /// tasks for each. Beyond it, where writing waits for buffers to drain, a task that only reads is faster, and a reader
    /// that waits to write could wait for a writer that waits for it to read.
    private static let maxBytesWithoutBackpressure = 1 << 16

    func exchange(_ load: Load, until limit: Limit) async throws -> Measurement {
        let message = [UInt8](repeating: 0x5a, count: load.bytes)
        let first = min(load.inFlight, limit.count)
        let writesInline = load.bytes * load.inFlight <= Self.maxBytesWithoutBackpressure
        let (permits, permit) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(first))
        let (writers, handOver) = AsyncStream.makeStream(
            of: RPCWriter<[UInt8]>.self,
            bufferingPolicy: .bufferingOldest(1)
        )
        return try await connection.client.bidirectionalStreaming(
            request: StreamingClientRequest<[UInt8]> { writer in
                for _ in 0..<first { try await writer.write(message) }
                handOver.yield(writer)
                // The stream is half closed when this returns: once there is nothing more to send.
                for await _ in permits { try await writer.write(message) }
            },
            descriptor: load.answer == .echo ? GRPCMethods.echoStream : GRPCMethods.acknowledgeStream,
            serializer: BytesSerializer(),
            deserializer: BytesDeserializer(),
            options: .defaults
        ) { response in
            defer { permit.finish() }
            let begin = monotonicNanoseconds()
            var course = StreamCourse(begin: begin, first: first, limit: limit)
            var writer: RPCWriter<[UInt8]>?
            if writesInline {
                var iterator = writers.makeAsyncIterator()
                writer = await iterator.next()
            }
            for try await answer in response.messages {
                guard answer.count == (load.answer == .echo ? load.bytes : 0) else {
                    throw BenchError("gRPC answered with \(answer.count) bytes.")
                }
                if course.answered(at: monotonicNanoseconds()) {
                    if let writer { try await writer.write(message) } else { permit.yield() }
                } else if course.isComplete {
                    permit.finish()
                }
            }
            return try course.measurement()
        }
    }

    func close() async {
        await connection.close()
    }
}

/// Which messages of a stream are under way; answers come in order.
private struct StreamCourse {
    private let begin: Int64
    private let limit: Limit
    private var starts: [Int64]
    private var times: [Int64] = []
    private var end: Int64

    init(begin: Int64, first: Int, limit: Limit) {
        self.begin = begin
        self.limit = limit
        end = begin
        starts = []
        starts.reserveCapacity(limit.count)
        times.reserveCapacity(limit.count)
        starts.append(contentsOf: repeatElement(begin, count: first))
    }

    var isComplete: Bool { times.count == starts.count }

    /// Notes an answer, and says whether another message may be sent, which it counts as sent.
    mutating func answered(at now: Int64) -> Bool {
        guard times.count < starts.count else { return false }
        times.append(now - starts[times.count])
        end = now
        guard starts.count < limit.count, now - begin < limit.nanoseconds else { return false }
        starts.append(now)
        return true
    }

    func measurement() throws -> Measurement {
        guard isComplete else { throw BenchError("The gRPC stream ended before all messages were answered.") }
        return Measurement(nanoseconds: times, elapsedNanoseconds: end - begin)
    }
}
