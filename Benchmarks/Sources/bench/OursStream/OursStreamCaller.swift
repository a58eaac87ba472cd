// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring
import NIOCore
import RemoteSystems
import Synchronization
import ValueSets

/// Opens streams to one host.
struct OursStreamCaller: Caller {
    let request: RemoteSystemConnectionRequest

    func open() async throws -> any Line {
        let connection = AppServiceConnection(to: AppServiceDescription(name: OursStream.service))
        guard try await connection.open(request) == .success else {
            throw connection.openError ?? BenchError("The connection was not opened, and no reason was given.")
        }
        let ticket = try await connection.send([:]).get()["Stream"]
        let line = OursStreamLine(stream: try await connection.openStream(ticket))
        await connection.close()
        _ = try await line.exchange(.roundTrip, until: Limit(count: 1, seconds: 10))
        return line
    }
}

/// Writes messages in one task and reads their responses in another, both on the stream's executor.
private struct OursStreamLine: Line {
    let stream: RemoteSystemStream

    /// The shared state of the two tasks.
    private final class Course: Sendable {
        /// The send times of the messages in flight. Responses come in order.
        let starts = Mutex(CircularBuffer<Int64>())
    }

    func exchange(_ load: Load, until limit: Limit) async throws -> Measurement {
        let message = RawFrame.message(for: load)
        let responseBytes = RawFrame.headerBytes + (load.answer == .echo ? load.bytes : 0)
        let course = Course()
        let begin = monotonicNanoseconds()
        let (turns, turn) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(load.inFlight))
        let first = min(load.inFlight, limit.count)
        for _ in 0..<first { turn.yield() }
        return try await withThrowingTaskGroup(of: Measurement?.self) { group in
            group.addTask(executorPreference: stream.executor) {
                for await _ in turns {
                    course.starts.withLock { $0.append(monotonicNanoseconds()) }
                    try await stream.write(buffer: message)
                }
                return nil
            }
            group.addTask(executorPreference: stream.executor) {
                var times: [Int64] = []
                times.reserveCapacity(limit.count)
                var sent = first
                var received = 0
                while times.count < sent {
                    guard let chunk = try await stream.readBuffer() else { throw BenchError("The stream ended.") }
                    received += chunk.readableBytes
                    while received >= responseBytes, let start = course.starts.withLock({ $0.popFirst() }) {
                        let now = monotonicNanoseconds()
                        received -= responseBytes
                        times.append(now - start)
                        guard sent < limit.count, now - begin < limit.nanoseconds else { continue }
                        sent += 1
                        turn.yield()
                    }
                }
                turn.finish()
                return Measurement(nanoseconds: times, elapsedNanoseconds: monotonicNanoseconds() - begin)
            }
            var result: Measurement?
            for try await measurement in group { result = measurement ?? result }
            guard let result else { throw BenchError("Nothing was measured.") }
            return result
        }
    }

    func close() async {
        try? await stream.finish()
        try? await stream.waitUntilFinished()
    }
}
