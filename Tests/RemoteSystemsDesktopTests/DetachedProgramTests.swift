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
        #expect(throws: DetachedProgram.StartError(number: number)) { try DetachedProgram(arguments).start() }
    }

    @Test func `a directory that is not there is an error`() {
        #expect(throws: DetachedProgram.StartError(number: ENOENT)) {
            try DetachedProgram(["/bin/true"], directory: "/nonexistent").start()
        }
    }

    @Test(arguments: [
        ("NOTIFY_SOCKET", true), ("LISTEN_FDS", true), ("WATCHDOG_USEC", true), ("REMOTE_SYSTEMS_STATE", true),
        ("PATH", false), ("DISPLAY", false), ("XDG_RUNTIME_DIR", false),
    ])
    func `what a service manager tells this process alone is not passed on`(name: String, isPrivate: Bool) {
        #expect(DetachedProgram.isPrivate(name) == isPrivate)
    }
}
