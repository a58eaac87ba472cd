// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Logging
import Testing
import UserNotifications

@testable import RemoteSystemsDesktop

/// Processes of service extensions.
@Suite(.timeLimit(.minutes(5))) struct ExtensionProcessTests {
    private static let environment = ["PATH": "/usr/bin:/bin"]
    private static let shell = "/bin/sh"

    /// A directory that contains those of the programs, and is removed at the end.
    private static func withDirectory(_ body: (String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "extensions-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await body(directory)
    }

    /// Runs a script as an extension, and expects that it leaves no files.
    private static func with(
        _ script: String,
        _ body: (ExtensionProcess) async throws -> Void
    ) async throws {
        try await Self.withDirectory { directory in
            let process = try ExtensionProcess(
                [Self.shell, "-c", script],
                environment: Self.environment,
                directory: directory,
                logger: Logger(label: "extension")
            )
            do {
                try await body(process)
            } catch {
                _ = await process.end()
                throw error
            }
            _ = await process.end()
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
        }
    }

    private static func output(of process: ExtensionProcess) async -> ExtensionOutput? {
        for await output in process.outputs { return output }
        return nil
    }

    private static func line(of process: ExtensionProcess) async throws -> String {
        let output = await Self.output(of: process)
        guard case .line(let line) = output else {
            Issue.record("The output is \(String(describing: output)).")
            return ""
        }
        return line
    }

    @Test func `a program that reads nothing is ended, so that no line is lost unnoticed`() async throws {
        try await Self.with("exec sleep 600") { program in
            // More than the kernel keeps for it, and then more than wait.
            for _ in 0..<100 { program.send(String(repeating: "x", count: 64 << 10)) }
            #expect(await Self.output(of: program) == nil)
            #expect(await program.end() == "it was ended by signal 9, because it did not read its input")
        }
    }

    @Test func `a program reads lines and writes one, with files of its own that are removed at its end (N-17)`()
        async throws
    {
        let script = #"read -r a; read -r b; echo noise >&2; touch file; printf '%s\n' "$a$b $TMPDIR"; exec sleep 600"#
        try await Self.with(script) { echo in
            echo.send("{\"ä\":1}")
            echo.send("[2]")
            let line = try await Self.line(of: echo)
            #expect(line.hasPrefix("{\"ä\":1}[2] "))
            let own = String(line.drop { $0 != " " }.dropFirst())
            let attributes = try FileManager.default.attributesOfItem(atPath: own)
            #expect(attributes[.posixPermissions] as? Int == 0o700)
            #expect(FileManager.default.fileExists(atPath: "\(own)/file"))
            // It is not awaited any longer.
            #expect(await echo.end() == "the host daemon has ended it")
            #expect(!FileManager.default.fileExists(atPath: own))
            // Again.
            #expect(await echo.end() == "the host daemon has ended it")
        }
    }

    @Test(arguments: [
        ("exit 3", "it ended with exit status 3"),
        ("kill -9 $$", "it was ended by signal 9"),
        // More memory, processor time or disk space than it may use.
        ("/usr/bin/python3 -c 'bytearray(600 << 20)' 2>&1 | grep -q MemoryError && exit 8", "exit status 8"),
        ("[ $(ulimit -t) = 30 ] && exit 6", "it ended with exit status 6"),
        ("head -c 80000000 /dev/zero > \"$TMPDIR/large\" || exit 7", "it ended with exit status 7"),
    ])
    func `a program that ends or breaks a limit has no response (N-20, X-51)`(script: String, end: String)
        async throws
    {
        try await Self.with(script) { program in
            // It may not read what is sent to it, either.
            program.send(String(repeating: "x", count: 300_000))
            #expect(await Self.output(of: program) == nil)
            let how = await program.end()
            #expect(how.hasSuffix(end), "\(how)")
        }
    }

    @Test func `a line may end with the output, and must not be longer than 1 MiB`() async throws {
        try await Self.with("printf unfinished") { #expect(await Self.output(of: $0) == .line("unfinished")) }
        try await Self.with("echo one; echo; printf two") { program in
            var lines: [ExtensionOutput] = []
            for await output in program.outputs { lines.append(output) }
            #expect(lines == [.line("one"), .line(""), .line("two")])
        }
        // More lines than are read.
        try await Self.with("seq 1000000; exec sleep 600") { program in
            _ = try await eventually("the flood is noticed") {
                for await output in program.outputs {
                    if output == .tooLong { return true }
                    try? await Task.sleep(for: .milliseconds(1))
                }
                return nil
            }
        }
        try await Self.with("echo; echo more") { #expect(await Self.output(of: $0) == .line("")) }
        try await Self.with("head -c 1048576 /dev/zero | tr '\\0' a") { program in
            let line = try await Self.line(of: program)
            #expect(line.utf8.count == 1 << 20)
        }
        for script in ["head -c 1048577 /dev/zero | tr '\\0' a", "yes | tr -d '\\n'"] {
            try await Self.with(script) { #expect(await Self.output(of: $0) == .tooLong) }
        }
    }

    @Test func `a program is given files in its directory, which do not count as its own (N-42)`() async throws {
        // Nearly as much as a program may have by itself.
        let script = #"""
            for i in 1 2 3 4 5; do fallocate -l 50M "$i" || head -c 50000000 /dev/zero > "$i"; done
            echo "$TMPDIR"; exec sleep 600
            """#
        try await Self.with(script) { program in
            let own = try await Self.line(of: program)
            let rooms = [try await program.makeRoom(for: 20_000_000), try await program.makeRoom(for: 20_000_000)]
            #expect(rooms[0] != rooms[1])
            for room in rooms {
                #expect(room.hasPrefix("\(own)/"))
                let attributes = try FileManager.default.attributesOfItem(atPath: room)
                #expect(attributes[.posixPermissions] as? Int == 0o700)
                #expect(FileManager.default.createFile(atPath: "\(room)/song", contents: Data(count: 20_000_000)))
            }
            #expect(ExtensionFiles.isTooLarge(own, beside: 0))
            #expect(!ExtensionFiles.isTooLarge(own, beside: 40_000_000))
            let end = await program.end()
            #expect(!end.contains("too large"), "\(end)")
        }
    }

    @Test func `files that are too large together end a program, and protected ones are removed`() async throws {
        let script = #"""
            mkdir -p deep/er; touch deep/er/file; chmod 000 deep/er
            for i in 1 2 3 4 5 6; do fallocate -l 60M "$i" || head -c 60000000 /dev/zero > "$i"; done
            exec sleep 600
            """#
        try await Self.with(script) { program in
            #expect(await Self.output(of: program) == nil)
            let end = await program.end()
            #expect(end.hasSuffix("because its files were too large"), "\(end)")
        }
    }

    @Test func `what a program writes to its standard error is logged, and only its beginning is kept`() async throws {
        let pipe = Pipe()
        let errors = try ExtensionErrors(dup(pipe.fileHandleForReading.fileDescriptor))
        let text = "one\n\u{1B}[2Jtwo\n" + String(repeating: "x", count: 300_000)
        // All of it is read: the program must not wait.
        try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try pipe.fileHandleForWriting.close()
        let read = await errors.close()
        #expect(read.hasPrefix("one | [2Jtwo | xxx") && read.hasSuffix("xxx") && read.utf8.count < 4200)
    }

    /// What the open descriptors of this process refer to.
    private static func openFiles() -> Set<String> {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return Set(
            numbers.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
        )
    }

    /// Runs a program that writes the names of its pipes and what it has read, and returns the names.
    private static func pipes(_ number: Int, in directory: String) async throws -> [String] {
        // Each second one ends by itself, without the end of its last line.
        let rest = number.isMultiple(of: 2) ? #"printf %s "$line""# : #"echo "$line"; exec sleep 600"#
        let names = (0...2).map { "readlink /proc/$$/fd/\($0)" }.joined(separator: "; ")
        let process = try ExtensionProcess(
            [Self.shell, "-c", "\(names); read -r line; \(rest)"],
            environment: Self.environment,
            directory: directory,
            logger: Logger(label: "extension")
        )
        process.send("\(number)")
        var lines: [ExtensionOutput] = []
        for await output in process.outputs {
            lines.append(output)
            if lines.count == 4 { break }
        }
        let files = Self.openFiles()
        let end = await process.end()
        #expect(lines.last == .line("\(number)"), "\(end)")
        var pipes: [String] = []
        for case .line(let name) in lines.prefix(3) { pipes.append(name) }
        // While it runs.
        if !number.isMultiple(of: 2) { #expect(files.isSuperset(of: pipes)) }
        return pipes
    }

    @Test func `many programs at once get and write every line, and leave no pipe open`() async throws {
        try await Self.withDirectory { directory in
            let pipes: Set<String> = try await withThrowingTaskGroup(of: [String].self) { group in
                for number in 1...24 { group.addTask { try await Self.pipes(number, in: directory) } }
                var pipes: Set<String> = []
                for try await names in group { pipes.formUnion(names) }
                return pipes
            }
            #expect(pipes.count == 3 * 24)
            _ = try await eventually("the pipes are closed") {
                pipes.isDisjoint(with: Self.openFiles()) ? true : nil
            }
        }
    }

    @Test func `a program that does not want to end is killed, with its children`() async throws {
        let script = #"trap '' TERM; (trap '' TERM; exec sleep 600) & echo "$!"; while :; do sleep 1; done"#
        try await Self.with(script) { program in
            let child = try #require(Int32(try await Self.line(of: program)))
            #expect(kill(child, 0) == 0)
            // Also if what waits for it is cancelled.
            let waiting = Task { await program.end() }
            waiting.cancel()
            #expect(await waiting.value == "it was ended by signal 9")
            try await Self.isGone(child)
        }
    }

    @Test func `the children of a program that has ended are ended, too`() async throws {
        try await Self.with(#"sleep 600 >&- 2>&- & echo "$!""#) { program in
            let child = try #require(Int32(try await Self.line(of: program)))
            #expect(await program.end().contains("ended"))
            try await Self.isGone(child)
        }
    }

    /// Waits for the end of a process, which the first process of the system may not have reaped yet.
    private static func isGone(_ process: Int32) async throws {
        _ = try await eventually("the child is gone") {
            let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            return status.map { $0.contains(") Z ") } ?? true ? true : nil
        }
    }

    @Test func `a program that cannot be started is an error that names it`() async throws {
        try await Self.withDirectory { directory in
            let registry = ApplicationRegistry(
                environment: Self.environment,
                stateDirectory: nil,
                logger: Logger(label: "t")
            )
            // What an earlier process has left.
            let left = "\(directory)/abcdef"
            try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: true)
            let starter = ExtensionStarter(registry, directory: directory, logger: Logger(label: "t"))
            let extensions = DesktopServiceExtensions(starter)
            #expect(!FileManager.default.fileExists(atPath: left))
            #expect(!extensions.hasExtension("com.example.none"))
            #expect(try await extensions.start("com.example.none") == nil)
            // The limits are set by another program.
            let program = try ExtensionProcess(
                ["/nowhere/extension"],
                environment: Self.environment,
                directory: directory,
                logger: Logger(label: "t")
            )
            #expect(await Self.output(of: program) == nil)
            #expect(await program.end() == "it ended with exit status 127")
        }
    }

    @Test func `with a service manager the program runs in a scope with limited memory and processes (X-51)`() {
        let command = ExtensionLimits.service.command(["/opt/x", "--flag"], scope: "s.scope")
        #expect(command.first == "/usr/bin/systemd-run" && command.suffix(2) == ["/opt/x", "--flag"])
        for property in [
            "MemoryMax=268435456", "MemorySwapMax=0", "TasksMax=64", "RuntimeMaxSec=40", "TimeoutStopSec=1",
        ] {
            #expect(command.contains("--property=\(property)"))
        }
        #expect(command.contains("--scope") && command.contains("--unit=s.scope"))
        // Everywhere.
        #expect(command.contains("--data=536870912"))
        let bare = ExtensionLimits.service.command(["/opt/x"], scope: nil)
        #expect(bare.prefix(3) == ["timeout", "--kill-after=1", "40"] && bare.contains("--data=536870912"))
    }
}
