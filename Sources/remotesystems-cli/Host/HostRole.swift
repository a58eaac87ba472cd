// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The lock that makes one process the host daemon of a state directory.
///
/// Two daemons would each start the called applications. The lock is on a file that names the process. The kernel
/// releases it when the process ends for any reason.
struct HostRole: Sendable {
    private let descriptor: Int32

    /// Takes the lock.
    ///
    /// - Throws: ``Failure`` if another process has it.
    init(stateDirectory: String) throws(Failure) {
        let path = "\(stateDirectory)/host.lock"
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            defer { close(descriptor) }
            guard errno == EWOULDBLOCK else { throw Self.failure(path) }
            throw Failure(
                "alreadyRunning",
                "Another host daemon is running for this system (\(Self.text(descriptor))). Stop it first. For a "
                    + "second system on this machine, give this daemon its own --state-directory."
            )
        }
        self.descriptor = descriptor
        self.note(port: nil)
    }

    /// Writes the process id and the port to the file.
    func note(port: Int?) {
        let text = "process \(getpid())" + (port.map { ", port \($0)" } ?? "")
        // Errors are ignored: the text is only for messages, and the lock works without it.
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
