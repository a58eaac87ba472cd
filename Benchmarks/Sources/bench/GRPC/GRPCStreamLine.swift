// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Measuring

/// A line that sends all messages of an exchange on one bidirectional stream.
struct GRPCStreamLine: Line {
    let connection: GRPCConnection

    /// The maximum number of bytes in flight at which the task that reads responses also writes messages.
    ///
    /// This avoids a task switch per message. With more bytes, writes wait for buffers to drain, so separate tasks are
    /// faster. A single task could also deadlock: it would wait to write while the server waits for it to read.
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
                // gRPC half-closes the stream when this closure returns, after the last message.
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
                    throw BenchError("The gRPC response has \(answer.count) bytes.")
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

/// The messages of a stream that are in flight. Responses come in order.
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

    /// Records a response. Returns whether another message may be sent, and counts it as sent.
    mutating func answered(at now: Int64) -> Bool {
        guard times.count < starts.count else { return false }
        times.append(now - starts[times.count])
        end = now
        guard starts.count < limit.count, now - begin < limit.nanoseconds else { return false }
        starts.append(now)
        return true
    }

    func measurement() throws -> Measurement {
        guard isComplete else { throw BenchError("The gRPC stream ended before all responses came.") }
        return Measurement(nanoseconds: times, elapsedNanoseconds: end - begin)
    }
}
