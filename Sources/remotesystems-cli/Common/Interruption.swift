// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import UnixSignals

/// Runs `body`, and cancels it on SIGINT (Ctrl-C) or SIGTERM.
///
/// - Parameter executor: Runs `body`; `nil` for the executor of the calling task.
/// - Returns: The result of `body`, or nil if a signal came and `body` threw `CancellationError`.
func untilInterrupted<Result: Sendable>(
    on executor: (any TaskExecutor)? = nil,
    _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result? {
    let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
    return try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask(executorPreference: executor) {
            do {
                return try await body()
            } catch is CancellationError {
                return nil
            }
        }
        group.addTask {
            for await _ in signals { return nil }
            return nil
        }
        defer { group.cancelAll() }
        guard let first = try await group.next() else { return nil }
        if let first { return first }
        // A signal came: the result is what the cancelled body returns.
        group.cancelAll()
        return try await group.next() ?? nil
    }
}

/// Runs `body`, and cancels it on SIGINT (Ctrl-C) or SIGTERM.
///
/// - Parameter executor: Runs `body`; `nil` for the executor of the calling task.
/// - Throws: `CancellationError` if a signal came and `body` threw it.
func interruptible<Result: Sendable>(
    on executor: (any TaskExecutor)? = nil,
    _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    guard let result = try await untilInterrupted(on: executor, body) else { throw CancellationError() }
    return result
}

/// Runs `body`, which blocks and stops by itself when its task is cancelled, and cancels it on SIGINT or SIGTERM.
///
/// - Throws: `CancellationError` if a signal came and `body` threw an error of any kind.
func blockingUntilInterrupted<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await interruptible(on: ThreadExecutor()) { () async throws -> Result in
        do {
            return try body()
        } catch {
            try Task.checkCancellation()
            throw error
        }
    }
}

/// Runs tasks that block, on a thread of its own. On a machine with one core, the shared pool has a single thread. A
/// task that blocks it would keep the task that waits for signals from running.
private final class ThreadExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "remote-systems.blocking")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
