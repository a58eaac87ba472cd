// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing
import UserNotifications

@testable import RemoteSystemsDesktop

@Suite struct ImageScalerTests {
    /// Runs `body` with a directory, and a program in place of the thumbnailer.
    private static func with(
        _ script: String,
        maxTime: Duration = .seconds(60),
        _ body: (URL, DesktopImageScaler) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let program = directory.appending(path: "thumbnailer")
        try "#!/bin/sh\n\(script)\n".write(to: program, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.path)
        let environment = ["PATH": "/usr/bin:/bin", "SECRET": "s"]
        try await body(directory, DesktopImageScaler(environment: environment, program: program.path, maxTime: maxTime))
    }

    @Test func `a program gets the image, the size, and nothing of this process`() async throws {
        try await Self.with(#"env > "$4"; echo "$1 $2 $3" >> "$4""#) { directory, scaler in
            let result = directory.appending(path: "result")
            #expect(await scaler.scale("/image.png", to: result.path) == .scaled)
            let text = try String(contentsOf: result, encoding: .utf8)
            #expect(text.hasSuffix("-s 256 /image.png\n") && !text.contains("SECRET"))
        }
    }

    @Test(arguments: ["exit 1", "ulimit -v | grep -qv 1048576 && exit 0; exit 1"])
    func `a program that cannot read the image means a damaged one; it may use 1 GiB`(script: String) async throws {
        try await Self.with(script) { directory, scaler in
            #expect(await scaler.scale("/image.png", to: directory.appending(path: "result").path) == .damaged)
        }
    }

    @Test func `a program that is killed, as for too much memory, makes no small image of a good one`() async throws {
        try await Self.with("kill -9 $$") { directory, scaler in
            #expect(await scaler.scale("/image.png", to: directory.appending(path: "result").path) == .failed)
        }
    }

    @Test func `a program that never ends is ended, with its children`() async throws {
        try await Self.with(#"sleep 600 & echo $! > "$4"; sleep 600"#, maxTime: .seconds(2)) { directory, scaler in
            let result = directory.appending(path: "result")
            #expect(await scaler.scale("/image.png", to: result.path) == .failed)
            let text = try String(contentsOf: result, encoding: .utf8)
            let child = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
            // Its parent may not have reaped it yet.
            _ = try await eventually("the child's end") { isAlive(child) ? nil : true }
        }
    }

    @Test func `a system without a program that scales says so`() async {
        let none = DesktopImageScaler(environment: ["PATH": "/usr/bin:/bin"], program: "/nonexistent/thumbnailer")
        #expect(await none.scale("/image.png", to: "/nonexistent/result") == .unavailable)
    }
}
