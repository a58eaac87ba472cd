// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A write, or the stream's end, that a task waits for. It connects the operation to the task's cancellation, whichever
/// reaches the event loop first.
final class StreamOperation: Sendable {
    private struct State {
        var isCancelled = false
        var continuation: CheckedContinuation<Void, any Error>?
    }

    let id: UInt64
    private let state = Mutex(State())

    init(id: UInt64) {
        self.id = id
    }

    /// Stores the continuation of the waiting task, unless the operation was cancelled before.
    ///
    /// - Returns: whether the task still waits. If not, the continuation was resumed with a `CancellationError`.
    func start(_ continuation: CheckedContinuation<Void, any Error>) -> Bool {
        let isWanted = self.state.withLock { state in
            guard !state.isCancelled else { return false }
            state.continuation = continuation
            return true
        }
        if !isWanted { continuation.resume(throwing: CancellationError()) }
        return isWanted
    }

    /// Marks the operation as cancelled.
    ///
    /// - Returns: whether the task was waiting.
    func cancel() -> Bool {
        self.state.withLock { state in
            state.isCancelled = true
            return state.continuation != nil
        }
    }

    func succeed() {
        self.take()?.resume()
    }

    func fail(_ error: any Error) {
        self.take()?.resume(throwing: error)
    }

    /// Fails with the error, or succeeds if there is none.
    func end(_ error: StreamError?) {
        if let error { self.fail(error) } else { self.succeed() }
    }

    private func take() -> CheckedContinuation<Void, any Error>? {
        self.state.withLock { $0.continuation.take() }
    }
}
