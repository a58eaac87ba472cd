// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsTransport

/// Ordered bytes both ways between two systems, over a connection of their own.
///
/// For what is too large or too long for a message: files, pictures, sound. Each side writes until it calls ``finish()``, and
/// reads until the other side does. The sequence ends then, and in no other case: a connection that ends before throws
/// ``RemoteSystemError/Code/streamTruncated``.
///
/// ```swift
/// for try await bytes in stream { try await player.play(bytes) }
/// ```
///
/// A side that does not read makes the other side wait: a stream holds at most 256 KiB that were not read, and on top of
/// that what one pass over the network delivers. A side that takes nothing for five minutes while the other one sends is given up.
/// A stream that nothing refers to any more is aborted. One task reads at a time; other tasks may write meanwhile.
///
/// A host offers a stream (``AppServiceConnection/offerStream()``), and its caller opens it
/// (``AppServiceConnection/openStream(_:)``).
public final class RemoteSystemStream: Sendable, AsyncSequence {
    /// 1 byte to 256 KiB, as the network delivered them.
    public typealias Element = [UInt8]

    let stream: ByteStream
    /// The system at the other end, proved by its certificate.
    public let systemID: SystemID

    init(_ stream: ByteStream) {
        self.stream = stream
        self.systemID = stream.peer.systemID
    }

    // MARK: Reading

    /// Reads a stream.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let stream: RemoteSystemStream

        /// Reads what has arrived, or waits until something does.
        ///
        /// - Returns: `nil` when the other side has finished.
        /// - Throws: as ``RemoteSystemStream/read()``.
        public mutating func next() async throws -> [UInt8]? {
            try await self.stream.read()
        }
    }

    /// Reads the stream. A second iterator goes on where the first one stopped.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(stream: self)
    }

    /// Reads what has arrived, or waits until something does.
    ///
    /// - Returns: 1 byte to 256 KiB; `nil` when the other side has finished.
    /// - Throws: ``RemoteSystemError``: with ``RemoteSystemError/Code/streamTruncated`` when the connection ended before the last
    ///   byte, with ``RemoteSystemError/Code/streamAborted`` when one side gave the stream up, with
    ///   ``RemoteSystemError/Code/notTrusted`` when the other system was revoked; `CancellationError`: nothing is lost then,
    ///   and the stream can be read again.
    public func read() async throws -> [UInt8]? {
        try await RemoteSystemError.mapping { try await self.stream.read().map { Array($0.readableBytesView) } }
    }

    // MARK: Writing

    /// Writes bytes. Returns when they were handed to the network; waits while the other side does not keep up.
    ///
    /// - Throws: ``RemoteSystemError``, as ``read()``; with ``RemoteSystemError/Code/misuse`` after ``finish()``.
    ///   `CancellationError`: if some of the bytes were sent already, the stream is aborted then, otherwise it goes on.
    public func write(_ bytes: some Sequence<UInt8> & Sendable) async throws {
        let buffer = ByteBuffer(bytes: bytes)
        try await RemoteSystemError.mapping { try await self.stream.write(buffer) }
    }

    /// Ends what this side sends; reading goes on. Finishing twice does no harm.
    ///
    /// - Throws: ``RemoteSystemError``, as ``read()``; `CancellationError`: the end is sent all the same.
    public func finish() async throws {
        try await RemoteSystemError.mapping { try await self.stream.finish() }
    }

    // MARK: Files

    /// Sends a file from its beginning to its end. Call ``finish()`` when nothing else is to follow.
    ///
    /// The file is read off the threads of Swift's tasks, at most 512 KiB at a time.
    ///
    /// - Parameter path: the file's path.
    /// - Returns: how many bytes were sent.
    /// - Throws: ``RemoteSystemError``, as ``read()``; with ``RemoteSystemError/Code/fileFailed`` when the file cannot be read.
    ///   The stream is aborted then.
    @discardableResult
    public func send(contentsOfFile path: String) async throws -> Int64 {
        try await RemoteSystemError.mapping { try await self.stream.send(contentsOf: path) }
    }

    /// Receives a file: everything that the other side sends until it finishes.
    ///
    /// The file appears under its name when it is complete, and replaces one that is there. An error leaves no file.
    ///
    /// - Parameter path: the file's path. Its directory must exist.
    /// - Returns: how many bytes were received.
    /// - Throws: ``RemoteSystemError``, as ``read()``; with ``RemoteSystemError/Code/localResources`` when the file system is full,
    ///   with ``RemoteSystemError/Code/fileFailed`` when the file cannot be written. The stream is aborted then.
    @discardableResult
    public func receive(intoFile path: String) async throws -> Int64 {
        try await RemoteSystemError.mapping { try await self.stream.receive(into: path) }
    }

    // MARK: Ending

    /// Waits until both sides have finished and each has received everything.
    ///
    /// - Throws: ``RemoteSystemError`` when that cannot happen any more, as ``read()``; with
    ///   ``RemoteSystemError/Code/connectionLost`` when it is unknown whether the other side has everything.
    public func waitUntilFinished() async throws {
        try await RemoteSystemError.mapping { try await self.stream.waitUntilFinished() }
    }

    /// Gives the stream up, both ways. Reading and writing fail on both sides; what was not read is dropped. Does nothing to a
    /// stream that is over.
    ///
    /// - Parameter reason: a sentence that the other side gets; at most 512 bytes of UTF-8 of it.
    public func abort(_ reason: String = "The other side gave the stream up.") {
        self.stream.abort(WireFailure(reason, code: .streamCancelled))
    }
}
