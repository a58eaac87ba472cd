// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring

/// A line on which an `async` call sends one message and waits for its response.
///
/// There is one task per message in flight. Each sends its next message after the response to its last one.
protocol RoundTripLine: Line {
    associatedtype Message: Sendable

    /// Creates the message for a load. It is sent repeatedly.
    func message(for load: Load) throws -> Message

    /// Sends the message and returns when the whole response has arrived. Throws if the response is wrong.
    func roundTrip(_ message: Message, load: Load) async throws
}

extension RoundTripLine {
    func exchange(_ load: Load, until limit: Limit) async throws -> Measurement {
        let message = try message(for: load)
        let start = monotonicNanoseconds()
        let deadline = start + limit.nanoseconds
        guard load.inFlight > 1 else {
            let times = try await send(message, load, atMost: limit.count, before: deadline)
            return Measurement(nanoseconds: times, elapsedNanoseconds: monotonicNanoseconds() - start)
        }
        let share = (limit.count + load.inFlight - 1) / load.inFlight
        return try await withThrowingTaskGroup(of: [Int64].self) { group in
            for _ in 0..<load.inFlight {
                group.addTask { try await send(message, load, atMost: share, before: deadline) }
            }
            var all: [[Int64]] = []
            for try await times in group { all.append(times) }
            let elapsed = monotonicNanoseconds() - start
            return Measurement(nanoseconds: Array(all.joined()), elapsedNanoseconds: elapsed)
        }
    }

    private func send(
        _ message: Message,
        _ load: Load,
        atMost count: Int,
        before deadline: Int64
    ) async throws -> [Int64] {
        var times: [Int64] = []
        times.reserveCapacity(count)
        var start = monotonicNanoseconds()
        while times.count < count, start < deadline {
            try await roundTrip(message, load: load)
            let end = monotonicNanoseconds()
            times.append(end - start)
            start = end
        }
        return times
    }
}
