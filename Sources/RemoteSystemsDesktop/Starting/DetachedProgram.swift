// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Glibc

/// A program that is started independently of this process.
///
/// It runs in a new session, reads from `/dev/null`, inherits no other file descriptors, has no blocked signals and may
/// open the usual number of files. No shell is used. All programs that this machine starts for other systems are
/// started this way.
package struct DetachedProgram: Sendable {
    /// The maximum soft limit of open files (RLIMIT_NOFILE) of a started program. This process may have a higher one,
    /// but a program that calls select(2) fails with a descriptor of 1024 or more. A program that does not call it can
    /// raise its limit up to the hard limit, which it inherits.
    package static let maxFiles = 1_024

    /// The program, by path or by name on `PATH`, and its arguments.
    package var arguments: [String]
    /// The complete environment; see ``ApplicationEnvironment``.
    package var environment: [String: String]
    /// The working directory. Defaults to that of this process.
    package var directory: String?
    /// Whether the program's output goes to this process's standard error. Defaults to `false`: it is discarded.
    package var keepsOutput = false
    /// What the program reads from and writes to; `nil` for `/dev/null`, and as ``keepsOutput`` says. The caller closes
    /// its descriptors.
    package var pipes: (input: CInt, output: CInt, errors: CInt)?
    /// Whether what is left of its process group is killed when the program ends. Defaults to `false`.
    package var endsItsChildren = false

    /// The program could not be started. `number` is the `errno` value.
    package struct StartError: Error, Hashable, CustomStringConvertible {
        package var number: Int32
        package var description: String { unsafe String(cString: strerror(self.number)) }
    }

    package init(
        _ arguments: [String],
        environment: [String: String],
        directory: String? = nil
    ) {
        self.arguments = arguments
        self.environment = environment
        self.directory = directory
    }

    /// Starts the program.
    ///
    /// - Returns: The running program.
    /// - Throws: ``StartError``, also if the file cannot be executed.
    @discardableResult
    package func start() throws(StartError) -> StartedProgram {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, self.keepsOutput ? 2 : 0, 1)
        if !self.keepsOutput { unsafe posix_spawn_file_actions_adddup2(&actions, 0, 2) }
        if let pipes {
            unsafe posix_spawn_file_actions_adddup2(&actions, pipes.input, 0)
            unsafe posix_spawn_file_actions_adddup2(&actions, pipes.output, 1)
            unsafe posix_spawn_file_actions_adddup2(&actions, pipes.errors, 2)
        }
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        if let directory { unsafe posix_spawn_file_actions_addchdir_np(&actions, directory) }

        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF) | Int16(REMOTE_SYSTEMS_SPAWN_SETSID)
        )

        guard let program = self.arguments.first,
            !self.arguments.contains(where: { $0.utf8.contains(0) }),
            !self.environment.contains(where: { $0.key.utf8.contains(0) || $0.value.utf8.contains(0) })
        else { throw StartError(number: EINVAL) }
        var argv = unsafe self.arguments.map { unsafe strdup($0) } + [nil]
        var envp = unsafe self.environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            unsafe (argv + envp).forEach { unsafe free($0) }
        }
        var process: pid_t = 0
        let result = unsafe posix_spawnp(&process, program, &actions, &attributes, &argv, &envp)
        guard result == 0 else { throw StartError(number: result) }
        Self.limitFiles(of: process)
        return StartedProgram(id: process, endsItsChildren: self.endsItsChildren)
    }

    /// Follows the start, because posix_spawn(3) sets no limits: no program has that many files open in its first
    /// moment.
    private static func limitFiles(of process: pid_t) {
        let kind = CInt(RLIMIT_NOFILE.rawValue)
        var (limit, own) = (rlimit(), rlimit())
        // One that the program has set itself stays.
        guard unsafe prlimit(process, kind, nil, &limit) == 0, unsafe prlimit(0, kind, nil, &own) == 0,
            limit.rlim_cur == own.rlim_cur, limit.rlim_cur > rlim_t(Self.maxFiles)
        else { return }
        limit.rlim_cur = rlim_t(Self.maxFiles)
        // Fails only for a program that has ended.
        _ = unsafe prlimit(process, kind, &limit, nil)
    }
}
