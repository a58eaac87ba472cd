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
        guard let program = self.arguments.first,
            !self.arguments.contains(where: { $0.utf8.contains(0) }),
            !self.environment.contains(where: { $0.key.utf8.contains(0) || $0.value.utf8.contains(0) })
        else { throw StartError(number: EINVAL) }
        var files = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files) == 0 else {
            throw StartError(number: errno)
        }
        let output: CInt = self.keepsOutput ? 2 : -1
        let streams: [CInt] = self.pipes.map { [$0.input, $0.output, $0.errors] } ?? [-1, output, output]
        let paths = unsafe Self.paths(of: program).map { unsafe strdup($0) } + [nil]
        let argv = unsafe self.arguments.map { unsafe strdup($0) } + [nil]
        let envp = unsafe self.environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            unsafe (paths + argv + envp).forEach { unsafe free($0) }
        }
        var process: pid_t = 0
        let result = unsafe remote_systems_start(
            &process,
            paths,
            argv,
            envp,
            self.directory,
            streams,
            min(files.rlim_cur, rlim_t(Self.maxFiles)),
            files.rlim_max
        )
        guard result == 0 else { throw StartError(number: result) }
        return StartedProgram(id: process, endsItsChildren: self.endsItsChildren)
    }

    /// Where a program may be, as execvp(3) searches for it.
    private static func paths(of program: String) -> [String] {
        guard !program.isEmpty, !program.utf8.contains(UInt8(ascii: "/")) else { return [program] }
        let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/bin:/usr/bin"
        return path.split(separator: ":", omittingEmptySubsequences: false).map { directory in
            directory.isEmpty ? program : "\(directory)/\(program)"
        }
    }
}
