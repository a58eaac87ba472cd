// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOPosix

/// An open file, which NIO's thread pool reads and writes. Only one call may run at a time.
struct RawFile: Sendable {
    private let descriptor: CInt

    static func toRead(_ path: String) async throws -> RawFile {
        try await open(path, O_RDONLY)
    }

    /// Creates the file or empties it.
    static func toWrite(_ path: String) async throws -> RawFile {
        try await open(path, O_WRONLY | O_CREAT | O_TRUNC)
    }

    private static func open(_ path: String, _ flags: CInt, mode: mode_t = 0o600) async throws -> RawFile {
        try await NIOThreadPool.singleton.runIfActive {
            let descriptor = unsafe Glibc.open(path, flags | O_CLOEXEC, mode)
            guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "open") }
            return RawFile(descriptor: descriptor)
        }
    }

    /// Reads up to this many bytes. Returns none at the end of the file, and after an error.
    func read(_ count: Int, at offset: Int) async throws -> ByteBuffer {
        let descriptor = self.descriptor
        return try await NIOThreadPool.singleton.runIfActive {
            var buffer = ByteBuffer()
            _ = unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { memory in
                unsafe max(0, pread(descriptor, memory.baseAddress, count, off_t(offset)))
            }
            return buffer
        }
    }

    /// Appends the bytes to those written before.
    func write(_ bytes: [UInt8]) async throws {
        let descriptor = self.descriptor
        try await NIOThreadPool.singleton.runIfActive {
            var left = bytes[...]
            while !left.isEmpty {
                let written = unsafe left.withUnsafeBytes { memory in
                    unsafe Glibc.write(descriptor, memory.baseAddress, memory.count)
                }
                guard written >= 0 || errno == EINTR else { throw IOError(errnoCode: errno, reason: "write") }
                left = left.dropFirst(max(0, written))
            }
        }
    }

    func close() {
        let descriptor = self.descriptor
        NIOThreadPool.singleton.submit { _ in _ = Glibc.close(descriptor) }
    }
}
