// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The programs that were started from here, which it is on us to bury.
final class ChildProcesses: Sendable {
    /// Those that live, and whether somebody waits for how they end.
    private let living = Mutex<[pid_t: Bool]>([:])

    /// Starts a program: no shell, a session of its own, no signals blocked, no descriptors of ours,
    /// in the root directory.
    ///
    /// It reads nothing. What it prints goes where our errors go when `keepsOutput`, and nowhere else.
    func start(
        _ arguments: [String],
        environment: [String: String],
        keepsOutput: Bool
    ) throws(StartFailure) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        if keepsOutput {
            unsafe posix_spawn_file_actions_adddup2(&actions, 2, 1)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
            unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        }
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        unsafe posix_spawn_file_actions_addchdir_np(&actions, "/")

        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe sigfillset(&signals)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        let flags =
            Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
            | Int32(REMOTE_SYSTEMS_SPAWN_SETSID)
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))

        var argv = unsafe arguments.map { unsafe strdup($0) } + [nil]
        var envp = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer { unsafe (argv + envp).forEach { unsafe free($0) } }
        var pid: pid_t = 0
        // Under the lock, so that a child that ends at once is not asked for before it is known.
        let result = self.living.withLock { living in
            let result = unsafe posix_spawn(&pid, arguments[0], &actions, &attributes, &argv, &envp)
            if result == 0 { living[pid] = true }
            return result
        }
        guard result == 0 else {
            throw StartFailure("\(arguments[0]) cannot be run: \(unsafe String(cString: strerror(result))).")
        }
        return pid
    }

    /// How a child has ended; `nil` while it runs.
    func end(of pid: pid_t) -> Int32? {
        self.living.withLock { living in
            guard living[pid] != nil else { return 0 }
            var status: Int32 = 0
            let result = unsafe waitpid(pid, &status, WNOHANG)
            guard result != 0 else { return nil }
            living[pid] = nil
            return result == pid ? status : 0
        }
    }

    /// Whether it has not ended; from then on somebody waits for how it does.
    func isAwaitedAgain(_ pid: pid_t) -> Bool {
        guard self.end(of: pid) == nil else { return false }
        self.living.withLock { $0[pid] = true }
        return true
    }

    /// Nobody waits for how it ends any more.
    func release(_ pid: pid_t) {
        self.living.withLock { living in
            if living[pid] != nil { living[pid] = false }
        }
    }

    /// Buries those that have ended, and that nobody waits for.
    func reap() {
        let released = self.living.withLock { living in living.filter { !$0.value }.map(\.key) }
        for pid in released { _ = self.end(of: pid) }
    }

    /// How a child ended, for a person.
    static func describe(_ status: Int32) -> String {
        status & 0x7F == 0
            ? "it ended with exit status \((status >> 8) & 0xFF)" : "it was ended by signal \(status & 0x7F)"
    }
}
