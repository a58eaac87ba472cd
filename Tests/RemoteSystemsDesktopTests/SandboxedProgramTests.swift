// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import RemoteSystemsDesktop

@Suite struct SandboxedProgramTests {
    @Test(
        arguments: [
            ("[Application]\nname=org.example.notes\nruntime=x\n", "org.example.notes"),
            ("[Instance]\nname=other\n[Application]\nname=org.example.notes\n", "org.example.notes"),
            ("[Runtime]\nname=org.freedesktop.Platform\n", ""), ("", ""), ("name=org.example.notes\n", ""),
        ]
    )
    func `a sandbox names its application in one group only`(text: String, application: String) {
        #expect(SandboxedProgram.application(in: text) == application)
    }

    @Test func `a process without a sandbox has no application`() {
        #expect(SandboxedProgram.application(ofProcess: getpid()) == nil)
    }
}
