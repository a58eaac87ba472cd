// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import UserActivities
import ValueSets

@testable import RemoteSystemsDesktop

@Suite struct PlaylistTests {
    private static func mapper(_ folder: String, name: String = "music") throws -> DocumentURLMapper {
        try DocumentURLMapper(roots: [name: URL(filePath: folder, directoryHint: .isDirectory)])
    }

    private static func list(_ tracks: [String], around track: String) -> PlayerTrackList? {
        PlayerTrackList(
            ["Tracks": .array(tracks.map { .string($0) }), "CanEditTracks": true],
            around: track
        )
    }

    /// The list of a player that plays the track `/current` between others.
    private static func playlist(
        previous: [String] = [],
        next: [String],
        documents: DocumentURLMapper? = nil
    ) throws -> Playlist {
        let tracks = (previous + next).enumerated().map { ("/track\($0.offset)", $0.element) }
        let ids = tracks.map { $0.0 }
        let list = try #require(
            Self.list(
                Array(ids.prefix(previous.count)) + ["/current"] + Array(ids.suffix(next.count)),
                around: "/current"
            )
        )
        return Playlist(list, Dictionary(uniqueKeysWithValues: tracks), documents: documents)
    }

    // MARK: What a player states

    @Test func `of a long list, twenty tracks before and after the current one are read`() throws {
        let tracks = (0..<5000).map { "/track\($0)" }
        let list = try #require(Self.list(tracks, around: "/track1000"))
        #expect(list.previous == Array(tracks[980..<1000]))
        #expect(list.next == Array(tracks[1001...1020]))
        #expect(list.canEdit)
        let start = try #require(Self.list(tracks, around: "/track0"))
        #expect(start.previous.isEmpty)
        #expect(start.next.count == 20)
        let end = try #require(Self.list(tracks, around: "/track4999"))
        #expect(end.next.isEmpty)
    }

    @Test func `a player without a list, or whose list lacks the current track, hands over no list`() throws {
        #expect(PlayerTrackList([:], around: "/1") == nil)
        #expect(PlayerTrackList(["Tracks": "/1"], around: "/1") == nil)
        #expect(Self.list(["/1"], around: "/2") == nil)
        // What is no id of a track is left out, and a list is not changed unless the player permits it.
        let list = try #require(PlayerTrackList(["Tracks": [1, "/1", "no path", "/2"]], around: "/1"))
        #expect(list.previous.isEmpty)
        #expect(list.next == ["/2"])
        #expect(!list.canEdit)
    }

    @Test func `a track that another system could not play is left out, and the others are handed over`() throws {
        let documents = try Self.mapper("/srv/music")
        let playlist = try Self.playlist(
            previous: ["spotify:track:1", "https://example.com/a.ogg"],
            next: [
                "https://user:secret@example.com/b.ogg", "file:///srv/private/c.ogg", "file:///srv/music/d%20e.ogg",
                "not a url", "http://example.com/f.ogg",
            ],
            documents: documents
        )
        #expect(playlist.previous.map(\.absoluteString) == ["https://example.com/a.ogg"])
        #expect(playlist.next.map(\.absoluteString) == ["file:///srv/music/d%20e.ogg", "http://example.com/f.ogg"])
        let content = playlist.content(documents: documents)
        let next = try #require(content["Next"]?.array).compactMap(\.string)
        #expect(next == ["doc-root:music/d%20e.ogg", "http://example.com/f.ogg"])
        // A track whose address the player does not state.
        let list = try #require(Self.list(["/1", "/2"], around: "/1"))
        #expect(Playlist(list, [:], documents: documents).isEmpty)
    }

    @Test func `long addresses fill half of an activity's content at most, the next tracks before the previous ones`()
        throws
    {
        func address(_ number: Int) -> String { "https://example.com/\(number)/" + String(repeating: "x", count: 3000) }
        let playlist = try Self.playlist(previous: (0..<8).map(address), next: (8..<16).map(address))
        let content = playlist.content(documents: nil)
        let next = try #require(content["Next"]?.array).compactMap(\.string)
        let previous = try #require(content["Previous"]?.array).compactMap(\.string)
        #expect(next == (8..<16).map(address))
        // The nearest ones, in the order of the list.
        #expect(previous == (6..<8).map(address))
        #expect((next + previous).reduce(0) { $0 + $1.utf8.count } <= Playlist.maxBytes)
    }

    // MARK: The content of an activity

    @Test func `a list is read back, with the files of the other system's folder`() throws {
        let here = try Self.mapper("/srv/music")
        let there = try Self.mapper("/srv/songs")
        let playlist = try Self.playlist(
            previous: ["https://example.com/a.ogg"],
            next: ["file:///srv/music/b%20c.ogg", "https://example.com/d.ogg"],
            documents: here
        )
        let content: ValueSet = [Playlist.key: playlist.content(documents: here)]
        let read = Playlist(content: content, documents: there)
        #expect(read.previous == playlist.previous)
        #expect(read.next.map(\.absoluteString) == ["file:///srv/songs/b%20c.ogg", "https://example.com/d.ogg"])
        // A folder that this system does not have costs its files only.
        for other in [nil, try Self.mapper("/srv/songs", name: "songs")] {
            let read = Playlist(content: content, documents: other)
            #expect(read.previous == playlist.previous)
            #expect(read.next.map(\.absoluteString) == ["https://example.com/d.ogg"])
        }
    }

    @Test func `a hostile list has no address that a single track could not have, and an unknown form is ignored`()
        throws
    {
        let documents = try Self.mapper("/srv/music")
        let long = "https://example.com/" + String(repeating: "x", count: PlayerState.maxAddressBytes)
        let hostile: [Value] = [
            "javascript:alert(1)", "file:///etc/passwd", "FILE:///etc/passwd", "https://u:p@example.com/",
            "doc-root:music/../../etc/passwd", "doc-root:music/", "doc-root:other/a.ogg", "--script=/tmp/x", "", 7,
            ["https://example.com/"], .string(long),
            .url(try #require(URL(string: "https://example.com/"))),
        ]
        let content: ValueSet = ["Playlist": ["Previous": .array(hostile), "Next": .array(hostile)]]
        #expect(Playlist(content: content, documents: documents).isEmpty)

        let many = (0..<1000).map { Value.string("https://example.com/\($0)") }
        let flood = Playlist(content: ["Playlist": ["Previous": .array(many), "Next": .array(many)]], documents: nil)
        #expect(flood.next.first?.absoluteString == "https://example.com/0")
        #expect(flood.next.count == Playlist.maxTracks)
        #expect(flood.previous.last?.absoluteString == "https://example.com/999")
        #expect(flood.previous.count == Playlist.maxTracks)

        for unknown in [["https://example.com/"], "all", 2, ["Next": "https://example.com/"], ["Tracks": []]] as [Value]
        {
            #expect(Playlist(content: ["Playlist": unknown], documents: documents).isEmpty)
        }
        #expect(Playlist(content: [:], documents: documents).isEmpty)
    }
}
