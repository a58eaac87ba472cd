// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
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
}
