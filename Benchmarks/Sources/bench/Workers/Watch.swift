// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A running watcher, and the times at which it added systems.
struct Watch: Sendable {
    private let instants: AsyncStream<Int64>
    private let watcher: any Stoppable

    init(_ contestant: some DiscoveringContestant, _ setup: Setup) async throws {
        let (instants, continuation) = AsyncStream.makeStream(of: Int64.self, bufferingPolicy: .bufferingOldest(16))
        self.instants = instants
        watcher = try await contestant.startWatcher(setup) { continuation.yield(monotonicNanoseconds()) }
    }

    /// Waits until the next system is added. Returns the time in monotonic nanoseconds.
    func added(within seconds: Double) async throws -> Int64 {
        try await withThrowingTaskGroup(of: Int64?.self) { group in
            group.addTask {
                var iterator = instants.makeAsyncIterator()
                return await iterator.next()
            }
            group.addTask {
                try await Task.sleep(for: .seconds(seconds))
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let instant = first else {
                throw BenchError("No system was added within \(seconds) s.")
            }
            return instant
        }
    }

    func stop() async throws {
        try await watcher.stop()
    }
}
