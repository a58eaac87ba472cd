// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsTransport

/// An ordered byte stream in both directions between two systems, over a connection of its own.
///
/// Use it for data that is too large or too long for a message: files, pictures, sound. Each side writes until it calls
/// ``finish()``, and reads until the peer has called it. Only then does the sequence end: if the connection ends
/// earlier, the sequence throws ``RemoteSystemError/Code/streamTruncated``.
///
/// ```swift
/// for try await bytes in stream { try await player.play(bytes) }
/// ```
///
/// A side that does not read makes its peer wait: a stream buffers at most 256 KiB of unread data, plus the data of one
/// network read. The stream is aborted when one side reads nothing for five minutes while the peer is sending. It is
/// also aborted when this value is no longer referenced, unless it has been read to its end and finished. One task may
/// read at a time; other tasks may write meanwhile.
///
/// The host offers a stream (``AppServiceConnection/offerStream()``), and its caller opens it
/// (``AppServiceConnection/openStream(_:)``).
public final class RemoteSystemStream: Sendable, AsyncSequence {
    /// The data of one read: everything that has arrived, 1 byte to 256 KiB.
    public typealias Element = [UInt8]

    let stream: ByteStream
    /// The id of the peer's system, proved by its certificate.
    public let systemID: SystemID

    init(_ stream: ByteStream) {
        self.stream = stream
        self.systemID = stream.peer.systemID
    }

    /// Calls a closure once the stream's connection has closed. It does not keep the stream open.
    package func onClose(_ listener: @escaping @Sendable () -> Void) { self.stream.onClose(listener) }

    // MARK: Reading

    /// An iterator that reads the stream.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let stream: RemoteSystemStream

        /// Waits for data and returns it.
        ///
        /// - Returns: the data; `nil` when the peer has finished.
        /// - Throws: the errors of ``RemoteSystemStream/read()``.
        public mutating func next() async throws -> [UInt8]? {
            try await self.stream.read()
        }
    }

    /// Creates an iterator. A second iterator continues where the first one stopped. Do not use two at the same time.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(stream: self)
    }

    /// Waits for data and returns everything that has arrived.
    ///
    /// - Returns: 1 byte to 256 KiB; `nil` when the peer has finished.
    /// - Throws: ``RemoteSystemError``:
    ///   - ``RemoteSystemError/Code/streamTruncated`` when the connection ended before the last byte,
    ///   - ``RemoteSystemError/Code/streamAborted`` when one side aborted the stream,
    ///   - ``RemoteSystemError/Code/notTrusted`` when the peer was revoked or its certificate expired,
    ///   - ``RemoteSystemError/Code/protocolViolation`` when the peer violated the protocol,
    ///   - ``RemoteSystemError/Code/misuse`` when another task is reading.
    ///
    ///   `CancellationError` when the task is cancelled; no data is lost then, and the stream remains readable.
    public func read() async throws -> [UInt8]? {
        try await RemoteSystemError.mapping { try await self.stream.readBytes() }
    }

    // MARK: Writing

    /// Writes bytes. Returns when they have been passed to the network, and waits while the peer does not keep up.
    ///
    /// - Parameter bytes: the bytes to write. An array is copied while it is sent, other sequences before as well.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse`` after ``finish()``; if the stream has
    ///   failed, with the code that ``read()`` throws for the failure. `CancellationError` when the task is cancelled;
    ///   if some of the bytes were already sent, the stream is aborted.
    public func write(_ bytes: some Sequence<UInt8> & Sendable) async throws {
        try await RemoteSystemError.mapping {
            // Frames copy their parts from an array. Other sequences are copied once more.
            if let array = bytes as? [UInt8] {
                try await self.stream.write(array)
            } else {
                try await self.stream.write(ByteBuffer(bytes: bytes))
            }
        }
    }

    /// Ends the sending direction; reading continues. Finishing twice has no effect.
    ///
    /// - Throws: ``RemoteSystemError`` if the stream has failed, with the code that ``read()`` throws for the failure.
    ///   `CancellationError` when the task is cancelled; the stream still sends the end of its data.
    public func finish() async throws {
        try await RemoteSystemError.mapping { try await self.stream.finish() }
    }

    // MARK: Files

    /// Sends the contents of a file. Call ``finish()`` if nothing else follows.
    ///
    /// The file is read on a separate thread, at most 512 KiB at a time.
    ///
    /// - Parameter path: the file's path.
    /// - Returns: the number of bytes sent.
    /// - Throws: the errors of ``write(_:)``; ``RemoteSystemError`` with ``RemoteSystemError/Code/fileFailed`` when the
    ///   file cannot be read. The stream is then aborted.
    @discardableResult
    public func send(contentsOfFile path: String) async throws -> Int64 {
        try await RemoteSystemError.mapping { try await self.stream.send(contentsOf: path) }
    }

    /// Receives a file: everything that the peer sends until it finishes.
    ///
    /// The complete file appears under its path at the end, and replaces an existing one. After an error there is no
    /// new file.
    ///
    /// - Parameters:
    ///   - path: the file's path. Its directory must exist.
    ///   - maxBytes: the maximum number of bytes: a peer that sends more fills no disk. Defaults to `nil`: none.
    /// - Returns: the number of bytes received.
    /// - Throws: the errors of ``read()``; ``RemoteSystemError`` with ``RemoteSystemError/Code/localResources`` when
    ///   the file system is full, with ``RemoteSystemError/Code/fileFailed`` when the file cannot be written, with
    ///   ``RemoteSystemError/Code/streamAborted`` when the peer sends more than `maxBytes`, with
    ///   ``RemoteSystemError/Code/invalidArgument`` when `maxBytes` is negative. The stream is then aborted.
    @discardableResult
    public func receive(intoFile path: String, maxBytes: Int64? = nil) async throws -> Int64 {
        try await self.receive(intoFile: path, maxBytes: maxBytes, progress: nil)
    }

    /// Receives a file as ``receive(intoFile:maxBytes:)``.
    ///
    /// - Parameter progress: called with the number of bytes that have arrived, on the stream's event loop.
    @discardableResult
    package func receive(
        intoFile path: String,
        maxBytes: Int64?,
        progress: (@Sendable (_ received: Int64) -> Void)?
    ) async throws -> Int64 {
        guard maxBytes.map({ $0 >= 0 }) ?? true else {
            self.abort()
            throw RemoteSystemError(.invalidArgument, "The maximum number of bytes is negative.", side: .local)
        }
        return try await RemoteSystemError.mapping {
            try await self.stream.receive(into: path, max: maxBytes ?? .max, progress: progress)
        }
    }

    // MARK: Ending

    /// Waits until both sides have finished and each has received all data.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/connectionLost`` when it is unknown whether the
    ///   peer has received all data, or, if the stream has failed, with the code that ``read()`` throws for the
    ///   failure; `CancellationError` when the task is cancelled. The stream stays open then.
    public func waitUntilFinished() async throws {
        try await RemoteSystemError.mapping { try await self.stream.waitUntilFinished() }
    }

    /// Aborts the stream in both directions. Has no effect on a stream that has ended.
    ///
    /// Reading and writing then fail on both sides with ``RemoteSystemError/Code/streamAborted``, and unread data is
    /// dropped.
    ///
    /// - Parameter reason: a sentence for the peer, cut off after 512 bytes of UTF-8. Defaults to a sentence that gives
    ///   no reason.
    public func abort(_ reason: String = "The other side gave the stream up.") {
        self.stream.abort(WireFailure(reason, code: .streamCancelled))
    }

    /// Aborts the stream as ``abort(_:)``, with a code of a service.
    package func abort(_ reason: String, code: String, canRetry: Bool) {
        self.stream.abort(WireFailure(reason, codeText: code, canRetry: canRetry))
    }
}
