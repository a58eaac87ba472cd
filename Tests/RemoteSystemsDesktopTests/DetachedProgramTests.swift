// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

@testable import RemoteSystemsDesktop

/// The life and end of a started program.
@Suite struct DetachedProgramTests {
    @Test(arguments: [
        (["/nonexistent/program"], ENOENT), (["/dev/null"], EACCES), (["/etc"], EACCES), ([], EINVAL),
        (["/bin/true", "a\0b"], EINVAL),
    ])
    func `a program that cannot be started is an error with its errno`(arguments: [String], number: Int32) {
        #expect(throws: DetachedProgram.StartError(number: number)) {
            try DetachedProgram(arguments, environment: [:]).start()
        }
    }

    @Test func `a missing directory is an error`() {
        #expect(throws: DetachedProgram.StartError(number: ENOENT)) {
            try DetachedProgram(["/bin/true"], environment: [:], directory: "/nonexistent").start()
        }
    }

    @Test(arguments: [
        ("exit 0", "it ended with exit status 0"), ("exit 3", "it ended with exit status 3"),
        ("kill -KILL $$", "it was ended by signal 9"),
    ])
    func `the end is reported to callers that wait, before and after it`(script: String, end: String) async throws {
        let program = try DetachedProgram(["/bin/sh", "-c", script], environment: [:]).start()
        async let first = program.end()
        async let second = program.end()
        let ends = await [first, second, program.end()]
        #expect(ends.map { $0?.description } == [end, end, end])
        #expect(program.ended?.description == end)
    }

    /// Runs a shell script, which gets a line to read once it has been started, and returns what it prints.
    private static func output(of script: String, environment: [String: String] = [:]) async throws -> String {
        let (input, output) = (Pipe(), Pipe())
        let null = try #require(FileHandle(forUpdatingAtPath: "/dev/null"))
        var program = DetachedProgram(["/bin/sh", "-c", script], environment: environment)
        program.pipes = (
            input.fileHandleForReading.fileDescriptor, output.fileHandleForWriting.fileDescriptor, null.fileDescriptor
        )
        let started = try program.start()
        try output.fileHandleForWriting.close()
        try input.fileHandleForWriting.write(contentsOf: Array("started\n".utf8))
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        #expect(await started.end()?.isSuccess == true)
        return String(decoding: data, as: UTF8.self)
    }

    @Test func `a program may open the usual number of files, and may raise that to the limit of this process`()
        async throws
    {
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        try #require(unsafe getrlimit(kind, &limit) == 0 && limit.rlim_max > rlim_t(DetachedProgram.maxFiles))
        // As that of the host daemon. It is never lowered again: other tests may need it.
        limit.rlim_cur = max(limit.rlim_cur, min(4_096, limit.rlim_max))
        try #require(unsafe setrlimit(kind, &limit) == 0)
        let script = "read -r _; ulimit -Sn; ulimit -Hn; ulimit -Sn $(ulimit -Hn) && ulimit -Sn"
        let hard = limit.rlim_max == rlim_t.max ? "unlimited" : "\(limit.rlim_max)"
        #expect(try await Self.output(of: script) == "1024\n\(hard)\n\(hard)\n")
        // That of this process stays.
        var present = rlimit()
        #expect(unsafe getrlimit(kind, &present) == 0)
        #expect(present.rlim_cur >= limit.rlim_cur)
    }

    @Test func `a program has a session of its own, no other descriptors and no blocked or ignored signals`()
        async throws
    {
        let inherited = unsafe open("/dev/null", O_RDONLY)
        defer { close(inherited) }
        try #require(inherited >= 3)
        // Without a pipe, which the shell itself would hold open for a moment.
        let script = """
            ls -m /proc/$$/fd
            grep -E '^Sig(Blk|Ign)' /proc/$$/status | tr -d '\\t'
            cut -d ' ' -f 6 /proc/$$/stat; echo $$; printenv ONLY
            """
        let lines = try await Self.output(of: script, environment: ["ONLY": "this", "PATH": "/usr/bin:/bin"])
            .split(separator: "\n").map(String.init)
        try #require(lines.count == 6)
        #expect(lines[0] == "0, 1, 2")
        #expect(lines[1] == "SigBlk:0000000000000000")
        // 32 and 33 are the C library's own, which posix_spawn(3) lets a program ignore at its start.
        let ignored = UInt64(lines[2].dropFirst("SigIgn:".count), radix: 16).map { $0 & ~(0b11 << 31) }
        #expect(ignored == 0)
        #expect(lines[3] == lines[4])
        #expect(lines[5] == "this")
    }

    @Test func `a file of an unknown format is not run by a shell, and a name is searched on the path`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "script-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "exit 0\n".write(toFile: file, atomically: false, encoding: .utf8)
        let changed = unsafe chmod(file, 0o700)
        #expect(changed == 0)
        // A program that another test starts at this moment may still have the file open for writing.
        var number = ETXTBSY
        while number == ETXTBSY {
            do throws(DetachedProgram.StartError) {
                try DetachedProgram([file], environment: [:]).start()
                number = 0
            } catch {
                number = error.number
            }
        }
        #expect(number == ENOEXEC)
        #expect(try await DetachedProgram(["true"], environment: [:]).start().end()?.isSuccess == true)
        #expect(throws: DetachedProgram.StartError(number: ENOENT)) {
            try DetachedProgram(["no-program-has-this-name"], environment: [:]).start()
        }
    }

    /// The processes that the open descriptors of this process refer to, as the kernel lists them; -1 for a process
    /// that was reaped.
    private static func watchedProcesses() -> [String: pid_t] {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo")) ?? []
        return numbers.reduce(into: [:]) { processes, number in
            // It may be closed by now.
            let text = (try? String(contentsOfFile: "/proc/self/fdinfo/\(number)", encoding: .utf8)) ?? ""
            let line = text.split(separator: "\n").first { $0.hasPrefix("Pid:") }
            processes[number] = line.flatMap { pid_t($0.dropFirst(4).trimmingCharacters(in: .whitespaces)) }
        }
    }

    @Test func `many programs that end at once are all reaped, and leave no descriptor open`() async throws {
        let programs = try (0..<40).map { _ in try DetachedProgram(["/bin/sleep", "600"], environment: [:]).start() }
        let ids = Set(programs.map(\.id))
        let descriptors = Self.watchedProcesses().filter { ids.contains($0.value) }
        #expect(Set(descriptors.values) == ids)
        await withTaskGroup(of: Void.self) { group in
            for program in programs {
                group.addTask {
                    program.signal(SIGKILL)
                    let end = await program.end()
                    #expect(end == .killed(signal: 9))
                }
            }
        }
        // Others may have the same numbers now.
        _ = try await eventually("the descriptors are closed") {
            let open = Self.watchedProcesses()
            return descriptors.keys.contains { open[$0] == -1 } ? nil : true
        }
    }

    /// A process that ignores SIGCHLD never gets the exit status of its children.
    @Test func `the end of a program that was reaped elsewhere is unknown, and no success`() async throws {
        var process: pid_t = 0
        var arguments = unsafe [strdup("/bin/true"), nil]
        defer { unsafe free(arguments[0]) }
        #expect(unsafe posix_spawn(&process, "/bin/true", nil, nil, &arguments, nil) == 0)
        #expect(waitpid(process, nil, 0) == process)
        let end = await StartedProgram(id: process).end()
        #expect(end == .unknown)
        #expect(end?.isSuccess == false)
    }

    @Test func `cancelling the task ends the wait but not the program, and a signal ends it (X-34)`() async throws {
        let program = try DetachedProgram(["/bin/sleep", "60"], environment: [:]).start()
        let waiting = Task { await program.end() }
        waiting.cancel()
        #expect(await waiting.value == nil)
        #expect(program.ended == nil)
        program.signal(SIGKILL)
        #expect(await program.end()?.description == "it was ended by signal 9")
    }

    // The program that ends on SIGTERM gets a long grace period, so that a slow machine does not kill it.
    @Test(arguments: [("", "signal 15", Duration.seconds(10)), ("trap '' TERM; ", "signal 9", .milliseconds(200))])
    func `an unwanted program gets SIGTERM, then SIGKILL, and no process of its group remains (R-26)`(
        trap: String,
        end: String,
        grace: Duration
    ) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "children-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        // The child ignores SIGTERM.
        let child = "(trap '' TERM; exec sleep 600) &"
        let script = "\(child) \(trap)echo $! > \(file).new; mv \(file).new \(file); wait; sleep 600"
        let program = try DetachedProgram(["/bin/sh", "-c", script], environment: [:]).start()
        let text = try await eventually("the child") { try? String(contentsOfFile: file, encoding: .utf8) }
        #expect(await program.terminate(grace: grace)?.description == "it was ended by \(end)")
        #expect(program.isUnwanted)
        let number = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        // Its parent may not have reaped it yet.
        _ = try await eventually("the child's end") { isAlive(number) ? nil : true }
    }

    @Test func `a process that is not our child is never signalled, since its id may be reused (R-26)`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "stranger-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        // A grandchild with a process group of its own.
        let script = "echo $$ > \(file).new; mv \(file).new \(file); exec sleep 600"
        let parent = try DetachedProgram(["/bin/sh", "-c", "setsid sh -c '\(script)'; true"], environment: [:]).start()
        let text = try await eventually("the process") { try? String(contentsOfFile: file, encoding: .utf8) }
        let number = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        let ending = Task { await StartedProgram(id: number).terminate(grace: .milliseconds(50)) }
        // Past the grace period, after which our own child would have been killed.
        try await Task.sleep(for: .milliseconds(300))
        #expect(isAlive(number))
        ending.cancel()
        #expect(await ending.value == nil)
        kill(number, SIGKILL)
        parent.signal(SIGKILL)
    }
}
