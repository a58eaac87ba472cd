// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// The received bytes of a stream that were not read yet.
///
/// The event loop adds bytes, and the reading task takes them. Both use a lock, so that reading bytes which have
/// arrived needs no thread switch. All bytes of one read of the network resume a waiting reader once.
final class StreamInbox: Sendable {
    private struct State {
        var machine: StreamInboxStateMachine
        var lastReader: UInt64 = 0
        /// The continuation of the machine's waiting reader.
        var continuation: CheckedContinuation<Void, any Error>?
    }

    private let state: Mutex<State>

    init(limit: Int) {
        self.state = Mutex(State(machine: StreamInboxStateMachine(limit: limit)))
    }

    /// The number of bytes that were received and not read.
    var bufferedBytes: Int { self.state.withLock { $0.machine.bufferedBytes } }
    var isEmpty: Bool { self.state.withLock { $0.machine.isEmpty } }
    var hasReader: Bool { self.state.withLock { $0.machine.waitingReader != nil } }

    /// Lowers the number of unread bytes at which the network is no longer read.
    func limit(to bytes: Int) {
        self.state.withLock { $0.machine.limit = min($0.machine.limit, bytes) }
    }

    // MARK: The event loop

    /// Adds received bytes. ``resumeReader()`` follows when all bytes of one read of the network were added.
    func append(_ bytes: ByteBuffer) {
        self.state.withLock { $0.machine.append(bytes) }
    }

    /// Ends the input after the bytes that were added.
    func finish() {
        self.state.withLock { $0.machine.finish() }
    }

    /// Fails reading: after the unread bytes, or at once if they are dropped.
    func fail(_ error: StreamError, dropsUnread: Bool) {
        self.state.withLock { $0.machine.fail(error, dropsUnread: dropsUnread) }
        self.resumeReader()
    }

    /// Ends a read of the network: resumes the waiting reader if there is something for it.
    func resumeReader() {
        let continuation = self.state.withLock { state in
            state.machine.endRead()
            return state.machine.readerToResume() == nil ? nil : state.continuation.take()
        }
        continuation?.resume()
    }

    /// Returns whether the network is not read until a reader makes space (``StreamInboxStateMachine/Take``).
    func holdsNetwork() -> Bool {
        self.state.withLock { $0.machine.holdsNetwork() }
    }

    // MARK: The reader

    /// Takes bytes that have arrived, without waiting.
    func take(upTo bytes: Int) -> StreamInboxStateMachine.Take {
        self.state.withLock { $0.machine.take(upTo: bytes) }
    }

    /// Waits until ``take(upTo:)`` has a result.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func wait() async throws {
        let reader = self.state.withLock { state in
            state.lastReader += 1
            return state.lastReader
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.wait(reader, continuation)
            }
        } onCancel: {
            let continuation = self.state.withLock { $0.machine.cancel(reader) ? $0.continuation.take() : nil }
            continuation?.resume(throwing: CancellationError())
        }
    }

    private func wait(_ reader: UInt64, _ continuation: CheckedContinuation<Void, any Error>) {
        enum Outcome { case waits, resumes, isCancelled }
        let outcome = self.state.withLock { state in
            // A cancellation sets this before it calls its handler, which finds the reader if this is still `false`.
            if Task.isCancelled { return Outcome.isCancelled }
            guard state.machine.wait(reader) else { return .resumes }
            state.continuation = continuation
            return .waits
        }
        switch outcome {
        case .waits: break
        case .resumes: continuation.resume()
        case .isCancelled: continuation.resume(throwing: CancellationError())
        }
    }
}
