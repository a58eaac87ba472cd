// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import Synchronization
import Testing
import ValueSets

@testable import UserActivities

/// Activities as Project Rome's activity feed describes them.
@Suite(.timeLimit(.minutes(2))) struct ActivityFeedItemTests {
    private func item() throws -> ActivityFeedItem {
        var item = ActivityFeedItem(
            id: "/album/17",
            activationURL: try #require(URL(string: "player:album/17")),
            displayText: "Kind of Blue"
        )
        item.fallbackURL = URL(string: "https://example.com/album/17")
        item.contentURL = URL(string: "https://example.com/album/17/audio")
        item.contentType = "audio/flac"
        item.contentInfo = ["@type": "MusicAlbum", "numTracks": 5]
        item.visualElements.description = "Miles Davis"
        item.visualElements.backgroundColor = "#003366"
        item.visualElements.attribution = .init(iconURL: URL(string: "https://example.com/17.png"), alternateText: "A")
        item.visualElements.attributionDisplayText = "Player"
        item.visualElements.content = ["type": "AdaptiveCard", "version": "1.0"]
        item.beginSession(at: Date(timeIntervalSince1970: 1_000))
        item.endSession(at: Date(timeIntervalSince1970: 1_060))
        return item
    }

    @Test func `an item goes to another system with all its fields, and is found there again (X-39)`() async throws {
        let item = try self.item()
        let received = Mutex<ActivityFeedItem?>(nil)
        let handler = ClosureContinuationHandler { activity in
            let item = try ActivityFeedItem(activity)
            received.withLock { $0 = item }
        }
        try await ContinuationTests.Desk.with(handler) { desk in
            let activity = try UserActivity(type: ContinuationTests.editing, item: item)
            #expect(activity.persistentIdentifier == "/album/17" && activity.webpageURL == item.fallbackURL)
            let offer = try await desk.offer(activity)
            #expect(offer.title == "Kind of Blue" && offer.hasWebpage)
            try await desk.continue(offer)
            #expect(received.withLock { $0 } == item)
        }
    }

    @Test func `an item that is not roamable is not offered (X-39)`() throws {
        var item = try self.item()
        item.isRoamable = false
        #expect(try UserActivity(type: ContinuationTests.editing, item: item).isEligibleForHandoff == false)
        #expect(try ActivityFeedItem(UserActivity(type: ContinuationTests.editing)) == nil)
    }

    @Test func `the JSON form has the names of Project Rome, and unknown ones are ignored (X-39)`() throws {
        let item = try self.item()
        let json = try item.json()
        for name in ["appActivityId", "activationUrl", "fallbackUrl", "visualElements", "iconUrl", "startedDateTime"] {
            #expect(json.contains("\"\(name)\""), "\(json)")
        }
        #expect(json.contains("1970-01-01T00:17:40Z"))
        #expect(try ActivityFeedItem(json: json) == item)
        let foreign = #"{"appActivityId":"1","activationUrl":"a:b","visualElements":{"displayText":"T"},"later":{}}"#
        let least = try ActivityFeedItem(json: foreign)
        #expect(least.isRoamable && least.sessions.isEmpty && least.visualElements.displayText == "T")
    }

    @Test func `an item of almost 100 KB is saved and read back, and too large to be handed over (X-39)`() async throws
    {
        let directory = FileManager.default.temporaryDirectory.appending(path: "saved-item-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var item = try self.item()
        item.contentInfo = ["text": .string(String(repeating: "x", count: 99_000))]
        let activity = try UserActivity(type: ContinuationTests.editing, item: item)
        let saved = SavedActivities(
            RemoteSystemsConfiguration(applicationID: "com.example.player", stateDirectory: directory)
        )
        try await saved.save(activity)
        let restored = try #require(try saved.activity(item.id))
        #expect(try ActivityFeedItem(restored) == item)
        let error = #expect(throws: ContinuationError.self) { try ActivityPayload(restored, isStale: false) }
        #expect(error?.code == .payloadTooLarge)
    }

    @Test func `an item of more than 100 KB, or without a title, is refused (X-39)`() throws {
        var long = try self.item()
        long.contentInfo = ["text": .string(String(repeating: "x", count: 99_000))]
        _ = try long.json()
        long.contentInfo = ["text": .string(String(repeating: "x", count: 100_000))]
        let error = #expect(throws: RemoteSystemError.self) { try UserActivity(type: "com.example.a", item: long) }
        #expect(error?.code == .invalidArgument && error?.message.contains("100000 bytes") == true)
        #expect(throws: RemoteSystemError.self) { try ActivityFeedItem(json: String(repeating: " ", count: 100_001)) }
        for text in [
            "", "[]", "{}", #"{"appActivityId":"","activationUrl":"a:b","visualElements":{"displayText":"T"}}"#,
        ] {
            #expect(throws: RemoteSystemError.self, "\(text)") { try ActivityFeedItem(json: text) }
        }
        var untitled = try self.item()
        untitled.visualElements.displayText = ""
        #expect(throws: RemoteSystemError.self) { try untitled.json() }
    }

    @Test func `sessions follow each other, and the oldest are dropped (X-39)`() throws {
        var item = try self.item()
        item.endSession(at: Date(timeIntervalSince1970: 2_000))
        #expect(item.sessions.count == 1 && item.sessions[0].end == Date(timeIntervalSince1970: 1_060))
        for number in 0..<100 { item.beginSession(at: Date(timeIntervalSince1970: 3_000 + Double(number))) }
        #expect(item.sessions.count == ActivityFeedItem.maxSessions)
        #expect(item.sessions.dropLast().allSatisfy { $0.end != nil } && item.sessions.last?.end == nil)
        // A clock that was set back does not end a session before its beginning.
        item.endSession(at: .distantPast)
        #expect(item.sessions.last?.end == item.sessions.last?.start)
    }
}
