// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import UserActivities
import ValueSets

@testable import RemoteSystemsDesktop

@Suite struct PlayerTableTests {
    private let start = ContinuousClock.Instant.now

    private func media(_ name: String, isPlaying: Bool = true) throws -> PlayedMedia {
        var state = PlayerState()
        state.status = isPlaying ? .playing : .paused
        state.address = "https://example.com/\(name)"
        return try PlayedMedia(state, documents: nil)
    }

    private func table(_ players: String...) -> PlayerTable {
        var table = PlayerTable()
        table.set(Set(players), now: self.start)
        return table
    }

    @Test func `of several players, the one that began to play last is offered, then the one paused last`() throws {
        var table = self.table("one", "two", "three")
        table.reported("one", .playing, try self.media("a"), now: self.start)
        table.reported("two", .playing, try self.media("b"), now: self.start + .seconds(1))
        table.reported("three", .paused, try self.media("c"), now: self.start + .seconds(2))
        #expect(table.offered(now: self.start + .seconds(2))?.player == "two")
        table.reported("two", .paused, try self.media("b"), now: self.start + .seconds(3))
        #expect(table.offered(now: self.start + .seconds(3))?.player == "one")
        table.reported("one", .stopped, try self.media("a"), now: self.start + .seconds(4))
        #expect(table.offered(now: self.start + .seconds(4))?.player == "two")
        table.set(["one", "three"], now: self.start + .seconds(5))
        #expect(table.offered(now: self.start + .seconds(5))?.player == "three")
    }

    @Test func `a paused player is offered for five minutes`() throws {
        var table = self.table("one")
        table.reported("one", .paused, try self.media("a"), now: self.start)
        // Further reports do not prolong it.
        table.reported("one", .paused, try self.media("b"), now: self.start + .seconds(200))
        #expect(table.offered(now: self.start + .seconds(299)) != nil)
        #expect(table.nextChange(now: self.start) == self.start + .seconds(300))
        #expect(table.offered(now: self.start + .seconds(300)) == nil)
        #expect(table.nextChange(now: self.start + .seconds(300)) == nil)
        table.reported("one", .playing, try self.media("b"), now: self.start + .seconds(400))
        #expect(table.offered(now: self.start + .seconds(400)) != nil)
    }

    @Test func `a player is not offered while and after another system plays, until it plays again`() throws {
        var table = self.table("one")
        table.reported("one", .playing, try self.media("a"), now: self.start)
        table.beganHandOver("one", now: self.start)
        #expect(table.offered(now: self.start) == nil)
        table.handedOver("one")
        // A report that was on its way, and the late notice of the other system.
        table.reported("one", .playing, try self.media("a"), now: self.start)
        table.beganHandOver("one", now: self.start)
        #expect(table.offered(now: self.start) == nil)
        table.reported("one", .paused, try self.media("a"), now: self.start)
        #expect(table.offered(now: self.start + .seconds(1)) == nil)
        table.reported("one", .playing, try self.media("a"), now: self.start + .seconds(2))
        #expect(table.offered(now: self.start + .seconds(2)) != nil)
    }

    @Test(
        arguments: [
            ("org.mpris.MediaPlayer2.mpv", true), ("org.mpris.MediaPlayer2.vlc.instance7", true),
            ("org.mpris.MediaPlayer2.playerctld", false), ("org.mpris.MediaPlayer2", false), ("org.example.mpv", false),
        ]
    )
    func `each name of MPRIS is a player, except the one that mirrors the others`(name: String, isPlayer: Bool) {
        #expect(PlayerBus.isPlayer(name) == isPlayer)
    }

    @Test func `a player that has continued is offered again, although it was not seen playing`() throws {
        var table = self.table("one")
        table.reported("one", .playing, try self.media("a"), now: self.start)
        table.handedOver("one")
        table.reported("one", .paused, try self.media("a"), now: self.start)
        table.continued("one")
        // The user pauses it at once.
        table.reported("one", .paused, try self.media("a"), now: self.start + .seconds(1))
        #expect(table.offered(now: self.start + .seconds(1)) != nil)
    }

    @Test func `a player is offered again when the other system fails, or says nothing for a minute`() throws {
        var table = self.table("one")
        table.reported("one", .playing, try self.media("a"), now: self.start)
        table.beganHandOver("one", now: self.start)
        table.failedHandOver("one")
        #expect(table.offered(now: self.start) != nil)
        table.beganHandOver("one", now: self.start)
        #expect(table.nextChange(now: self.start) == self.start + .seconds(60))
        #expect(table.offered(now: self.start + .seconds(60)) != nil)
    }

    @Test func `a player without playable media is not offered, and more than sixteen are not followed`() throws {
        var table = PlayerTable()
        table.set(Set((10..<99).map { "player\($0)" }), now: self.start)
        #expect((10..<99).count { table.follows("player\($0)") } == PlayerTable.max)
        table.reported("player10", .playing, nil, now: self.start)
        #expect(table.offered(now: self.start) == nil)
        table.reported("player11", .playing, try self.media("a"), now: self.start)
        _ = table.failed("player11")
        #expect(table.offered(now: self.start) == nil)
        table.reported("player98", .playing, try self.media("a"), now: self.start)
        #expect(table.offered(now: self.start) == nil)
    }

    @Test func `a player that does not respond is asked again, less and less often, until it does`() throws {
        var table = self.table("one")
        for number in 1...PlayerTable.maxFailures {
            let pause = table.failed("one")
            #expect(pause == .seconds(2 * number))
        }
        let last = table.failed("one")
        #expect(last == nil)
        table.reported("one", .playing, try self.media("a"), now: self.start)
        #expect(table.offered(now: self.start) != nil)
        let first = table.failed("one")
        #expect(first == .seconds(2))
        let unknown = table.failed("two")
        #expect(unknown == nil)
    }

    // MARK: What a player states

    @Test func `absurd statements of a player count as absent`() {
        let state = PlayerState([
            "PlaybackStatus": "Dancing", "Position": .integer(-7), "Volume": .double(.nan), "CanSeek": "yes",
            "Metadata": [
                "xesam:url": .string("http://a\u{1B}b/"), "xesam:title": .string("a\u{202E}b\nc"),
                "xesam:artist": .array([.string("A"), .integer(1), .string("B")]),
                "mpris:length": .integer(.max), "mpris:trackid": "no path", "xesam:trackNumber": .integer(-1),
            ],
        ])
        var expected = PlayerState()
        expected.title = "a b c"
        expected.artist = "A, B"
        #expect(state == expected)
        let long = PlayerState(["Metadata": ["xesam:title": .string(String(repeating: "x", count: 100_000))]])
        #expect(long.title?.count == PlayerState.maxTextLength)
        // A position beyond the end is the end; more than the full volume is the full volume.
        let beyond = PlayerState([
            "Position": .integer(90_000_000), "Volume": .double(7), "Metadata": ["mpris:length": .integer(60_000_000)],
        ])
        #expect(beyond.position == 60)
        #expect(beyond.volume == 1)
    }

    @Test(arguments: [
        (nil, "does not state an address"), ("not a url", "not a URL"), ("https:///x", "no host"),
        ("https://me:secret@example.com/", "user name or a password"), ("spotify:track:1", "not spotify addresses"),
        ("file:///tmp/x.ogg", "documentRoots"),
    ])
    func `what another system could not play is refused with a reason`(address: String?, reason: String) {
        var state = PlayerState()
        state.address = address
        let error = #expect(throws: PlayedMedia.Refusal.self) { try PlayedMedia(state, documents: nil) }
        #expect(error?.text.contains(reason) == true, "\(String(describing: error))")
        #expect(error?.text.contains("secret") != true)
    }

    @Test func `the content of an activity is read back, and hostile content is refused`() throws {
        var state = PlayerState()
        state.status = .playing
        state.address = "https://example.com/a%20b.ogg"
        state.title = "Song"
        state.artist = "Singer"
        state.position = 12.5
        state.volume = 0.5
        let media = try PlayedMedia(state, documents: nil)
        #expect(try PlayedMedia(content: media.content) == media)
        #expect(media.shownTitle == "Song – Singer")
        let url = media.content["URL"]
        for (key, value) in [
            ("URL", Value.url(try #require(URL(string: "javascript:alert(1)")))), ("URL", .string("https://a/")),
            ("URL", .url(try #require(URL(string: "https://u:p@example.com/")))), ("Position", .double(.infinity)),
            ("Position", .double(-1)), ("Position", .integer(3_000_000)), ("Volume", .double(9)),
        ] {
            var content: ValueSet = ["URL": url ?? .null]
            content[key] = value
            #expect(throws: PlayedMedia.Refusal.self, "\(key)") { try PlayedMedia(content: content) }
        }
    }

    // MARK: Choosing a player

    @Test func `a file that is not on this machine is named as both systems know it`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "media-\(UUID())")
        try FileManager.default.createDirectory(atPath: folder.path(), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder.path()) }
        let root = URL(filePath: folder.path(), directoryHint: .isDirectory)
        let documents = try DocumentURLMapper(roots: ["music": root])
        let file = folder.appending(path: "a song.ogg")
        let media = try PlayedMedia(content: ["URL": .url(file)])
        let refusal = try #require(throws: PlayedMedia.Refusal.self) { try media.checkFile(documents) }
        #expect(refusal.text == "The file music/a song.ogg is not on this machine: synchronise the folder.")
        try Data().write(to: file)
        try media.checkFile(documents)
        try PlayedMedia(content: ["URL": .url(try #require(URL(string: "https://example.com/a")))]).checkFile(nil)
    }

    @Test func `an idle player that opens the media is chosen, and a busy one is left alone`() {
        func candidate(_ name: String, _ schemes: Set<String>, _ types: Set<String>, address: String? = nil)
            -> PlayerChoice.Candidate
        {
            var state = PlayerState()
            state.address = address
            // An idle mpv says that it plays.
            state.status = .playing
            return .init(player: name, abilities: .init(schemes: schemes, mediaTypes: types), state: state)
        }
        let busy = candidate("busy", ["https"], ["audio/ogg"], address: "https://example.com/other")
        let pictures = candidate("pictures", ["https"], ["image/png"])
        let old = candidate("old", ["http"], ["audio/ogg"])
        let idle = candidate("idle", ["https"], ["audio/flac"])
        #expect(PlayerChoice.best(of: [busy, pictures, old], scheme: "https", mediaType: "audio/ogg") == nil)
        #expect(PlayerChoice.best(of: [busy, idle, old], scheme: "https", mediaType: "audio/ogg") == idle)
        #expect(PlayerChoice.best(of: [idle], scheme: "file", mediaType: nil) == idle)
    }

    @Test func `the player that still has the media open goes on with it, also one that could not open it`() throws {
        let media = try #require(URL(string: "https://example.com/song.ogg"))
        func candidate(_ name: String, _ status: PlayerState.Status, _ address: String?) -> PlayerChoice.Candidate {
            var state = PlayerState()
            state.address = address
            state.status = status
            return .init(player: name, abilities: .init(), state: state)
        }
        let idle = candidate("1", .playing, nil)
        let other = candidate("2", .paused, "https://example.com/other.ogg")
        let stopped = candidate("3", .stopped, "https://example.com/song.ogg")
        let paused = candidate("4", .paused, "https://example.com/song.ogg")
        let playing = candidate("5", .playing, "https://example.com/song.ogg")
        #expect(PlayerChoice.holding(media, among: [idle, other, stopped]) == nil)
        #expect(PlayerChoice.holding(media, among: [idle, other, stopped, paused]) == paused)
        #expect(PlayerChoice.holding(media, among: [paused, playing]) == playing)
        // One path can be written in several ways.
        let file = candidate("6", .paused, "file:///srv/music/a%20%28live%29.ogg")
        #expect(PlayerChoice.holding(URL(filePath: "/srv/music/a (live).ogg"), among: [other, file]) == file)
        #expect(PlayerChoice.best(of: [paused], scheme: "https", mediaType: "audio/ogg") == nil)
    }
}
