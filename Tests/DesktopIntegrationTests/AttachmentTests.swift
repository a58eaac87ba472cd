// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// Images, sounds and videos of notifications on real notification servers.
    @Suite struct Attachments {
        enum Server: Sendable {
            case dunst, xfce
        }

        /// Installs Debian's thumbnailer of videos for the user.
        private static func installThumbnailer(for user: Desktop) throws {
            let directory = "\(user.directory)/data/thumbnailers"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                atPath: "/usr/share/thumbnailers/ffmpegthumbnailer.thumbnailer",
                toPath: "\(directory)/ffmpegthumbnailer.thumbnailer"
            )
        }

        @Test(arguments: [Server.dunst, .xfce])
        func `a real server shows the image of a notification, and it is gone with it (N-14, N-25)`(
            server: Server
        ) async throws {
            try await OneDesktop.with { environment in
                // The system's database of file formats, with which servers recognise images.
                let environment = environment.merging(["XDG_DATA_DIRS": "/usr/share"]) { $1 }
                return server == .dunst
                    ? try await Desktop.startDunst(environment) : try await OneDesktop.startXfce(environment)
            } _: { desktop in
                let path = "\(desktop.system.desktop.directory)/the garden.png"
                // Larger than every screen: the server gets a small one.
                try await Desktop.image(4000, to: path)
                #expect(try desktop.system.desktop.pixels(Desktop.magenta) == 0)
                let asking = try desktop.ask(["--title", "The party", "--attach", path])
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                try await desktop.eventually("the picture") {
                    try desktop.system.desktop.pixels(Desktop.magenta) > 500
                }
                let list = try await desktop.system.command("notifications", "list", "--json")
                #expect(list.contains(#""type":"image/png""#) && list.contains(#""id":"the garden.png""#), "\(list)")
                let key = try await desktop.listedKey(of: "The party")
                _ = try await desktop.system.command("notifications", "answer", key, "dismiss")
                try await desktop.eventually("the screen is empty") {
                    try desktop.system.desktop.pixels(Desktop.magenta) == 0
                }
            }
        }

        @Test func `a sound is opened with the user's application for it, and the notification stays (N-25)`()
            async throws
        {
            try await OneDesktop.with(server: "media") { desktop in
                let user = desktop.system.desktop
                try user.install(
                    "org.example.player",
                    exec: "\(user.recorder("player")) %f",
                    "MimeType=audio/mpeg;",
                    "X-RemoteSystems-NeedsDisplay=false"
                )
                try user.write(
                    "[Default Applications]\naudio/mpeg=org.example.player.desktop\n",
                    to: "config/mimeapps.list"
                )
                // Its name pretends to be another format.
                let path = "\(user.directory)/song.desktop"
                try Data("ID3\u{3} music".utf8).write(to: URL(filePath: path))
                // An action of the application that is named alike is another one.
                let asking = try desktop.ask(
                    [
                        "--title", "The song", "--attach", path, "--category", "song", "--action",
                        "open-attachment=Notes",
                    ]
                )
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                let call = try await desktop.notified("The song")
                #expect(call.contains(#""open-attachment", "Notes""#), "\(call)")
                #expect(call.contains("Open sound") && call.contains(#""image": "audio-x-generic""#), "\(call)")
                desktop.server.send(SIGUSR1)
                let opened = try #require(try await user.recorded("player").last)
                #expect(opened.hasSuffix(".mp3"))
                #expect(FileManager.default.contents(atPath: opened) == Data("ID3\u{3} music".utf8))
                #expect(try await desktop.system.command("notifications", "list").contains("The song"))
            }
        }

        @Test func `a video that no application opens has no button`() async throws {
            try await OneDesktop.with(server: "plain") { desktop in
                let path = "\(desktop.system.desktop.directory)/film.mp4"
                try Data("\0\0\0 ftypisom".utf8).write(to: URL(filePath: path))
                let asking = try desktop.ask(["--title", "The film", "--attach", path])
                #expect(try await asking.exit(within: .seconds(60)) == 0, "\(asking.lines)")
                let call = try await desktop.notified("The film")
                #expect(call.contains(#""image": "video-x-generic""#) && !call.contains("Open video"), "\(call)")
            }
        }

        @Test func `a real video is shown with its poster, which Debian's thumbnailer makes (N-25)`() async throws {
            try await OneDesktop.with(server: "plain") { desktop in
                let user = desktop.system.desktop
                try Self.installThumbnailer(for: user)
                let path = "\(user.directory)/film.mp4"
                try await writeVideo(to: path)
                let asking = try desktop.ask(["--title", "The film", "--attach", path])
                #expect(try await asking.exit(within: .seconds(60)) == 0, "\(asking.lines)")
                let call = try await desktop.notified("The film")
                #expect(call.contains(#""image": "file://"#) && call.contains(".thumbnail"), "\(call)")
            }
        }

        @Test func `a real server shows a frame of a video, and it is gone with the notification (N-25)`() async throws
        {
            try await OneDesktop.with { environment in
                // The system's database of file formats, with which servers recognise images.
                return try await Desktop.startDunst(environment.merging(["XDG_DATA_DIRS": "/usr/share"]) { $1 })
            } _: { desktop in
                let user = desktop.system.desktop
                try Self.installThumbnailer(for: user)
                let path = "\(user.directory)/film.mp4"
                try await writeVideo(to: path)
                // The colour of the frames. The video's format changes it a little.
                let frames: () throws -> Int = { try user.pixels((255, 0, 255), within: 8) }
                #expect(try frames() == 0)
                let asking = try desktop.ask(["--title", "The film", "--attach", path])
                #expect(try await asking.exit(within: .seconds(60)) == 0, "\(asking.lines)")
                try await desktop.eventually("the poster") { try frames() > 500 }
                let key = try await desktop.listedKey(of: "The film")
                _ = try await desktop.system.command("notifications", "answer", key, "dismiss")
                try await desktop.eventually("the screen is empty") { try frames() == 0 }
            }
        }

        @Test func `an image that no program can decode is left out, and the notification is shown`() async throws {
            try await OneDesktop.with(server: "plain") { desktop in
                let path = "\(desktop.system.desktop.directory)/broken.png"
                try await Desktop.image(8, to: path)
                var bytes = try Data(contentsOf: URL(filePath: path))
                // The parts and their checksums are right, but PNG has no colour type 5.
                let header: [UInt8] = [0, 0, 0, 8, 0, 0, 0, 8, 8, 5, 0, 0, 0, 0xd6, 0xba, 0x11, 0x65]
                bytes.replaceSubrange(16..<33, with: header)
                try bytes.write(to: URL(filePath: path))
                let asking = try desktop.ask(["--title", "Deploy?", "--attach", path])
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                let call = try await desktop.notified()
                #expect(call.contains(#""image": null"#), "\(call)")
                let reason = "'broken.png' was left out. The image cannot be decoded."
                #expect(asking.lines.contains { $0.contains(reason) })
            }
        }
    }
}
