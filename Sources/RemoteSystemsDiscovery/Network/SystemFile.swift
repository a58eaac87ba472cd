// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads files of the kernel and of the system, such as those below `/proc` and `/sys`.
///
/// `Data(contentsOf:)` and `String(contentsOfFile:encoding:)` lose 4 KiB of memory each time they read an empty file,
/// and a program reads some of these files again and again for months.
package enum SystemFile {
    /// Returns the text of a file. Invalid UTF-8 is replaced.
    ///
    /// - Parameter limit: The maximum length, in bytes. Defaults to 16 MiB.
    /// - Returns: `nil` if the file is missing, cannot be read, or is longer.
    package static func text(of path: String, limit: Int = 16 << 20) -> String? {
        Self.bytes(of: path, limit: limit).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the contents of a file, as ``text(of:limit:)``.
    package static func bytes(of path: String, limit: Int = 16 << 20) -> [UInt8]? {
        // Non-blocking: opening a named pipe must not hang.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // Until the end: the size of a file of the kernel is 0, whatever it contains.
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 12)
        while true {
            let count = unsafe read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= limit else { return nil }
        }
    }
}
