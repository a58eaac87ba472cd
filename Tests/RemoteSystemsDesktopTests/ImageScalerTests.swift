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
        try writeProgram("#!/bin/sh\n\(script)\n", to: program.path)
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
        try await Self.with(#"sleep 600 & echo $! > "$4"; sleep 600"#, maxTime: .seconds(20)) { directory, scaler in
            let result = directory.appending(path: "result")
            #expect(await scaler.scale("/image.png", to: result.path) == .failed)
            let text = try String(contentsOf: result, encoding: .utf8)
            let child = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
            // Its parent may not have reaped it yet.
            _ = try await eventually("the child's end") { isAlive(child) ? nil : true }
        }
    }

    @Test func `a program has a parent that ends it if this process was killed`() async throws {
        let script = #"tr '\0' ' ' < "/proc/$PPID/cmdline" > "$4""#
        try await Self.with(script, maxTime: .seconds(60)) { directory, scaler in
            let result = directory.appending(path: "result")
            #expect(await scaler.scale("/image.png", to: result.path) == .scaled)
            let started = try String(contentsOf: result, encoding: .utf8)
            #expect(started.hasPrefix("timeout --signal=KILL 61 prlimit "))
        }
    }

    @Test func `a system without a program that scales says so`() async {
        let none = DesktopImageScaler(environment: ["PATH": "/usr/bin:/bin"], program: "/nonexistent/thumbnailer")
        #expect(await none.scale("/image.png", to: "/nonexistent/result") == .unavailable)
    }

    @Test func `an extension makes a small copy of an image before it attaches it (N-26)`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let (large, small) = (directory.appending(path: "large.ppm"), directory.appending(path: "small.png"))
        // 600 by 300 pixels, in a format of a few lines.
        try (Data("P6 600 300 255\n".utf8) + Data(repeating: 200, count: 600 * 300 * 3)).write(to: large)
        try await ScaledImage.write(large, to: small, maxSide: 100)
        let header = try [UInt8](Data(contentsOf: small).prefix(24))
        #expect(header[1...3] == [0x50, 0x4E, 0x47] && header[16...] == [0, 0, 0, 100, 0, 0, 0, 50])
        let attachment = try NotificationAttachment(identifier: "photo", url: small)
        #expect(attachment.type == .png && attachment.byteCount < 10_000)

        try Data("no image".utf8).write(to: large)
        let none = directory.appending(path: "none")
        for (image, side) in [(large, 100), (none, 100), (small, 15), (small, 2049), (URL(string: "http://a/b"), 100)] {
            let image = try #require(image)
            await #expect(throws: NotificationError.self) {
                try await ScaledImage.write(image, to: directory.appending(path: "result.png"), maxSide: side)
            }
        }
        #expect(!FileManager.default.fileExists(atPath: directory.appending(path: "result.png").path))
    }

    @Test func `a copy may be as large as its pixels need`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let (photo, copy) = (directory.appending(path: "photo.ppm"), directory.appending(path: "copy.png"))
        // Noise cannot be compressed: the copy has more than 4 MiB.
        let random = try FileHandle(forReadingFrom: URL(filePath: "/dev/urandom"))
        let noise = try #require(try random.read(upToCount: 1300 * 1300 * 3))
        try (Data("P6 1300 1300 255\n".utf8) + noise).write(to: photo)
        try await ScaledImage.write(photo, to: copy, maxSide: 1300)
        let written = try Data(contentsOf: copy)
        #expect(written.count > 4 << 20)
    }

    @Test(arguments: ["exit 1", "kill -9 $$"])
    func `a copy replaces an earlier one only when it is complete`(end: String) async throws {
        try await Self.with(#"printf half > "$4"; \#(end)"#) { directory, scaler in
            let (photo, copy) = (directory.appending(path: "photo.ppm"), directory.appending(path: "copy.png"))
            try Data("earlier".utf8).write(to: copy)
            await #expect(throws: NotificationError.self) {
                try await ScaledImage.write(photo, to: copy, with: scaler)
            }
            let kept = try Data(contentsOf: copy)
            #expect(kept == Data("earlier".utf8))
            let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(files.sorted() == ["copy.png", "thumbnailer"])
        }
    }
}
