// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The daemon's role for one state directory. One process has it at a time: two would each start what is called.
///
/// It is a lock on a file, which says whose it is, and is given back when the process ends, however it ends.
struct HostRole: Sendable {
    private let descriptor: Int32

    /// Takes the role.
    ///
    /// - Throws: ``Failure`` when another process has it.
    init(stateDirectory: String) throws(Failure) {
        let path = "\(stateDirectory)/host.lock"
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            defer { close(descriptor) }
            guard errno == EWOULDBLOCK else { throw Self.failure(path) }
            throw Failure(
                "alreadyRunning",
                "Another host daemon speaks for this system (\(Self.text(descriptor))), and one is enough. Stop it first; for a "
                    + "second system on this machine give this one a --state-directory of its own."
            )
        }
        self.descriptor = descriptor
        self.note(port: nil)
    }

    /// Says where this process can be reached.
    func note(port: Int?) {
        let text = "process \(getpid())" + (port.map { ", port \($0)" } ?? "")
        // What it says is for people; the lock counts.
        guard ftruncate(self.descriptor, 0) == 0 else { return }
        _ = unsafe pwrite(self.descriptor, text, text.utf8.count, 0)
    }

    private static func text(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = unsafe pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }

    private static func failure(_ path: String) -> Failure {
        Failure("localResources", "\(path) cannot be locked: \(unsafe String(cString: strerror(errno))).")
    }
}
