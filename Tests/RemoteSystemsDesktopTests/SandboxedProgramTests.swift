// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
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

    @Test func `a process that cannot be examined counts as sandboxed`() throws {
        // It has ended, or hides its files; and a file that cannot be read.
        #expect(SandboxedProgram.application(ofProcess: Int32.max) == "")
        let root = FileManager.default.temporaryDirectory.appending(path: "root-\(UUID())").path
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: root) }
        #expect(SandboxedProgram.application(inRoot: root) == nil)
        let file = root + "/.flatpak-info"
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "/nowhere")
        #expect(SandboxedProgram.application(inRoot: root) == "")
        try FileManager.default.removeItem(atPath: file)
        try "[Application]\nname=org.example.notes\n".write(toFile: file, atomically: true, encoding: .utf8)
        #expect(SandboxedProgram.application(inRoot: root) == "org.example.notes")
    }

    @Test func `a process without a sandbox has no application`() {
        #expect(SandboxedProgram.application(ofProcess: getpid()) == nil)
    }
}
