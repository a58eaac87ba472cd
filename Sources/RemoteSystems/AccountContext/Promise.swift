// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A value that is set once and that any number of tasks can wait for.
final class Promise<Value: Sendable>: Sendable {
    private enum State {
        case waiting([UInt64: CheckedContinuation<Value, any Error>], next: UInt64)
        case done(Result<Value, any Error>)
    }

    private let state = Mutex(State.waiting([:], next: 0))

    /// The value. Waits until it is set.
    ///
    /// - Throws: the error passed to ``fail(_:)``; `CancellationError`.
    var value: Value {
        get async throws {
            let id = self.state.withLock { state -> UInt64 in
                guard case .waiting(let waiting, let next) = state else { return 0 }
                state = .waiting(waiting, next: next + 1)
                return next
            }
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { self.wait(id, $0) }
            } onCancel: {
                self.forget(id)
            }
        }
    }

    func succeed(_ value: Value) { self.finish(.success(value)) }
    func fail(_ error: any Error) { self.finish(.failure(error)) }

    private func wait(_ id: UInt64, _ continuation: CheckedContinuation<Value, any Error>) {
        let result = self.state.withLock { state -> Result<Value, any Error>? in
            switch state {
            case .done(let result): return result
            case .waiting(var waiting, let next):
                // The task may be cancelled before this point; the cancellation handler has then found nothing.
                if Task.isCancelled { return .failure(CancellationError()) }
                waiting[id] = continuation
                state = .waiting(waiting, next: next)
                return nil
            }
        }
        if let result { continuation.resume(with: result) }
    }

    private func forget(_ id: UInt64) {
        let continuation = self.state.withLock { state -> CheckedContinuation<Value, any Error>? in
            guard case .waiting(var waiting, let next) = state else { return nil }
            defer { state = .waiting(waiting, next: next) }
            return waiting.removeValue(forKey: id)
        }
        continuation?.resume(throwing: CancellationError())
    }

    private func finish(_ result: Result<Value, any Error>) {
        let waiting = self.state.withLock { state -> [CheckedContinuation<Value, any Error>] in
            guard case .waiting(let waiting, _) = state else { return [] }
            state = .done(result)
            // In the order in which the waits began, since requests are handled in the order in which they arrive.
            return waiting.sorted { $0.key < $1.key }.map(\.value)
        }
        for continuation in waiting { continuation.resume(with: result) }
    }
}
