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
        @Test(arguments: Player.Network.toBeTried)
        func `a track goes on in a running player of another machine at the same second, and back`(
            network: Player.Network
        ) async throws {
            try await Player.machines(on: network) { first, second, media in
                let address = media.url("song.wav")
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

        @Test func `media that are handed back go on in the player that still has them, and in no second one`()
            async throws
        {
            try await Player.machines { first, second, media in
                let address = media.url("song.wav")
                // It opens no address, so that another player would have to.
                try first.installPlayer()
                let holding = try first.script("player.py", "hold", address)
                try await holding.prints("ready")
                let idle = try second.mpv("--idle=yes")
                try await first.plays(address)
                _ = try await second.player { $0.players == 1 }
                try await Player.handOver(from: first, to: second)
                try await second.order("seek", "60")
                _ = try await second.player { $0.status == "Playing" && ($0.position ?? 0) > 60 }
                // Checks that the only player here plays at the right second, and that the other one is paused.
                try await Player.handOver(from: second, to: first)
                #expect(holding.lines.contains("Play"), "\(holding.lines)")
                #expect(!holding.lines.contains { $0.hasPrefix("OpenUri") }, "\(holding.lines)")
                for process in [holding, idle] { await process.stop() }
            }
        }

        @Test func `a file of a document root goes on in the default player, which is started`() async throws {
            try await Player.machines { first, second, media in
                let copy = "\(second.desktop.directory)/music/song.wav"
                try FileManager.default.copyItem(atPath: media.file, toPath: copy)
                let mine = "\(first.desktop.directory)/music/song.wav"
                try FileManager.default.copyItem(atPath: media.file, toPath: mine)
                try second.installPlayer()
                let playing = try first.mpv(mine)
                try await first.plays("song.wav")
                try await Player.handOver(from: first, to: second)
                let there = try await second.player { $0.status == "Playing" }
                #expect(there.url == URL(filePath: copy).absoluteString)
                await playing.stop()
                try await second.order("quit")
            }
        }

        @Test(.enabled(if: Player.isVLCInstalled, "libvlc5 or vlc-plugin-base is not installed"))
        func `the tracks before and after the one that plays go into the list of the other player`() async throws {
            try await Player.machines { first, second, media in
                let list = try media.list(in: URL(filePath: media.file).deletingLastPathComponent().path)
                    .map { media.url($0.lastPathComponent) }
                let playing = try first.vlc(list)
                let idle = try second.vlc([])
                try await first.plays("before.wav")
                try await first.order("next")
                try await first.plays("song.wav")
                _ = try await second.player { $0.players == 1 }
                try await Player.handOver(from: first, to: second)
                try await second.plays("song.wav")
                try await second.order("next")
                try await second.plays("after.wav")
                try await second.order("previous")
                try await second.plays("song.wav")
                try await second.order("previous")
                try await second.plays("before.wav")
                for process in [playing, idle] { await process.stop() }
            }
        }

        @Test(.enabled(if: Player.isVLCInstalled, "libvlc5 or vlc-plugin-base is not installed"))
        func `a player that is started gets the tracks after the one that plays`() async throws {
            try await Player.machines { first, second, media in
                let list = try media.list(in: "\(first.desktop.directory)/music")
                let there = try media.list(in: "\(second.desktop.directory)/music")
                try second.installPlayer()
                let playing = try first.vlc(list.map(\.absoluteString))
                try await first.plays("before.wav")
                try await first.order("next")
                try await first.plays("song.wav")
                try await Player.handOver(from: first, to: second)
                let started = try await second.player { $0.status == "Playing" }
                #expect(started.url == there[1].absoluteString)
                try await second.order("next")
                try await second.plays(there[2].absoluteString)
                await playing.stop()
                try await second.order("quit")
            }
        }

        @Test func `a player that does not really play leaves the first one playing, and the error says so`()
            async throws
        {
            try await Player.machines { first, second, media in
                let address = media.url("song.wav")
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

        @Test func `a player that ends after it was started leaves the first one playing, and the error says so`()
            async throws
        {
            try await Player.machines { first, second, media in
                let address = media.url("song.wav")
                try second.installPlayer(["/usr/bin/python3", TwoBuses.script("player.py"), "lie", "brief"])
                let playing = try first.mpv(address)
                try await first.plays(address)
                let continuing = try await second.continuation()
                #expect(try await continuing.exit(within: .seconds(90)) == 2)
                let message = continuing.lines.joined()
                #expect(message.contains("Liar was started and has ended: start it by hand to see why."), "\(message)")
                let here = try await first.player { $0.players == 1 }
                #expect(here.status == "Playing")
                await playing.stop()
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
