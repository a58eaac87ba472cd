// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

@testable import RemoteSystemsDesktop

/// What becomes of a program that is started.
@Suite struct DetachedProgramTests {
    @Test(arguments: [
        (["/nonexistent/program"], ENOENT), (["/dev/null"], EACCES), (["/etc"], EACCES), ([], EINVAL),
        (["/bin/true", "a\0b"], EINVAL),
    ])
    func `what cannot be started is an error with its number`(arguments: [String], number: Int32) {
        #expect(throws: DetachedProgram.StartError(number: number)) {
            try DetachedProgram(arguments, environment: [:]).start()
        }
    }

    @Test func `a directory that is not there is an error`() {
        #expect(throws: DetachedProgram.StartError(number: ENOENT)) {
            try DetachedProgram(["/bin/true"], environment: [:], directory: "/nonexistent").start()
        }
    }

    @Test(arguments: [
        ("exit 0", "it ended with exit status 0"), ("exit 3", "it ended with exit status 3"),
        ("kill -KILL $$", "it was ended by signal 9"),
    ])
    func `whoever waits for its end learns how it ended, before and after`(script: String, end: String) async throws {
        let program = try DetachedProgram(["/bin/sh", "-c", script], environment: [:]).start()
        async let first = program.end()
        async let second = program.end()
        let ends = await [first, second, program.end()]
        #expect(ends.map { $0?.description } == [end, end, end])
        #expect(program.ended?.description == end)
    }

    /// As it is for every program when this process ignores SIGCHLD.
    @Test func `of one that somebody else has buried nobody knows how it ended, which is no success`() async throws {
        var process: pid_t = 0
        var arguments = unsafe [strdup("/bin/true"), nil]
        defer { unsafe free(arguments[0]) }
        #expect(unsafe posix_spawn(&process, "/bin/true", nil, nil, &arguments, nil) == 0)
        #expect(waitpid(process, nil, 0) == process)
        let end = await StartedProgram(id: process).end()
        #expect(end == .unknown)
        #expect(end?.isSuccess == false)
    }

    @Test func `waiting for one that goes on ends with the task that waits, and a signal ends it (X-34)`() async throws
    {
        let program = try DetachedProgram(["/bin/sleep", "60"], environment: [:]).start()
        let waiting = Task { await program.end() }
        waiting.cancel()
        #expect(await waiting.value == nil)
        #expect(program.ended == nil)
        program.signal(SIGKILL)
        #expect(await program.end()?.description == "it was ended by signal 9")
    }

    // The one that ends when it is asked to has all the time it may need for that.
    @Test(arguments: [("", "signal 15", Duration.seconds(10)), ("trap '' TERM; ", "signal 9", .milliseconds(200))])
    func `one that is not wanted is asked to end, killed if it does not, and leaves nothing of its group (R-26)`(
        trap: String,
        end: String,
        grace: Duration
    ) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "children-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        // The child never listens to SIGTERM.
        let child = "(trap '' TERM; exec sleep 600) &"
        let script = "\(child) \(trap)echo $! > \(file).new; mv \(file).new \(file); wait; sleep 600"
        let program = try DetachedProgram(["/bin/sh", "-c", script], environment: [:]).start()
        let text = try await eventually("the child") { try? String(contentsOfFile: file, encoding: .utf8) }
        #expect(await program.terminate(grace: grace)?.description == "it was ended by \(end)")
        #expect(program.isUnwanted)
        let number = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        // Nobody may have buried it yet.
        _ = try await eventually("the child's end") { isAlive(number) ? nil : true }
    }

    @Test func `one that is not our child is never signalled: its number may be another's (R-26)`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "stranger-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        // A process of our child's, which is a group of its own.
        let script = "echo $$ > \(file).new; mv \(file).new \(file); exec sleep 600"
        let parent = try DetachedProgram(["/bin/sh", "-c", "setsid sh -c '\(script)'; true"], environment: [:]).start()
        let text = try await eventually("the process") { try? String(contentsOfFile: file, encoding: .utf8) }
        let number = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        let ending = Task { await StartedProgram(id: number).terminate(grace: .milliseconds(50)) }
        // Past the grace, after which one of ours would have been killed.
        try await Task.sleep(for: .milliseconds(300))
        #expect(isAlive(number))
        ending.cancel()
        #expect(await ending.value == nil)
        kill(number, SIGKILL)
        parent.signal(SIGKILL)
    }
}
