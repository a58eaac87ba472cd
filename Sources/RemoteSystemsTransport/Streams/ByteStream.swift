// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import RemoteSystemsIdentity

/// Ordered bytes in both directions between two systems, over a connection of their own.
///
/// Each side writes until it calls ``finish()``. The reading side's sequence ends when the other side has finished, and
/// in no other case: if the connection ends before, reading fails with ``StreamError/Code/truncated``. When the last
/// reference to a stream is released, it is aborted, unless this side has finished and has read everything.
///
/// A stream holds at most ``StreamLimits/bufferedBytes`` of unread bytes, plus the bytes of one read of the event loop;
/// then the peer has to wait. One task may read while another one writes, but only one task may read at a time.
package final class ByteStream: Sendable, AsyncSequence {
    package typealias Element = ByteBuffer

    private let connection: StreamConnection

    package init(_ connection: StreamConnection) {
        self.connection = connection
    }

    deinit {
        self.connection.onEventLoop { $0.released() }
    }

    /// The authenticated system at the other end.
    package var peer: PeerIdentity { self.connection.peer }

    /// The executor that runs tasks on the stream's event loop, which avoids a thread switch for each chunk.
    package var taskExecutor: EventLoopTaskExecutor { self.connection.taskExecutor }

    var streamConnection: StreamConnection { self.connection }
    var eventLoop: any EventLoop { self.connection.eventLoop }

    /// Calls a closure once the connection has closed. It does not keep the stream open.
    package func onClose(_ listener: @escaping @Sendable () -> Void) { self.connection.onClose { _ in listener() } }

    // MARK: Reading

    /// An iterator that reads the stream.
    package struct AsyncIterator: AsyncIteratorProtocol {
        let stream: ByteStream

        package mutating func next() async throws -> ByteBuffer? {
            try await self.stream.read()
        }
    }

    package func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(stream: self)
    }

    /// Reads the oldest bytes that have arrived, or waits for some.
    ///
    /// - Returns: 1 byte to 64 KiB, without a copy; `nil` when the other side has finished.
    /// - Throws: ``StreamError``; `CancellationError` when the task is cancelled. No bytes are lost then, and the
    ///   stream can be read again.
    package func read() async throws -> ByteBuffer? {
        try await self.take(upTo: 0)?.first
    }

    /// Reads all bytes that have arrived, or waits for some, as ``read()`` does.
    ///
    /// - Returns: a copy of 1 byte to 256 KiB; `nil` when the other side has finished.
    package func readBytes() async throws -> [UInt8]? {
        guard let chunks = try await self.readChunks() else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(chunks.reduce(0) { $0 + $1.readableBytes })
        for chunk in chunks { bytes.append(contentsOf: chunk.readableBytesView) }
        return bytes
    }

    /// Reads all chunks that have arrived, at most 256 KiB, or waits for some, as ``read()`` does.
    func readChunks() async throws -> [ByteBuffer]? {
        try await self.take(upTo: 256 << 10)
    }

    /// Takes chunks that have arrived, or waits for some; `nil` at the end.
    private func take(upTo bytes: Int) async throws -> [ByteBuffer]? {
        let connection = self.connection
        while true {
            switch connection.inbox.take(upTo: bytes) {
            case .chunks(let chunks, let makesSpace):
                if makesSpace { connection.onEventLoop { $0.inboxHasSpace() } }
                return chunks
            case .end: return nil
            case .wait: try await connection.inbox.wait()
            case .failed(let error): throw error
            case .alreadyReading: throw StreamError.alreadyReading
            }
        }
    }

    // MARK: Writing

    /// Writes bytes. Returns when they were passed to the network.
    ///
    /// Waits while the other side does not keep up. Bytes of concurrent writes are not interleaved.
    ///
    /// - Throws: ``StreamError``; `CancellationError` when the task is cancelled. If some of the bytes were sent
    ///   already, the stream is aborted; otherwise it continues.
    package func write(_ bytes: ByteBuffer) async throws {
        try await self.write(.buffer(bytes))
    }

    /// Writes bytes, as ``write(_:)-(ByteBuffer)`` does. Each frame copies its part when it is sent.
    package func write(_ bytes: [UInt8]) async throws {
        try await self.write(.array(bytes[...]))
    }

    private func write(_ bytes: StreamSource) async throws {
        guard bytes.count > 0 else { return }
        let connection = self.connection
        let operation = connection.nextOperation()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                connection.onEventLoop { $0.write(operation, bytes, continuation) }
            }
        } onCancel: {
            connection.onEventLoop { $0.cancel(operation) }
        }
    }

    /// Ends this side's output. The other side's sequence ends when it has read everything. Reading continues.
    ///
    /// Returns when the end was passed to the network. ``waitUntilFinished()`` waits until the other side has received
    /// everything.
    ///
    /// - Throws: ``StreamError``; `CancellationError` when the task is cancelled. The end is still sent then.
    package func finish() async throws {
        let connection = self.connection
        let operation = connection.nextOperation()
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
    /// - Throws: ``StreamError`` if the stream fails before; `CancellationError` when the task is cancelled. The stream
    ///   continues then.
    package func waitUntilFinished() async throws {
        let connection = self.connection
        let operation = connection.nextOperation()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                connection.onEventLoop { $0.waitUntilEnded(operation, continuation) }
            }
        } onCancel: {
            connection.onEventLoop { $0.cancelWait(operation) }
        }
    }

    /// Aborts the stream in both directions. Both sides fail with the reason, and unread bytes are dropped. Has no
    /// effect on a stream that has ended.
    package func abort(_ reason: WireFailure = .streamCancelled) {
        self.connection.abort(reason)
    }
}
