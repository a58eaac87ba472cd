// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// What a media player plays goes on in a player of another machine: real players, each on the bus of its machine,
    /// and the host daemons of two systems of one account.
    @Suite(.enabled(if: Player.isInstalled, "mpv, mpv-mpris or python3-gi is not installed"))
    struct MediaPlayers {
        @Test func `a track goes on in a running player of another machine at the same second, and back`() async throws
        {
            try await Player.machines { first, second, media in
                let address = "http://127.0.0.1:\(media.port)/song.wav"
                let playing = try first.mpv(address, "--volume=60")
                let idle = try second.mpv("--idle=yes")
                try await first.plays(address)
                try await first.order("seek", "30")
                _ = try await second.player { $0.players == 1 }
                try await Player.handOver(from: first, to: second)
                let volume = try await second.player { $0.status == "Playing" }.volume ?? 0
                #expect(abs(volume - 0.6) < 0.01)
                // And back: the first player is the idle one now.
                try await Player.handOver(from: second, to: first)
                // A paused player stays paused on the other machine, at the same position.
                try await first.order("pause")
                let paused = try await first.player { $0.status == "Paused" }
                try await second.continues()
                let there = try await second.player { $0.status == "Paused" }
                #expect(abs((there.position ?? 0) - (paused.position ?? 0)) < 1)
                for process in [playing, idle] { await process.stop() }
            }
        }

        @Test func `a file of a document root goes on in the default player, which is started`() async throws {
            try await Player.machines { first, second, media in
                let copy = "\(second.desktop.directory)/music/song.wav"
                try FileManager.default.copyItem(atPath: media.file, toPath: copy)
                let mine = "\(first.desktop.directory)/music/song.wav"
                try FileManager.default.copyItem(atPath: media.file, toPath: mine)
                let command = Player.command.map { "\"\($0)\"" }.joined(separator: " ")
                try second.desktop.install(
                    "org.example.mpv",
                    exec: "\(command) %U",
                    "X-RemoteSystems-NeedsDisplay=false",
                    "MimeType=video/mp4;audio/x-wav;audio/vnd.wave;"
                )
                try second.desktop.write(
                    "[Default Applications]\n"
                        + ["video/mp4", "audio/x-wav", "audio/vnd.wave"].map { "\($0)=org.example.mpv.desktop\n" }
                        .joined(),
                    to: "config/mimeapps.list"
                )
                let playing = try first.mpv(mine)
                try await first.plays("song.wav")
                try await Player.handOver(from: first, to: second)
                let there = try await second.player { $0.status == "Playing" }
                #expect(there.url == URL(filePath: copy).absoluteString)
                await playing.stop()
                try await second.order("quit")
            }
        }

        @Test func `a player that does not really play leaves the first one playing, and the error says so`()
            async throws
        {
            try await Player.machines { first, second, media in
                let address = "http://127.0.0.1:\(media.port)/song.wav"
                let playing = try first.mpv(address)
                let lying = try second.script("player.py", "lie", "still")
                try await lying.prints("ready")
                try await first.plays(address)
                let continuing = try await second.continuation()
                #expect(try await continuing.exit(within: .seconds(90)) == 2)
                let message = continuing.lines.joined()
                #expect(message.contains("Liar does not play: its position does not move"), "\(message)")
                #expect(message.contains("The media goes on where it was."), "\(message)")
                #expect(lying.lines.contains("OpenUri \(address)"))
                // It was paused, so that it does not begin later.
                #expect(lying.lines.last == "Pause", "\(lying.lines)")
                let here = try await first.player { $0.players == 1 }
                #expect(here.status == "Playing")
                // It is offered again.
                try await second.isOffered("song.wav")
                for process in [playing, lying] { await process.stop() }
            }
        }

        @Test func `a player that lies does no harm, and what cannot be handed over is stated with the reason`()
            async throws
        {
            try await Player.machines { first, second, _ in
                let address = "https://example.com/song.ogg"
                for (kind, title) in [("absurd", "owned"), ("restless", "Song")] {
                    let lying = try first.script("player.py", "lie", kind, address)
                    try await lying.prints("ready")
                    let line = try await second.isOffered(title)
                    #expect(!line.unicodeScalars.contains { $0.value < 32 || $0.value == 0x202E }, "\(line)")
                    await lying.stop()
                }
                for (kind, address, reason) in [
                    ("huge", address, "It does not respond, or states more than a player may."),
                    ("mute", address, "It does not respond, or states more than a player may."),
                    ("still", "https://user:secret@example.com/a.ogg", "contains a user name or a password"),
                    ("still", "file:///srv/private/a.ogg", "in none of the folders that 'documentRoots' names"),
                    ("still", "spotify:track:1", "not spotify addresses"),
                ] {
                    let lying = try first.script("player.py", "lie", kind, address)
                    try await lying.prints("ready")
                    let listed = try await first.command("activities", "players").joined()
                    #expect(listed.contains(reason), "\(listed)")
                    #expect(!listed.contains("secret"))
                    // The former player has ended, and so has its offer.
                    try await second.isNotOffered()
                    await lying.stop()
                }
            }
        }
    }
}

/// The parts of the tests with media players.
private enum Player {
    /// Short buffers, since the position that mpv states moves by a buffer at a time.
    static let command = [
        "mpv", "--vo=null", "--ao=null", "--ao-null-buffer=0.05", "--audio-buffer=0.05", "--no-config",
        "--script=/usr/lib/mpv-mpris/mpris.so",
    ]

    static let isInstalled: Bool =
        ["/usr/bin/mpv", "/usr/lib/mpv-mpris/mpris.so", "/usr/lib/python3/dist-packages/gi"].allSatisfy {
            FileManager.default.fileExists(atPath: $0)
        } || ProcessInfo.processInfo.environment["CI"] != nil

    /// A track, and a server that has it.
    struct Media {
        var file: String
        var port: Int
    }

    /// What a player states.
    struct State: Decodable {
        var players: Int
        var status: String?
        var url: String?
        var position: Double?
        var volume: Double?
        /// The time at which the position was right, in seconds of the machine's clock.
        var time: Double?
    }

    /// Runs `body` with two machines whose daemons hand players over.
    static func machines(_ body: (TwoBuses, TwoBuses, Media) async throws -> Void) async throws {
        try await TwoBuses.with { desktop in
            let music = "\(desktop.directory)/music"
            try FileManager.default.createDirectory(atPath: music, withIntermediateDirectories: true)
            return [
                "REMOTE_SYSTEMS_HOST_MEDIA_PLAYERS": "true",
                "REMOTE_SYSTEMS_HOST_DOCUMENT_ROOTS": "music=\(music)",
            ]
        } _: { first, second in
            let media = "\(first.desktop.directory)/media"
            try FileManager.default.createDirectory(atPath: media, withIntermediateDirectories: true)
            try Self.track.write(to: URL(filePath: "\(media)/song.wav"))
            let server = try first.script("media_server.py", media)
            do {
                let port = try await eventually("the server", within: .seconds(60)) {
                    server.lines.first.flatMap(Int.init)
                }
                try await body(first, second, Media(file: "\(media)/song.wav", port: port))
            } catch {
                await server.stop()
                throw error
            }
            await server.stop()
        }
    }

    /// Two minutes of silence: RIFF WAVE, 8 000 samples of one byte a second.
    private static var track: Data {
        func number(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
        let samples: UInt32 = 120 * 8000
        let header: [UInt8] =
            Array("RIFF".utf8) + number(36 + samples) + Array("WAVEfmt ".utf8) + number(16) + [1, 0, 1, 0]
            + number(8000) + number(8000) + [1, 0, 8, 0] + Array("data".utf8) + number(samples)
        return Data(header + [UInt8](repeating: 128, count: Int(samples)))
    }

    /// Continues on the second machine what the first one plays.
    static func handOver(from first: TwoBuses, to second: TwoBuses) async throws {
        let before = try await first.player { $0.status == "Playing" && ($0.position ?? 0) > 0.5 }
        try await second.continues()
        let here = try await first.player { $0.players == 1 }
        #expect(here.status == "Paused")
        let there = try await second.player { $0.status == "Playing" }
        guard let start = before.position, let position = there.position, let began = before.time, let end = there.time
        else { throw IntegrationError("no position: \(before), \(there)") }
        let error = position - start - (end - began)
        print("the other player is \(error) s ahead")
        #expect(abs(error) < 1)
    }
}

extension TwoBuses {
    fileprivate func mpv(_ arguments: String...) throws -> ChildProcess { try self.start(Player.command + arguments) }

    /// Starts a script of this folder with Debian's Python, which has GLib.
    fileprivate func script(_ name: String, _ arguments: String...) throws -> ChildProcess {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Scripts/\(name)").path
        return try self.start(["/usr/bin/python3", "-u", file] + arguments)
    }

    fileprivate func order(_ order: String...) async throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Scripts/player.py").path
        try await run(["/usr/bin/python3", file] + order, environment: self.environment)
    }

    /// Waits until the only player is in a state.
    fileprivate func player(_ isReached: (Player.State) -> Bool) async throws -> Player.State {
        var last = ""
        do {
            return try await eventually("a player", within: .seconds(60), every: .milliseconds(50)) {
                let asking = try self.script("player.py", "state")
                _ = try await asking.exit(within: .seconds(60))
                last = asking.lines.joined()
                let state = try JSONDecoder().decode(Player.State.self, from: Data((asking.lines.last ?? "").utf8))
                return isReached(state) ? state : nil
            }
        } catch { throw IntegrationError("\(error): \(last)") }
    }

    fileprivate func plays(_ address: String) async throws {
        _ = try await self.player { $0.status == "Playing" && $0.url?.hasSuffix(address) == true }
    }

    fileprivate func command(_ arguments: String...) async throws -> [String] {
        let process = try self.start([try builtProgram("remotesystems")] + arguments + Self.network(arguments))
        _ = try await process.exit(within: .seconds(60))
        return process.lines
    }

    private static func network(_ arguments: [String]) -> [String] {
        arguments.contains("players") ? [] : ["--loopback"]
    }

    @discardableResult
    fileprivate func isOffered(_ title: String) async throws -> String {
        var last: [String] = []
        do {
            return try await eventually("the offer '\(title)'", within: .seconds(60), every: .milliseconds(200)) {
                last = try await self.command("activities", "list")
                return last.first { $0.contains(title) }
            }
        } catch { throw IntegrationError("\(error): \(last)") }
    }

    fileprivate func isNotOffered() async throws {
        var last: [String] = []
        do {
            _ = try await eventually("the end of the offer", within: .seconds(60), every: .milliseconds(200)) {
                last = try await self.command("activities", "list", "--wait", "2")
                return last.contains("No activity is offered by another system.") ? true : nil
            }
        } catch { throw IntegrationError("\(error): \(last)") }
    }

    /// Lets this machine continue what the other one plays.
    fileprivate func continuation() async throws -> ChildProcess {
        try await self.isOffered("song.wav")
        return try self.start(
            [try builtProgram("remotesystems"), "activities", "continue", "org.remotesystems.playing-media"]
                + ["--loopback"]
        )
    }

    fileprivate func continues() async throws {
        let continuing = try await self.continuation()
        guard try await continuing.exit(within: .seconds(90)) == 0 else {
            throw IntegrationError("not continued: \(continuing.lines)")
        }
        #expect(continuing.lines == ["Continued in Media players."])
    }
}
