// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization

/// A started program, and the lines that it has printed so far.
package final class ChildProcess: Sendable {
    private struct Output {
        var lines: [String] = []
        var partial: [UInt8] = []
        var isFinished = false
    }

    /// The process id of the program itself, not of a shell around it.
    package let id: Int32
    private let output: Shared
    // Kept open: programs that read their standard input end when it closes, also when this process crashes.
    private let input: Int32

    private final class Shared: Sendable {
        let state = Mutex(Output())
        let exit = Mutex<Int32?>(nil)
    }

    /// Starts a program. Its standard output is read, and its standard error is passed on unless it is read, too.
    ///
    /// - Parameters:
    ///   - arguments: The path of the program, then its arguments.
    package init(_ arguments: [String], environment: [String: String] = [:], readsErrors: Bool = false) throws {
        (id, input, output) = try Self.starting.withLock { _ in
            try Self.start(arguments, environment: environment, readsErrors: readsErrors)
        }
    }

    /// Serializes starts: another child must not inherit a pipe before it is marked close-on-exec.
    private static let starting = Mutex(())

    private static func start(
        _ arguments: [String],
        environment: [String: String],
        readsErrors: Bool
    ) throws -> (id: Int32, input: Int32, output: Shared) {
        var outputPipe: [Int32] = [-1, -1]
        var inputPipe: [Int32] = [-1, -1]
        guard unsafe pipe(&outputPipe) == 0, unsafe pipe(&inputPipe) == 0 else {
            throw IntegrationError("cannot make a pipe: error \(errno)")
        }
        for descriptor in outputPipe + inputPipe { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, inputPipe[0], 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, outputPipe[1], 1)
        if readsErrors { unsafe posix_spawn_file_actions_adddup2(&actions, outputPipe[1], 2) }

        // The threads that run tests block every signal, and a child would inherit that.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var nothing = sigset_t()
        unsafe sigemptyset(&nothing)
        unsafe posix_spawnattr_setsigmask(&attributes, &nothing)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { "\($0.key)=\($0.value)" }
        var argv = unsafe arguments.map { unsafe strdup($0) } + [nil]
        var envp = unsafe variables.map { unsafe strdup($0) } + [nil]
        defer {
            unsafe (argv + envp).forEach { unsafe free($0) }
        }
        var id: pid_t = 0
        let result = unsafe posix_spawnp(&id, arguments[0], &actions, &attributes, &argv, &envp)
        close(outputPipe[1])
        close(inputPipe[0])
        guard result == 0 else {
            close(outputPipe[0])
            close(inputPipe[1])
            throw IntegrationError("cannot start \(arguments.joined(separator: " ")): error \(result)")
        }
        let output = Shared()
        read(outputPipe[0], into: output)
        wait(for: id, output)
        return (id, inputPipe[1], output)
    }

    deinit { close(input) }

    private static func read(_ descriptor: Int32, into output: Shared) {
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 65536)
            while true {
                let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                output.state.withLock { state in
                    for byte in buffer[..<count] {
                        if byte == UInt8(ascii: "\n") {
                            state.lines.append(String(decoding: state.partial, as: UTF8.self))
                            state.partial = []
                        } else {
                            state.partial.append(byte)
                        }
                    }
                }
            }
            close(descriptor)
            output.state.withLock { state in
                if !state.partial.isEmpty { state.lines.append(String(decoding: state.partial, as: UTF8.self)) }
                state.isFinished = true
            }
        }
    }

    private static func wait(for id: Int32, _ output: Shared) {
        Thread.detachNewThread {
            var status: Int32 = 0
            while unsafe waitpid(id, &status, 0) < 0, errno == EINTR {}
            // A program that was killed has the exit code 128 plus the signal, as in a shell.
            output.exit.withLock { $0 = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + status & 0x7F }
        }
    }

    /// The lines printed so far.
    package var lines: [String] { output.state.withLock { $0.lines } }

    /// The exit code, or nil while the program runs.
    package var exitCode: Int32? { output.exit.withLock { $0 } }

    /// Writes a line to the program's standard input.
    package func write(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(input, $0.baseAddress, $0.count) }
    }

    package func send(_ signal: Int32) {
        // Sends nothing once the program is reaped, since its process id may belong to another process by then.
        output.exit.withLock { if $0 == nil { _ = kill(id, signal) } }
    }

    /// Waits for the program's end and its remaining output. The wait for output is short, since a child of the program
    /// may keep the pipe open.
    package func exit(within limit: Duration = .seconds(20)) async throws -> Int32 {
        do {
            let code = try await eventually("the end of process \(id)", within: limit) { self.exitCode }
            _ = try? await allLines(within: .seconds(1))
            return code
        } catch let error as IntegrationError {
            throw IntegrationError("\(error)\n\(await self.lastWords())")
        }
    }

    /// Ends a program that should have ended, and returns what it has printed. A Swift program prints the stacks of its
    /// threads, which show what it waits for.
    package func lastWords() async -> String {
        self.send(SIGQUIT)
        _ = try? await self.allLines(within: .seconds(20))
        self.send(SIGKILL)
        return self.lines.suffix(400).joined(separator: "\n")
    }

    /// Sends SIGTERM, and SIGKILL if the program does not end.
    package func stop() async {
        guard exitCode == nil else { return }
        send(SIGTERM)
        if (try? await eventually("the end", within: .seconds(3)) { self.exitCode }) == nil { send(SIGKILL) }
        _ = try? await exit()
    }

    /// All lines printed until the end.
    package func allLines(within limit: Duration = .seconds(15)) async throws -> [String] {
        _ = try await eventually("the end of the output of process \(id)", within: limit) {
            self.output.state.withLock { $0.isFinished ? true : nil }
        }
        return lines
    }
}

/// The reason why an integration test cannot run or failed.
package struct IntegrationError: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// Polls until the condition returns a value. Polls once more after the deadline, since this process may have been
/// suspended.
package func eventually<Response>(
    _ what: String,
    within limit: Duration = .seconds(15),
    every interval: Duration = .milliseconds(5),
    _ ask: () async throws -> Response?
) async throws -> Response {
    let end = ContinuousClock.now + limit
    while true {
        let isLast = ContinuousClock.now >= end
        if let response = try await ask() { return response }
        guard !isLast else { throw IntegrationError("waited \(limit) for \(what) in vain") }
        // The conditions concern other processes, which cannot notify this one.
        try await Task.sleep(for: interval)
    }
}

/// Runs a program to its end and returns its output.
@discardableResult
package func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
    let process = try ChildProcess(arguments, environment: environment, readsErrors: true)
    let code = try await process.exit(within: .seconds(60))
    let text = try await process.allLines().joined(separator: "\n")
    guard code == 0 else { throw IntegrationError("\(arguments.joined(separator: " ")): exit code \(code): \(text)") }
    return text
}

/// Whether a process is alive. A zombie is not.
package func isAlive(_ process: Int32) -> Bool {
    let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    return status.map { !$0.contains(") Z ") } ?? false
}
