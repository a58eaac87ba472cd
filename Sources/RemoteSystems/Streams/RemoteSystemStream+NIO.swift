// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import NIOCore
internal import RemoteSystemsTransport

/// For programs that use SwiftNIO: the same without copying the bytes, and without a change of threads.
extension RemoteSystemStream {
    /// Runs tasks on the stream's event loop. A task that prefers it reads and writes without a change of threads; it must not
    /// block.
    public var executor: any TaskExecutor { self.stream.taskExecutor }

    /// Reads what has arrived, or waits until something does, without copying it.
    ///
    /// - Returns: 1 byte to 256 KiB; `nil` when the other side has finished.
    /// - Throws: as ``read()``.
    public func readBuffer() async throws -> ByteBuffer? {
        try await RemoteSystemError.mapping { try await self.stream.read() }
    }

    /// Writes bytes without copying them.
    ///
    /// - Throws: as ``write(_:)``.
    public func write(buffer: ByteBuffer) async throws {
        try await RemoteSystemError.mapping { try await self.stream.write(buffer) }
    }
}
