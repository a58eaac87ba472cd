// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import Glibc
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Gives application ids to the hosts of one system: an id to one host, or to any number that all share it.
package protocol ApplicationClaims: Sendable {
    /// Takes the id until the claim is released.
    ///
    /// - Parameters:
    ///   - application: the application's id.
    ///   - isShared: whether other hosts that share the id as well may run at the same time.
    /// - Throws: ``ApplicationIsTaken``; another error when that cannot be found out.
    func claim(_ application: String, isShared: Bool) throws -> any ApplicationClaim
}

/// A host's hold on its application id. It ends when nothing refers to the claim any more, and with the process.
package protocol ApplicationClaim: AnyObject, Sendable {}

/// Another host has the application id, and at least one of the two does not share it.
package struct ApplicationIsTaken: Error {
    /// The processes that run as the application, such as `process 4711 (player)`; empty if they cannot be named.
    package var holders: [String]

    package init(holders: [String]) {
        self.holders = holders
    }
}

/// The application ids of one account store: a file for each id in `run/locks/` of the state directory, locked (flock)
/// by the processes that run as the application. The kernel releases a lock when its process ends, however that ends.
struct ApplicationLocks: ApplicationClaims {
    let running: RunningApplications

    private final class Lock: ApplicationClaim {
        private let descriptor: Int32

        init(descriptor: Int32) {
            self.descriptor = descriptor
        }

        /// The file stays: removing it could separate a process that opens it now from one that locks it already.
        deinit { close(self.descriptor) }
    }

    /// Apart from the notes of what runs, which a daemon lists every second: these files stay.
    private var directory: String { "\(self.running.directory)/locks" }

    /// An id may hold any printable character and 256 bytes, a file's name may not.
    func path(of application: String) -> String {
        let hash = SHA256.hash(data: Data(application.utf8))
        let name = hash.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
        return "\(self.directory)/\(name).lock"
    }

    func claim(_ application: String, isShared: Bool) throws -> any ApplicationClaim {
        try self.running.makeDirectory()
        try RunningApplications.makeDirectory(self.directory)
        let path = self.path(of: application)
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemCallFailure("open", path) }
        let lock = Lock(descriptor: descriptor)
        guard let status = FileStatus(descriptor: descriptor), status.isRegularFile, status.isOwn else {
            throw SystemCallFailure("fstat", path, number: EPERM)
        }
        guard flock(descriptor, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw SystemCallFailure("flock", path) }
            throw ApplicationIsTaken(holders: self.holders(of: application, descriptor))
        }
        self.write(RunningApplication.thisProcess, descriptor)
        return lock
    }

    /// The notes of the running processes; the file's text for one that does not listen yet.
    private func holders(of application: String, _ descriptor: Int32) -> [String] {
        let noted = self.running.all().filter { $0.application == application }.map(\.process)
        guard noted.isEmpty else { return noted }
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0, let text = String(validating: bytes[..<count], as: UTF8.self) else { return [] }
        return [text]
    }

    /// The text is for people; the lock counts.
    private func write(_ text: String, _ descriptor: Int32) {
        guard ftruncate(descriptor, 0) == 0 else { return }
        _ = unsafe pwrite(descriptor, text, text.utf8.count, 0)
    }
}

extension RunningApplication {
    /// The process for people: `process 4711 (player)`.
    var process: String {
        let program = self.program.map { " (\($0.withoutControlCharacters))" } ?? ""
        return self.pid == getpid() ? "this process itself" : "process \(self.pid)\(program)"
    }

    fileprivate static var thisProcess: String { "process \(getpid())" + (Self.ownProgram.map { " (\($0))" } ?? "") }

    /// The file name of the program that this process runs.
    static var ownProgram: String? {
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return path?.split(separator: "/").last.map(String.init)
    }
}

extension RemoteSystemError {
    /// What a host's start ends with when another one has its application id.
    package init(alreadyRunning application: String, _ taken: ApplicationIsTaken) {
        let holders = taken.holders.isEmpty ? "another process" : taken.holders.joined(separator: ", ")
        self.init(
            .applicationAlreadyRunning,
            "The application \(application) is already running on this system: \(holders). Stop it, or give this program "
                + "an application id of its own. Programs that are meant to run side by side under one id all set "
                + "allowsSeveralProcesses in their RemoteSystemHost.Options.",
            side: .local,
            cause: taken
        )
    }
}
