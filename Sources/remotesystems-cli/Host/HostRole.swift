// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The lock that makes one process the host daemon of a state directory.
///
/// Two daemons would each start the called applications.
struct HostRole: Sendable {
    private let lock: ProcessLock

    /// Takes the lock.
    ///
    /// - Throws: ``Failure`` if another process has it.
    init(stateDirectory: String) throws(Failure) {
        self.lock = try ProcessLock("\(stateDirectory)/host.lock") { process in
            Failure(
                "alreadyRunning",
                "Another host daemon is running for this system (\(process)). Stop it first. For a second system on "
                    + "this machine, give this daemon its own --state-directory."
            )
        }
        self.note(port: nil)
    }

    /// Writes the process id and the port to the file.
    func note(port: Int?) { self.lock.note("process \(getpid())" + (port.map { ", port \($0)" } ?? "")) }
}
