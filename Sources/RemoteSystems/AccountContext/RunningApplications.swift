// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import RemoteSystemsIdentity

/// An application of this system that runs on this machine.
struct RunningApplication: Sendable, Hashable, Codable {
    /// The application's id.
    var application: String
    /// The port it listens on; 0 before it listens.
    var port: Int
    var pid: Int32
    /// Whether it listens on the loopback interface only.
    var isOnLoopback: Bool?
    /// The file name of the program, for messages.
    var program: String?
    /// The PID namespace in which `pid` is the process, as the kernel names it (pid_namespaces(7)).
    var namespace: String?
}

/// The running applications of one system: those registered with this process, if it is the host daemon, and those that
/// hold the lock of their application id (``ApplicationLocks``).
struct RunningApplications: Sendable {
    /// The directory of the locks and of the host daemon's socket.
    let directory: String
    /// The programs that are registered with this process; `nil` unless it is the host daemon.
    let registered: ProgramRegistry?

    init(stateDirectory: String, registered: ProgramRegistry? = nil) {
        self.init(directory: stateDirectory + "/run", registered: registered)
    }

    /// Returns these applications, together with the programs that are registered with this process.
    func with(_ registered: ProgramRegistry) -> RunningApplications {
        RunningApplications(directory: self.directory, registered: registered)
    }

    private init(directory: String, registered: ProgramRegistry?) {
        self.directory = directory
        self.registered = registered
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

    private var locks: ApplicationLocks { ApplicationLocks(running: self) }

    /// Returns the listening processes of an application.
    ///
    /// Blocks while it reads a small file, unless the application is registered with this process.
    func processes(of application: String) -> [RunningApplication] {
        let registered = self.registered?.processes.filter { $0.application == application } ?? []
        // A program that listens, and has not registered yet.
        return registered.isEmpty ? self.locks.listening(application).map { [$0] } ?? [] : registered
    }

    /// Returns the port of a process of the application; `nil` if none listens.
    func port(of application: String) -> Int? { self.processes(of: application).first?.port }

    /// The port at which peers of the account find this machine: the port of the host daemon, else of the only host.
    var machinePort: Int? {
        if let port = self.port(of: RemoteSystemHost.machineApplicationID) { return port }
        let hosts = self.listening.filter { $0.application != Diagnosis.service }
        return hosts.count == 1 ? hosts.first?.port : nil
    }

    /// The listening processes, one of each application. Blocks while it reads a few small files.
    var listening: [RunningApplication] { self.locks.listening }
}

extension AccountContext {
    /// The running applications of this system; `nil` if its identity is only in memory.
    var running: RunningApplications? {
        (try? self.store()).map { RunningApplications(stateDirectory: $0.directory) }
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
