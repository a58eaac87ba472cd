// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing
import UserNotifications

@testable import RemoteSystemsDesktop

/// The posters of sounds and videos, with programs in place of the thumbnailers, and with Debian's.
@Suite struct PosterTests {
    private struct Machine {
        let directory: URL
        let scaler: DesktopImageScaler

        var result: String { self.directory.appending(path: "result").path }
        /// What lies where the result is to be.
        var results: [String] {
            get throws {
                try FileManager.default.contentsOfDirectory(atPath: self.directory.path)
                    .filter { $0.hasPrefix("result") }.sorted()
            }
        }
        var text: String { get throws { try String(contentsOfFile: self.result, encoding: .utf8) } }

        func program(_ name: String, _ script: String) throws -> String {
            let path = self.directory.appending(path: name).path
            try writeProgram("#!/bin/sh\n\(script)\n", to: path)
            return path
        }

        /// - Parameter place: the user's directory of data files, or the system's.
        func install(_ name: String, _ lines: String..., in place: String = "user") throws {
            let directory = self.directory.appending(path: "\(place)/thumbnailers")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            try (["[Thumbnailer Entry]"] + lines).joined(separator: "\n")
                .write(to: directory.appending(path: "\(name).thumbnailer"), atomically: true, encoding: .utf8)
        }

        func poster(_ mediaType: String = "video/mp4") async -> ImageScaling {
            await self.scaler.poster(of: "/film.mp4", mediaType, to: self.result)
        }

        /// - Parameter scales: what scales in place of gdk-pixbuf. Defaults to a program that copies, and says so.
        static func with(
            scales: String = #"cat "$3" > "$4" && echo "scaled $1 $2" >> "$4""#,
            maxTime: Duration = .seconds(60),
            _ body: (Machine) async throws -> Void
        ) async throws {
            let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            let scaler = directory.appending(path: "scaler").path
            try writeProgram("#!/bin/sh\n\(scales)\n", to: scaler)
            let environment = [
                "PATH": "/usr/bin:/bin:\(directory.path)/bin", "SECRET": "s",
                "XDG_DATA_HOME": "\(directory.path)/user", "XDG_DATA_DIRS": "\(directory.path)/system",
            ]
            try await body(
                Machine(
                    directory: directory,
                    scaler: DesktopImageScaler(environment: environment, program: scaler, maxPosterTime: maxTime)
                )
            )
        }
    }

    @Test func `a thumbnailer gets the file, the size, and nothing of this process; its result is scaled (N-25)`()
        async throws
    {
        try await Machine.with { machine in
            let program = try machine.program("thumbnailer", #"env > "$3"; ulimit -v >> "$3"; echo "$1 $2" >> "$3""#)
            try machine.install("films", "Exec=\(program) %s %i %o", "MimeType=video/mp4;audio/mpeg")
            for type in ["video/mp4", "audio/mpeg"] {
                #expect(await machine.poster(type) == .scaled)
                #expect(try machine.text.hasSuffix("\n1048576\n256 /film.mp4\nscaled -s 256\n"))
                #expect(try !machine.text.contains("SECRET"))
            }
            // Nothing of the thumbnailer itself stays.
            #expect(try machine.results == ["result"])
            #expect(await machine.poster("video/mpeg") == .unavailable)
        }
    }

    @Test(arguments: ["exit 1", "exit 255", "exit 0", "kill -9 $$", #"echo x > "$3"; exit 2"#])
    func `a thumbnailer that fails makes no poster, and leaves nothing of its own`(script: String) async throws {
        try await Machine.with { machine in
            let program = try machine.program("thumbnailer", script)
            try machine.install("films", "Exec=\(program) %s %i %o", "MimeType=video/mp4")
            #expect(await machine.poster() != .scaled)
            #expect(try machine.results.allSatisfy { $0 == "result" })
        }
    }

    @Test func `what a thumbnailer writes is not believed: an image that cannot be decoded is no poster`()
        async throws
    {
        try await Machine.with(scales: "exit 1") { machine in
            let program = try machine.program("thumbnailer", #"echo "no image" > "$3""#)
            try machine.install("films", "Exec=\(program) %s %i %o", "MimeType=video/mp4")
            #expect(await machine.poster() == .damaged)
            #expect(try machine.results == [])
        }
    }

    @Test(arguments: [true, false])
    func `the children of a thumbnailer end with it, also if it never ends`(ends: Bool) async throws {
        // Long enough for a busy machine to start the program, which has to write its child's id.
        try await Machine.with(maxTime: .seconds(ends ? 60 : 20)) { machine in
            let script = #"sleep 600 & echo $! > "$3.child"; echo x > "$3""# + (ends ? "" : "; sleep 600")
            let program = try machine.program("thumbnailer", script)
            try machine.install("films", "Exec=\(program) %s %i %o", "MimeType=video/mp4")
            let expected = ends ? ImageScaling.scaled : .failed
            #expect(await machine.poster() == expected)
            let text = try String(contentsOfFile: "\(machine.result).poster.child", encoding: .utf8)
            let child = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
            // Its parent may not have reaped it yet.
            _ = try await eventually("the child's end") { isAlive(child) ? nil : true }
        }
    }

    @Test func `the first installed thumbnailer of the user, and then of the system, is used`() async throws {
        try await Machine.with { machine in
            let mine = try machine.program("mine", #"echo mine > "$3""#)
            let shared = try machine.program("shared", #"echo shared > "$3""#)
            try machine.install("b", "Exec=\(shared) %s %i %o", "MimeType=video/mp4", in: "system")
            // Not installed, not complete, of another format, with a path inside of a command, and not a program.
            try machine.install("a1", "TryExec=/nonexistent", "Exec=\(mine) %s %i %o", "MimeType=video/mp4")
            try machine.install("a2", "TryExec=missing-program", "Exec=\(mine) %s %i %o", "MimeType=video/mp4")
            try machine.install("a3", "Exec=\(mine) %s %i", "MimeType=video/mp4")
            try machine.install("a4", "Exec=\(mine) %s %i %o", "MimeType=video/mpeg")
            try machine.install("a5", "Exec=sh -c '\(mine) %s %i %o'", "MimeType=video/mp4")
            try machine.install("a6", "Exec=relative/program %s %i %o", "MimeType=video/mp4")
            #expect(await machine.poster() == .scaled)
            #expect(try machine.text.hasPrefix("shared"))
            // A file that every user can change names no program that runs here.
            try machine.install("a7", "Exec=\(mine) %s %i %o", "MimeType=video/mp4")
            let path = machine.directory.appending(path: "user/thumbnailers/a7.thumbnailer").path
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
            #expect(await machine.poster() == .scaled)
            #expect(try machine.text.hasPrefix("shared"))
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
            #expect(await machine.poster() == .scaled)
            #expect(try machine.text.hasPrefix("mine"))
            // The user's file of the same name stands for that of the system: here, for none.
            try machine.install("b", "Exec=none", "MimeType=video/mp4")
            try FileManager.default.removeItem(atPath: path)
            #expect(await machine.poster() == .unavailable)
        }
    }

    @Test func `Debian's thumbnailer makes a poster of a real video, and none of a damaged one (N-25)`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let (film, result) = (directory.appending(path: "film").path, directory.appending(path: "result").path)
        try await writeVideo(to: film)
        let scaler = DesktopImageScaler(
            environment: ["PATH": "/usr/bin:/bin", "XDG_DATA_DIRS": "/usr/share"],
            maxPosterTime: .seconds(60)
        )
        #expect(await scaler.poster(of: film, "video/mp4", to: result) == .scaled)
        // 320 by 240 pixels, scaled.
        let header = try [UInt8](Data(contentsOf: URL(filePath: result)).prefix(24))
        #expect(header[1...3] == [0x50, 0x4E, 0x47] && header[16...] == [0, 0, 1, 0, 0, 0, 0, 192])
        try FileManager.default.removeItem(atPath: result)
        try Data("\0\0\0 ftypisom".utf8).write(to: URL(filePath: film))
        #expect(await scaler.poster(of: film, "video/mp4", to: result) != .scaled)
        #expect(!FileManager.default.fileExists(atPath: result))
    }
}
