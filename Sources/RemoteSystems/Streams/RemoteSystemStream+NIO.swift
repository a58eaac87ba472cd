// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import NIOCore
internal import RemoteSystemsTransport

/// SwiftNIO versions of the operations, which do not copy the bytes and need no executor hop.
extension RemoteSystemStream {
    /// An executor that runs tasks on the stream's event loop.
    ///
    /// A task that prefers this executor reads and writes without an executor hop. It must not block, because other
    /// connections share the event loop.
    public var executor: any TaskExecutor { self.stream.taskExecutor }

    /// Waits for data and returns the oldest part of it as a buffer, without copying.
    ///
    /// - Returns: 1 byte to 64 KiB; `nil` when the peer has finished.
    /// - Throws: the errors of ``read()``.
    public func readBuffer() async throws -> ByteBuffer? {
        try await RemoteSystemError.mapping { try await self.stream.read() }
    }

    /// Writes the readable bytes of a buffer, without copying them.
    ///
    /// Returns when they have been passed to the network, and waits while the peer does not keep up.
    ///
    /// - Parameter buffer: the bytes to write.
    /// - Throws: the errors of ``write(_:)``.
    public func write(buffer: ByteBuffer) async throws {
        try await RemoteSystemError.mapping { try await self.stream.write(buffer) }
    }
}
