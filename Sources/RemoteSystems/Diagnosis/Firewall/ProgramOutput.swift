// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import RemoteSystemsDiscovery

/// The output of a program of the operating system, which runs without a shell, by its absolute path, and within limits
/// of time and output size.
enum ProgramOutput: Sendable, Hashable {
    case finished(status: Int32, [UInt8])
    /// The program is not installed, or could not be started.
    case missing
    /// The program exceeded a limit and was killed.
    case unbounded

    /// The environment of the program: English output, and none of this process's variables.
    private static let environment = ["LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
    private static let maxBytes = 4 << 20
    private static let maxMilliseconds: Int32 = 3000

    /// Runs a program.
    ///
    /// - Parameter paths: the possible paths of the program. The first that exists is run.
    static func of(_ paths: [String], _ arguments: [String]) async -> ProgramOutput {
        guard let path = paths.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            return .missing
        }
        return await OwnThread.run { Self.run([path] + arguments) }
    }

    private static func run(_ arguments: [String]) -> ProgramOutput {
        // Sockets instead of a pipe: they are close-on-exec from the start, so that no other child process inherits
        // them.
        var pipe: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &pipe) == 0 else { return .missing }
        defer { close(pipe[0]) }
        let started = Self.start(arguments, output: pipe[1])
        close(pipe[1])
        guard let id = started else { return .missing }
        let bytes = Self.read(pipe[0])
        if bytes == nil { kill(id, SIGKILL) }
        var status: Int32 = 0
        while unsafe waitpid(id, &status, 0) < 0 {
            // Another part of the process may have reaped the child.
            guard errno == EINTR else { return .unbounded }
        }
        guard let bytes else { return .unbounded }
        return .finished(status: status & 0x7F == 0 ? (status >> 8) & 0xFF : -1, bytes)
    }

    private static func start(_ arguments: [String], output: Int32) -> pid_t? {
        var actions = unsafe posix_spawn_file_actions_t()
        guard unsafe posix_spawn_file_actions_init(&actions) == 0 else { return nil }
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        // The child would inherit the blocked signals of this thread.
        var attributes = posix_spawnattr_t()
        guard unsafe posix_spawnattr_init(&attributes) == 0 else { return nil }
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var nothing = sigset_t()
        unsafe sigemptyset(&nothing)
        unsafe posix_spawnattr_setsigmask(&attributes, &nothing)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var argv = unsafe arguments.map { unsafe strdup($0) } + [nil]
        var envp = unsafe Self.environment.map { unsafe strdup($0) } + [nil]
        defer {
            unsafe (argv + envp).forEach { unsafe free($0) }
        }
        var id: pid_t = 0
        return unsafe posix_spawn(&id, arguments[0], &actions, &attributes, &argv, &envp) == 0 ? id : nil
    }

    /// Reads to the end of the output; `nil` when a limit is exceeded.
    private static func read(_ descriptor: Int32) -> [UInt8]? {
        let end = ContinuousClock.now + .milliseconds(Int(Self.maxMilliseconds))
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while ContinuousClock.now < end {
            var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&watched, 1, 100) > 0 else { continue }
            let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += buffer[..<count]
            guard bytes.count <= Self.maxBytes else { return nil }
        }
        return nil
    }
}
