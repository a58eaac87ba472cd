// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import RemoteSystemsIdentity

/// An application of this system that runs on this machine.
struct RunningApplication: Sendable, Hashable, Codable {
    /// The application's id.
    var application: String
    /// Where it listens.
    var port: Int
    var pid: Int32
    /// Whether only this machine can reach it there.
    var isOnLoopback: Bool?
    /// The file name of the program, for messages.
    var program: String?
}

/// The applications of one system that run, as each of their processes has noted itself: a small file each in `run/` of the
/// state directory.
///
/// A process keeps its file locked (flock) for as long as it runs. A file that can be locked is a dead process's, whatever
/// it says, and is removed by whoever notices.
struct RunningApplications: Sendable {
    let directory: String

    private static let suffix = ".json"
    private static let largestNote = 4096
    private static let maxNotes = 1024

    init(stateDirectory: String) {
        self.directory = stateDirectory + "/run"
    }

    // MARK: Noting

    /// Notes a process, until the note is removed or the process ends.
    func note(_ application: RunningApplication) throws(SystemCallFailure) -> RunningNote {
        try self.makeDirectory()
        // A name of its own for each note: nobody who removes a dead one can hit another.
        let name = "\(application.pid)-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        let temporary = "\(self.directory)/.\(name)"
        let path = "\(self.directory)/\(name)\(Self.suffix)"
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemCallFailure("open", temporary) }
        // Locked before it has its name: whoever sees it sees a living process.
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

    /// Makes the directory if there is none, and refuses one that others have a hand in.
    static func makeDirectory(_ path: String) throws(SystemCallFailure) {
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemCallFailure("mkdir", path) }
        guard let status = FileStatus(path: path) else { throw SystemCallFailure("lstat", path) }
        guard status.isDirectory, status.isOwn, status.isPrivate else {
            throw SystemCallFailure("lstat", path, number: EPERM)
        }
    }

    // MARK: Reading

    /// The port of a process of the application; `nil` when none runs.
    func port(of application: String) -> Int? {
        self.all().first { $0.application == application }?.port
    }

    /// The port at which others of the account know this machine: the daemon's that speaks for it, else the only host's there is.
    var machinePort: Int? {
        if let port = self.port(of: RemoteSystemHost.machineApplicationID) { return port }
        let hosts = self.all().filter { $0.application != DiagnosisService.name }
        return hosts.count == 1 ? hosts.first?.port : nil
    }

    /// Everything that runs. Blocks for as long as reading a few small files takes.
    func all() -> [RunningApplication] {
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
    /// What of this system runs here; `nil` where its identity is kept in memory alone.
    var running: RunningApplications? {
        (try? self.store()).map { RunningApplications(stateDirectory: $0.directory) }
    }
}

/// A process's note that it runs. Goes with the process, however that ends.
final class RunningNote: Sendable {
    private let path: String
    private let descriptor: Int32

    fileprivate init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    /// Closing gives the lock back. Removed first: nobody shall find an unlocked note of a process that still runs.
    deinit {
        unsafe unlink(self.path)
        close(self.descriptor)
    }
}

/// A system call that failed, and on what.
struct SystemCallFailure: Error, CustomStringConvertible {
    var call: String
    var path: String
    var number: Int32

    /// Takes the number from `errno` unless it is given, so make it right after the failed call.
    init(_ call: String, _ path: String, number: Int32 = errno) {
        self.call = call
        self.path = path
        self.number = number
    }

    var description: String { "\(self.path): \(self.call): \(unsafe String(cString: strerror(self.number)))" }
}
