// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems

/// The reading half of a continuation stream: what the other application writes to its output.
///
/// When both halves are released, the stream is aborted, unless the input was read to its end and the output finished.
public struct ContinuationInputStream: Sendable, AsyncSequence {
    /// The data of one read: everything that has arrived, 1 byte to 256 KiB.
    public typealias Element = [UInt8]

    let stream: RemoteSystemStream

    /// Creates an iterator. A second iterator continues where the first one stopped. Do not use two at the same time.
    public func makeAsyncIterator() -> RemoteSystemStream.AsyncIterator { self.stream.makeAsyncIterator() }

    /// Waits for data and returns it.
    ///
    /// - Returns: 1 byte to 256 KiB; `nil` when the other application has finished its output.
    /// - Throws: the errors of `RemoteSystemStream.read()`.
    public func read() async throws -> [UInt8]? { try await self.stream.read() }

    /// Receives a file: everything until the other application finishes its output.
    ///
    /// - Parameters:
    ///   - path: the file's path. The complete file appears there at the end, and replaces an existing one.
    ///   - maxBytes: the maximum number of bytes. Defaults to `nil`: none.
    /// - Returns: the number of bytes received.
    /// - Throws: the errors of `RemoteSystemStream.receive(intoFile:maxBytes:)`.
    @discardableResult
    public func receive(intoFile path: String, maxBytes: Int64? = nil) async throws -> Int64 {
        try await self.stream.receive(intoFile: path, maxBytes: maxBytes)
    }
}

/// The writing half of a continuation stream: the other application reads it from its input.
public struct ContinuationOutputStream: Sendable {
    let stream: RemoteSystemStream

    /// Writes bytes. Waits while the other application does not read.
    ///
    /// - Throws: the errors of `RemoteSystemStream.write(_:)`.
    public func write(_ bytes: some Sequence<UInt8> & Sendable) async throws { try await self.stream.write(bytes) }

    /// Sends the contents of a file.
    ///
    /// - Parameter path: the file's path.
    /// - Returns: the number of bytes sent.
    /// - Throws: the errors of `RemoteSystemStream.send(contentsOfFile:)`.
    @discardableResult
    public func send(contentsOfFile path: String) async throws -> Int64 {
        try await self.stream.send(contentsOfFile: path)
    }

    /// Ends the output. The other application's input then ends. Finishing twice has no effect.
    ///
    /// - Throws: the errors of `RemoteSystemStream.finish()`.
    public func finish() async throws { try await self.stream.finish() }

    /// Waits until both applications have finished, and each has received everything.
    ///
    /// - Throws: the errors of `RemoteSystemStream.waitUntilFinished()`.
    public func waitUntilFinished() async throws { try await self.stream.waitUntilFinished() }

    /// Aborts both halves: reading and writing fail in both applications. Has no effect on a stream that has ended.
    ///
    /// - Parameter reason: a sentence for the other application, cut off after 512 bytes of UTF-8.
    public func abort(_ reason: String) { self.stream.abort(reason) }
}
