// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

/// The parts of the tests with media players.
enum Player {
    /// Short buffers, since the position that mpv states moves by a buffer at a time.
    static let command = [
        "mpv", "--vo=null", "--ao=null", "--ao-null-buffer=0.05", "--audio-buffer=0.05", "--no-config",
        "--script=/usr/lib/mpv-mpris/mpris.so",
    ]

    static let isInstalled: Bool =
        ["/usr/bin/mpv", "/usr/lib/mpv-mpris/mpris.so", "/usr/lib/python3/dist-packages/gi"].allSatisfy {
            FileManager.default.fileExists(atPath: $0)
        } || ProcessInfo.processInfo.environment["CI"] != nil

    static let isVLCInstalled: Bool = {
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
        return folders.contains { folder in
            ["libvlc.so.5", "vlc/plugins/control/libdbus_plugin.so"].allSatisfy {
                FileManager.default.fileExists(atPath: "/usr/lib/\(folder)/\($0)")
            }
        } || ProcessInfo.processInfo.environment["CI"] != nil
    }()

    /// The network between the machines.
    enum Network {
        case loopback, simulated

        static let toBeTried: [Network] = SimulatedNetwork.isToBeTried ? [.loopback, .simulated] : [.loopback]
    }

    /// A track, and a server that has it.
    struct Media {
        var file: String
        var server: String

        func url(_ name: String) -> String { "http://\(self.server)/\(name)" }

        /// Creates the files of a list of three tracks in a folder. The second one has the name of the track.
        func list(in folder: String) throws -> [URL] {
            try ["before.wav", "song.wav", "after.wav"].map { name in
                let copy = "\(folder)/\(name)"
                if copy != self.file { try FileManager.default.copyItem(atPath: self.file, toPath: copy) }
                return URL(filePath: copy)
            }
        }
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
    static func machines(
        on network: Network = .loopback,
        _ body: (TwoBuses, TwoBuses, Media) async throws -> Void
    ) async throws {
        guard network == .simulated else { return try await Self.machines(on: nil, body) }
        try await SimulatedNetwork.with { network in
            let hosts = try await (network.addHost("alpha"), network.addHost("beta"))
            try await Self.machines(on: hosts, body)
        }
    }

    private static func machines(
        on hosts: (SimulatedHost, SimulatedHost)?,
        _ body: (TwoBuses, TwoBuses, Media) async throws -> Void
    ) async throws {
        try await TwoBuses.with(on: hosts) { desktop in
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
            let address = first.host?.address ?? "127.0.0.1"
            let server = try first.script("media_server.py", media, address)
            do {
                let port = try await eventually("the server", within: .seconds(60)) {
                    server.lines.first.flatMap(Int.init)
                }
                try await body(first, second, Media(file: "\(media)/song.wav", server: "\(address):\(port)"))
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
    func mpv(_ arguments: String...) throws -> ChildProcess { try self.start(Player.command + arguments) }

    func vlc(_ addresses: [String]) throws -> ChildProcess {
        try self.start(["/usr/bin/python3", Self.script("vlc.py")] + addresses)
    }

    /// Makes a command, mpv's by default, the default player of this machine.
    func installPlayer(_ command: [String] = Player.command) throws {
        let command = command.map { "\"\($0)\"" }.joined(separator: " ")
        let types = ["video/mp4", "audio/x-wav", "audio/vnd.wave"]
        try self.desktop.install(
            "org.example.mpv",
            exec: "\(command) %U",
            "X-RemoteSystems-NeedsDisplay=false",
            "MimeType=\(types.map { "\($0);" }.joined())"
        )
        try self.desktop.write(
            "[Default Applications]\n" + types.map { "\($0)=org.example.mpv.desktop\n" }.joined(),
            to: "config/mimeapps.list"
        )
    }

    static func script(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Scripts/\(name)").path
    }

    /// Starts a script of this folder with Debian's Python, which has GLib.
    func script(_ name: String, _ arguments: String...) throws -> ChildProcess {
        try self.start(["/usr/bin/python3", "-u", Self.script(name)] + arguments)
    }

    func order(_ order: String...) async throws {
        try await run(["/usr/bin/python3", Self.script("player.py")] + order, environment: self.environment)
    }

    /// Waits until the only player is in a state.
    func player(_ isReached: (Player.State) -> Bool) async throws -> Player.State {
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

    func plays(_ address: String) async throws {
        _ = try await self.player { $0.status == "Playing" && $0.url?.hasSuffix(address) == true }
    }

    func command(_ arguments: String...) async throws -> [String] {
        let network = arguments.contains("players") ? [] : self.network
        let process = try self.start([try builtProgram("remotesystems")] + arguments + network)
        _ = try await process.exit(within: .seconds(60))
        return process.lines
    }

    @discardableResult
    func isOffered(_ title: String) async throws -> String {
        var last: [String] = []
        do {
            return try await eventually("the offer '\(title)'", within: .seconds(60), every: .milliseconds(200)) {
                last = try await self.command("activities", "list")
                return last.first { $0.contains(title) }
            }
        } catch { throw IntegrationError("\(error): \(last)") }
    }

    func isNotOffered() async throws {
        var last: [String] = []
        do {
            _ = try await eventually("the end of the offer", within: .seconds(60), every: .milliseconds(200)) {
                last = try await self.command("activities", "list", "--wait", "2")
                return last.contains("No activity is offered by another system.") ? true : nil
            }
        } catch { throw IntegrationError("\(error): \(last)") }
    }

    /// Lets this machine continue what the other one plays.
    func continuation() async throws -> ChildProcess {
        try await self.isOffered("song.wav")
        return try self.start(
            [try builtProgram("remotesystems"), "activities", "continue", "org.remotesystems.playing-media"]
                + self.network
        )
    }

    func continues() async throws {
        let continuing = try await self.continuation()
        guard try await continuing.exit(within: .seconds(90)) == 0 else {
            throw IntegrationError("not continued: \(continuing.lines)")
        }
        #expect(continuing.lines.last == "Continued on this machine in Media players.", "\(continuing.lines)")
    }
}
