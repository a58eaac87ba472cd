// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import Glibc
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

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
package protocol ApplicationClaim: AnyObject, Sendable {
    /// Records the port at which the host listens, for other processes of its system.
    ///
    /// - Parameter isOnLoopback: whether the host listens on the loopback interface only.
    func listens(at port: Int, isOnLoopback: Bool)
}

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
/// reason. The file contains the process that wrote it last, as JSON; it is valid while the file is locked.
struct ApplicationLocks: ApplicationClaims {
    let running: RunningApplications

    private static let suffix = ".lock"
    private static let maxFiles = 1024
    private static let maxBytes = 4096
    private static let lineFeed = UInt8(ascii: "\n")
    /// A process that reads the file locks it for a moment if it is not locked. A claim is repeated this often, after
    /// this time in microseconds.
    private static let attempts = 5
    private static let pause: UInt32 = 2000

    private final class Lock: ApplicationClaim {
        private let descriptor: Int32
        private let application: String

        init(descriptor: Int32, application: String) {
            self.descriptor = descriptor
            self.application = application
        }

        func listens(at port: Int, isOnLoopback: Bool) {
            let process = RunningApplication(
                application: self.application,
                port: port,
                pid: getpid(),
                isOnLoopback: isOnLoopback ? true : nil,
                program: RunningApplication.ownProgram,
                namespace: RunningApplication.ownNamespace
            )
            // A line in one call: a reader finds the old or the new one, and ignores the rest of a longer one. Errors
            // are ignored: the lock works without the text.
            guard var line = try? JSONEncoder().encode(process) else { return }
            line.append(ApplicationLocks.lineFeed)
            let count = unsafe line.withUnsafeBytes { unsafe pwrite(self.descriptor, $0.baseAddress, $0.count, 0) }
            if count == line.count { _ = ftruncate(self.descriptor, count) }
        }

        /// The file is not removed. Otherwise one process could lock the removed file and another one a new file with
        /// the same name.
        deinit { close(self.descriptor) }
    }

    private var directory: String { "\(self.running.directory)/locks" }

    /// The path of an id's lock file. The name is a hash, since an id may have 256 bytes and any printable character.
    func path(of application: String) -> String {
        let hash = SHA256.hash(data: Data(application.utf8))
        let name = hash.hexadecimal
        return "\(self.directory)/\(name)\(Self.suffix)"
    }

    func claim(_ application: String, isShared: Bool) throws -> any ApplicationClaim {
        try self.running.makeDirectory()
        try RunningApplications.makeDirectory(self.directory)
        let path = self.path(of: application)
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemCallFailure("open", path) }
        let lock = Lock(descriptor: descriptor, application: application)
        guard let status = FileStatus(descriptor: descriptor), status.isRegularFile, status.isOwn else {
            throw SystemCallFailure("fstat", path, number: EPERM)
        }
        var attempt = 1
        while flock(descriptor, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK else { throw SystemCallFailure("flock", path) }
            guard attempt < Self.attempts else {
                throw ApplicationIsTaken(holders: Self.read(descriptor).map { [$0.process] } ?? [])
            }
            attempt += 1
            usleep(Self.pause)
        }
        lock.listens(at: 0, isOnLoopback: false)
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
            let table = SystemFile.text(of: "/proc/locks")
        else { return true }
        // `1: FLOCK  ADVISORY  WRITE 4711 fd:00:131 0 EOF` (proc_locks(5)).
        let holders = table.split(separator: "\n").compactMap { line -> Int32? in
            let fields = line.split(separator: " ")
            guard fields.count > 5, fields[1] == "FLOCK", fields[5].hasSuffix(":\(number)") else { return nil }
            return Int32(fields[4])
        }
        return holders.isEmpty || holders.contains(pid)
    }

    // MARK: Reading

    /// A listening process of an application; `nil` if none holds the lock of the application id.
    func listening(_ application: String) -> RunningApplication? {
        self.listening(at: self.path(of: application)).flatMap { $0.application == application ? $0 : nil }
    }

    /// A listening process of each application whose id is locked.
    var listening: [RunningApplication] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: self.directory)) ?? []
        return names.filter { $0.hasSuffix(Self.suffix) }.sorted().prefix(Self.maxFiles)
            .compactMap { self.listening(at: "\(self.directory)/\($0)") }
    }

    private func listening(at path: String) -> RunningApplication? {
        let descriptor = unsafe open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard let status = FileStatus(descriptor: descriptor), status.isRegularFile, status.isOwn,
            flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK,
            let process = Self.read(descriptor), (1...65_535).contains(process.port)
        else { return nil }
        return process
    }

    private static func read(_ descriptor: Int32) -> RunningApplication? {
        var bytes = [UInt8](repeating: 0, count: Self.maxBytes)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return nil }
        return try? JSONDecoder().decode(
            RunningApplication.self,
            from: Data(bytes[..<count].prefix { $0 != Self.lineFeed })
        )
    }
}

extension RunningApplication {
    /// The process in error messages: `process 4711 (player)`.
    var process: String {
        let program = self.program.map { " (\($0.withoutControlCharacters))" } ?? ""
        // There the numbers begin again, so the number may be that of another process here.
        if let namespace = self.namespace, namespace != Self.ownNamespace {
            return "a process of another sandbox or container\(program)"
        }
        return self.pid == getpid() ? "this process itself" : "process \(self.pid)\(program)"
    }

    /// The PID namespace of this process.
    static let ownNamespace = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/pid")

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
