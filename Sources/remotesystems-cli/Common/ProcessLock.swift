// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A lock that at most one process of a state directory has.
///
/// The lock is on a file whose text names the process. The kernel releases it when the process ends for any reason.
struct ProcessLock: Sendable {
    private let descriptor: Int32

    /// Takes the lock. The process keeps it until it ends.
    ///
    /// - Parameters:
    ///   - path: the file, which is created if it does not exist. It stays when the lock is released.
    ///   - taken: returns the error if another process has the lock, whose text it gets.
    /// - Throws: ``Failure``.
    init(_ path: String, taken: (String) -> Failure) throws(Failure) {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            defer { close(descriptor) }
            guard errno == EWOULDBLOCK else { throw Self.failure(path) }
            throw taken(Self.text(descriptor))
        }
        self.descriptor = descriptor
    }

    /// Writes the text that another process reads.
    func note(_ text: String) {
        // Errors are ignored: the text is only for messages, and the lock works without it.
        // Written before it is cut off: a reader finds no empty text.
        _ = unsafe pwrite(self.descriptor, text, text.utf8.count, 0)
        _ = ftruncate(self.descriptor, off_t(text.utf8.count))
    }

    private static let maxBytes = 128

    private static func text(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: Self.maxBytes)
        let count = unsafe pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }

    private static func failure(_ path: String) -> Failure {
        Failure("localResources", "\(path) cannot be locked: \(unsafe String(cString: strerror(errno))).")
    }
}
