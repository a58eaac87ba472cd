// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
internal import NIOPosix

/// An open file. Every call that may wait for a disk runs on NIO's thread pool, so that it blocks neither the event
/// loop nor the threads of Swift's tasks.
///
/// Only one call may run at a time. The code that opens the file must close it.
struct StreamFile: Sendable {
    private let descriptor: CInt

    /// Opens a file, on a thread of the pool for blocking calls.
    ///
    /// - Throws: `IOError`.
    static func open(_ path: String, _ flags: CInt, mode: mode_t = 0o666) async throws -> StreamFile {
        try await NIOThreadPool.singleton.runIfActive {
            let descriptor = unsafe Glibc.open(path, flags | O_CLOEXEC, mode)
            guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "open") }
            return StreamFile(descriptor: descriptor)
        }
    }

    /// Closes the file asynchronously.
    func close() {
        let descriptor = self.descriptor
        NIOThreadPool.singleton.submit { _ in _ = Glibc.close(descriptor) }
    }

    /// Reads up to this many bytes. The result is shorter only at the end of the file.
    ///
    /// - Returns: a future that fails with `IOError`.
    func read(_ count: Int, at offset: Int64, on eventLoop: any EventLoop) -> EventLoopFuture<ByteBuffer> {
        let descriptor = self.descriptor
        return NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) {
            var buffer = ByteBuffer()
            buffer.reserveCapacity(count)
            while buffer.readableBytes < count {
                let left = count - buffer.readableBytes
                let at = offset + Int64(buffer.readableBytes)
                let result = try unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: left) { memory in
                    while true {
                        let count = unsafe pread(descriptor, memory.baseAddress, left, off_t(at))
                        if count >= 0 { return count }
                        guard errno == EINTR else { throw IOError(errnoCode: errno, reason: "read") }
                    }
                }
                guard result > 0 else { break }
            }
            return buffer
        }
    }

    /// Appends the bytes to those written before.
    ///
    /// - Returns: the number of bytes.
    /// - Throws: `IOError`.
    func write(_ chunks: [ByteBuffer]) async throws -> Int64 {
        let descriptor = self.descriptor
        return try await NIOThreadPool.singleton.runIfActive {
            var count: Int64 = 0
            for chunk in chunks {
                count += Int64(chunk.readableBytes)
                try Self.write(chunk, to: descriptor)
            }
            return count
        }
    }

    private static func write(_ chunk: ByteBuffer, to descriptor: CInt) throws(IOError) {
        var left = chunk
        while left.readableBytes > 0 {
            let written = unsafe left.readWithUnsafeReadableBytes { memory in
                let count = unsafe Glibc.write(descriptor, memory.baseAddress, memory.count)
                return (max(0, count), count)
            }
            guard written >= 0 || errno == EINTR else { throw IOError(errnoCode: errno, reason: "write") }
        }
    }

    /// Renames a file, on a thread of the pool for blocking calls.
    ///
    /// - Throws: `IOError`.
    static func rename(_ path: String, to newPath: String) async throws {
        try await NIOThreadPool.singleton.runIfActive {
            guard unsafe Glibc.rename(path, newPath) == 0 else { throw IOError(errnoCode: errno, reason: "rename") }
        }
    }

    /// Removes a file asynchronously, if it exists.
    static func remove(_ path: String) {
        NIOThreadPool.singleton.submit { _ in _ = unsafe unlink(path) }
    }
}
