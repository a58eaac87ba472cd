// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import RemoteSystemsIdentity

/// An application of this system that runs on this machine.
struct RunningApplication: Sendable, Hashable, Codable {
    /// The application's id.
    var application: String
    /// The port it listens on.
    var port: Int
    var pid: Int32
    /// Whether it listens on the loopback interface only.
    var isOnLoopback: Bool?
    /// The file name of the program, for messages.
    var program: String?
}

/// The running applications of one system: those registered with this process, if it is the host daemon, and those that
/// have recorded themselves. Each process records itself in a small file in `run/` of the state directory.
///
/// A process keeps its file locked with flock(2) while it runs. A file that can be locked belongs to a process that has
/// ended; the reader that finds it removes it.
struct RunningApplications: Sendable {
    let directory: String
    /// The programs that are registered with this process; `nil` unless it is the host daemon.
    let registered: ProgramRegistry?

    private static let suffix = ".json"
    private static let largestNote = 4096
    private static let maxNotes = 1024

    init(stateDirectory: String, registered: ProgramRegistry? = nil) {
        self.directory = stateDirectory + "/run"
        self.registered = registered
    }

    /// Returns these applications, together with the programs that are registered with this process.
    func with(_ registered: ProgramRegistry) -> RunningApplications {
        RunningApplications(directory: self.directory, registered: registered)
    }

    private init(directory: String, registered: ProgramRegistry?) {
        self.directory = directory
        self.registered = registered
    }

    // MARK: Recording

    /// Records a process until the record is released or the process ends.
    func note(_ application: RunningApplication) throws(SystemCallFailure) -> RunningNote {
        try self.makeDirectory()
        // A unique name for each record, so that removing the record of an ended process never removes another one.
        let name = "\(application.pid)-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        let temporary = "\(self.directory)/.\(name)"
        let path = "\(self.directory)/\(name)\(Self.suffix)"
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemCallFailure("open", temporary) }
        // Locked before the file gets its final name, so that a reader never finds it unlocked.
        var failure: SystemCallFailure?
        if flock(descriptor, LOCK_EX | LOCK_NB) != 0 { failure = SystemCallFailure("flock", temporary) }
        if failure == nil {
            let bytes = (try? JSONEncoder().encode(application)) ?? Data()
            let written = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
            if written != bytes.count { failure = SystemCallFailure("write", temporary) }
        }
        if failure == nil, unsafe rename(temporary, path) != 0 { failure = SystemCallFailure("rename", temporary) }
        if let failure {
            unsafe unlink(temporary)
            close(descriptor)
            throw failure
        }
        return RunningNote(path: path, descriptor: descriptor)
    }

    func makeDirectory() throws(SystemCallFailure) { try Self.makeDirectory(self.directory) }

    /// Creates the directory if there is none, and refuses one that another user owns or can access.
    static func makeDirectory(_ path: String) throws(SystemCallFailure) {
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemCallFailure("mkdir", path) }
        guard let status = FileStatus(path: path) else { throw SystemCallFailure("lstat", path) }
        guard status.isDirectory, status.isOwn, status.isPrivate else {
            throw SystemCallFailure("lstat", path, number: EPERM)
        }
    }

    // MARK: Reading

    /// The port of a process of the application; `nil` if none runs.
    func port(of application: String) -> Int? {
        self.all().first { $0.application == application }?.port
    }

    /// The port at which peers of the account find this machine: the port of the host daemon, else of the only host.
    var machinePort: Int? {
        if let port = self.port(of: RemoteSystemHost.machineApplicationID) { return port }
        let hosts = self.all().filter { $0.application != DiagnosisService.name }
        return hosts.count == 1 ? hosts.first?.port : nil
    }

    /// Returns all running applications, registered ones first. Blocks while it reads a few small files.
    func all() -> [RunningApplication] {
        let registered = self.registered?.processes ?? []
        return registered
            + self.noted.filter { noted in
                !registered.contains { $0.pid == noted.pid && $0.application == noted.application }
            }
    }

    private var noted: [RunningApplication] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: self.directory)) ?? []
        return names.filter { $0.hasSuffix(Self.suffix) && !$0.hasPrefix(".") }.sorted().prefix(Self.maxNotes)
            .compactMap { self.read("\(self.directory)/\($0)") }
    }

    private func read(_ path: String) -> RunningApplication? {
        let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard let status = FileStatus(descriptor: descriptor), status.isRegularFile, status.isOwn else { return nil }
        guard flock(descriptor, LOCK_SH | LOCK_NB) != 0 else {
            unsafe unlink(path)
            return nil
        }
        guard errno == EWOULDBLOCK else { return nil }
        var bytes = [UInt8](repeating: 0, count: Self.largestNote)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
        guard count > 0,
            let note = try? JSONDecoder().decode(RunningApplication.self, from: Data(bytes[..<count])),
            (1...65_535).contains(note.port)
        else { return nil }
        return note
    }
}

extension AccountContext {
    /// The running applications of this system; `nil` if its identity is only in memory.
    var running: RunningApplications? {
        (try? self.store()).map { RunningApplications(stateDirectory: $0.directory) }
    }
}

/// The record of a running process. The kernel releases its lock when the process ends for any reason.
final class RunningNote: Sendable {
    private let path: String
    private let descriptor: Int32

    fileprivate init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    /// Removes the file before closing it, which releases the lock: a reader must never find an unlocked record of a
    /// running process.
    deinit {
        unsafe unlink(self.path)
        close(self.descriptor)
    }
}

/// A failed system call and the path that it was called with.
struct SystemCallFailure: Error, CustomStringConvertible {
    var call: String
    var path: String
    var number: Int32

    /// Creates a failure. Takes the number from `errno` by default, so call it directly after the failed call.
    init(_ call: String, _ path: String, number: Int32 = errno) {
        self.call = call
        self.path = path
        self.number = number
    }

    var description: String { "\(self.path): \(self.call): \(unsafe String(cString: strerror(self.number)))" }
}
