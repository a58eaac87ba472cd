// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import RemoteSystemsIdentity

/// Ordered bytes both ways between two systems, over a connection of their own.
///
/// Each side writes until it calls ``finish()``, and reads until the other side does: the sequence ends then, and in no other
/// case. A connection that ends before fails with ``StreamError/Code/truncated``. A stream that nothing refers to any more is
/// given up.
///
/// A stream holds at most ``StreamLimits/bufferedBytes`` that were not read, and what one pass of the event loop reads on
/// top, and makes the peer wait then. Reading and writing may be done by two tasks; only one task reads at a time.
package final class ByteStream: Sendable, AsyncSequence {
    package typealias Element = ByteBuffer

    private let connection: StreamConnection

    package init(_ connection: StreamConnection) {
        self.connection = connection
    }

    deinit {
        self.connection.abort(.streamCancelled)
    }

    /// The system at the other end, proved by its certificate.
    package var peer: PeerIdentity { self.connection.peer }

    /// Runs tasks on the stream's event loop, which saves them a change of threads for each chunk.
    package var taskExecutor: EventLoopTaskExecutor { self.connection.taskExecutor }

    var streamConnection: StreamConnection { self.connection }
    var eventLoop: any EventLoop { self.connection.eventLoop }

    // MARK: Reading

    package struct AsyncIterator: AsyncIteratorProtocol {
        let stream: ByteStream

        package mutating func next() async throws -> ByteBuffer? {
            try await self.stream.read()
        }
    }

    package func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(stream: self)
    }

    /// Reads what has arrived, or waits until something does.
    ///
    /// - Returns: 1 byte to 256 KiB, as the network delivered them; `nil` when the other side has finished.
    /// - Throws: ``StreamError``; `CancellationError` when the task is cancelled: nothing is lost then, and the stream can be
    ///   read again.
    package func read() async throws -> ByteBuffer? {
        let connection = self.connection
        if connection.eventLoop.inEventLoop, let chunk = connection.driver.value.readAtOnce() { return chunk }
        let operation: StreamOperation<ByteBuffer?> = connection.nextOperation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                connection.onEventLoop { $0.read(operation, continuation) }
            }
        } onCancel: {
            connection.onEventLoop { $0.cancel(operation) }
        }
    }

    // MARK: Writing

    /// Writes bytes, and returns when they were handed to the network, so that they may be forgotten.
    ///
    /// Waits while the other side does not keep up. Bytes of several writes at the same time do not mix.
    ///
    /// - Throws: ``StreamError``; `CancellationError` when the task is cancelled. If some of the bytes were sent already, the
    ///   stream is given up then; otherwise it goes on.
    package func write(_ bytes: ByteBuffer) async throws {
        guard bytes.readableBytes > 0 else { return }
        let connection = self.connection
        let operation: StreamOperation<Void> = connection.nextOperation()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                connection.onEventLoop { $0.write(operation, bytes, continuation) }
            }
        } onCancel: {
            connection.onEventLoop { $0.cancel(operation) }
        }
    }

    /// Ends what this side sends; the other side's sequence ends when it has read everything. Reading goes on.
    ///
    /// Returns when the end was handed to the network. ``waitUntilFinished()`` waits until the other side has everything.
    ///
    /// - Throws: ``StreamError``; `CancellationError`: the end is sent all the same.
    package func finish() async throws {
        let connection = self.connection
        let operation: StreamOperation<Void> = connection.nextOperation()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                connection.onEventLoop { $0.finish(operation, continuation) }
            }
        } onCancel: {
            connection.onEventLoop { $0.cancel(operation) }
        }
    }

    // MARK: Ending

    /// Waits until both sides have finished and each has received what the other sent.
    ///
    /// - Throws: ``StreamError`` when that cannot happen any more.
    package func waitUntilFinished() async throws {
        let connection = self.connection
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            connection.onEventLoop { driver in
                driver.onEnd { error in
                    if let error { continuation.resume(throwing: error) } else { continuation.resume() }
                }
            }
        }
    }

    /// Gives the stream up, both ways. Both sides fail with the reason; what was not read is dropped. Does nothing to a stream
    /// that is over.
    package func abort(_ reason: WireFailure = .streamCancelled) {
        self.connection.abort(reason)
    }
}
