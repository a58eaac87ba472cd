// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A sleeping task. It resumes once, at the first call of ``wake()`` or ``cancel()``.
final class SleepingTask: Sendable {
    private let continuation = Mutex<CheckedContinuation<Void, any Error>?>(nil)

    func hold(_ continuation: CheckedContinuation<Void, any Error>) {
        self.continuation.withLock { $0 = continuation }
    }

    func wake() { self.take()?.resume() }
    func cancel() { self.take()?.resume(throwing: CancellationError()) }

    private func take() -> CheckedContinuation<Void, any Error>? {
        self.continuation.withLock { $0.take() }
    }
}
