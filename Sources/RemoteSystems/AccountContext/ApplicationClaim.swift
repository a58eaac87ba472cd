// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import Glibc
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Assigns application ids to the hosts of one system: an id to one host, or to several hosts that all share it.
package protocol ApplicationClaims: Sendable {
    /// Claims the id until the claim is released.
    ///
    /// - Parameters:
    ///   - application: the application's id.
    ///   - isShared: whether other hosts that also share the id may run at the same time.
    /// - Throws: ``ApplicationIsTaken``; another error when the check itself fails.
    func claim(_ application: String, isShared: Bool) throws -> any ApplicationClaim
}

/// A host's claim on its application id. It is released with its last reference, and at the latest when the process
/// ends.
package protocol ApplicationClaim: AnyObject, Sendable {}

/// Another host has claimed the application id, and at least one of the two does not share it.
package struct ApplicationIsTaken: Error {
    /// The processes that run as the application, such as `process 4711 (player)`; empty if they are unknown.
    package var holders: [String]

    package init(holders: [String]) {
        self.holders = holders
    }
}

/// The application ids of one account store. Each id has a file in `run/locks/` of the state directory, which the
/// processes that run as the application lock with flock(2). The kernel releases a lock when its process ends for any
/// reason.
struct ApplicationLocks: ApplicationClaims {
    let running: RunningApplications

    private final class Lock: ApplicationClaim {
        private let descriptor: Int32

        init(descriptor: Int32) {
            self.descriptor = descriptor
        }

        /// The file is not removed. Otherwise one process could lock the removed file and another one a new file with
        /// the same name.
        deinit { close(self.descriptor) }
    }

    /// A separate directory, because these files are never removed and a daemon lists the parent directory every
    /// second.
    private var directory: String { "\(self.running.directory)/locks" }

    /// The path of an id's lock file. The name is a hash, since an id may have 256 bytes and any printable character.
    func path(of application: String) -> String {
        let hash = SHA256.hash(data: Data(application.utf8))
        let name = hash.hexadecimal
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

    /// Whether a process holds the lock of an application id, as far as `/proc/locks` shows.
    ///
    /// `/proc/locks` does not list the locks of processes in other namespaces, and may show a file of a stacked file
    /// system under another number. If no lock of the file is listed, any lock counts: all these processes belong to
    /// the same user.
    func areHeld(_ application: String, by pid: Int32) -> Bool {
        let descriptor = unsafe open(self.path(of: application), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // The file can be locked, so the process that recorded the claim has ended.
        guard flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else { return false }
        guard let number = FileStatus(descriptor: descriptor)?.number,
            let table = try? String(contentsOfFile: "/proc/locks", encoding: .utf8)
        else { return true }
        // `1: FLOCK  ADVISORY  WRITE 4711 fd:00:131 0 EOF` (proc_locks(5)).
        let holders = table.split(separator: "\n").compactMap { line -> Int32? in
            let fields = line.split(separator: " ")
            guard fields.count > 5, fields[1] == "FLOCK", fields[5].hasSuffix(":\(number)") else { return nil }
            return Int32(fields[4])
        }
        return holders.isEmpty || holders.contains(pid)
    }

    /// The processes recorded as running; the text of the lock file if they do not listen yet.
    private func holders(of application: String, _ descriptor: Int32) -> [String] {
        let noted = self.running.all().filter { $0.application == application }.map(\.process)
        guard noted.isEmpty else { return noted }
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0, let text = String(validating: bytes[..<count], as: UTF8.self) else { return [] }
        return [text]
    }

    /// Writes a text for people. Only the lock has meaning for programs.
    private func write(_ text: String, _ descriptor: Int32) {
        guard ftruncate(descriptor, 0) == 0 else { return }
        _ = unsafe pwrite(descriptor, text, text.utf8.count, 0)
    }
}

extension RunningApplication {
    /// The process in error messages: `process 4711 (player)`.
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
    /// Creates the error of a host that cannot start because another host has its application id.
    package init(alreadyRunning application: String, _ taken: ApplicationIsTaken) {
        let holders = taken.holders.isEmpty ? "another process" : taken.holders.joined(separator: ", ")
        self.init(
            .applicationAlreadyRunning,
            "The application \(application) is already running on this system: \(holders). Stop it, or give this "
                + "program an application id of its own. Programs that run side by side under one id must all set "
                + "allowsSeveralProcesses in their RemoteSystemHost.Options.",
            side: .local,
            cause: taken
        )
    }
}
