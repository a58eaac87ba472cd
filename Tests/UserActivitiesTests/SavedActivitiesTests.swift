// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import Synchronization
import Testing
import ValueSets

@testable import UserActivities

/// Activities that an application saves on its own system.
@Suite struct SavedActivitiesTests {
    private func with(
        _ body: (SavedActivities, RemoteSystemsConfiguration, _ directory: String) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "saved-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let configuration = RemoteSystemsConfiguration(applicationID: "com.example.editor", stateDirectory: directory)
        try await body(SavedActivities(configuration), configuration, directory)
    }

    private func activity(_ identifier: String?, title: String? = nil) -> UserActivity {
        let activity = UserActivity(type: "com.example.editing", title: title)
        activity.persistentIdentifier = identifier
        activity.userInfo = ["Document": "minutes", "Caret": 318]
        activity.isEligibleForSearch = true
        return activity
    }

    @Test func `an activity is saved, replaced, found again and deleted by its identifier (X-08)`() async throws {
        try await self.with { saved, configuration, directory in
            try await saved.save(self.activity("one", title: "First"))
            try await saved.save(self.activity("two"))
            try await saved.save(self.activity("one", title: "Second"))
            #expect(try saved.all().map(\.persistentIdentifier) == ["one", "two"])
            let one = try #require(try saved.activity("one"))
            #expect(one.title == "Second" && one.userInfo == ["Document": "minutes", "Caret": 318])
            // Each application has its own.
            var other = configuration
            other.applicationID = "com.example.other"
            #expect(try SavedActivities(other).all().isEmpty)
            let file = try #require(
                FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasPrefix("saved-activities") }
            )
            let mode = try FileManager.default.attributesOfItem(atPath: "\(directory)/\(file)")[.posixPermissions]
            #expect(mode as? Int == 0o600)
            try saved.delete(["one", "unknown"])
            #expect(try saved.all().map(\.persistentIdentifier) == ["two"])
            try saved.deleteAll()
            #expect(try saved.all().isEmpty)
        }
    }

    @Test func `only the required keys are stored, and a missing one is an error (X-05)`() async throws {
        try await self.with { saved, _, _ in
            let activity = self.activity("one")
            activity.requiredUserInfoKeys = ["Document", "Folder"]
            let error = await #expect(throws: RemoteSystemError.self) { try await saved.save(activity) }
            #expect(error?.code == .invalidArgument && error?.message.contains("Folder") == true)
            #expect(try saved.all().isEmpty)
            activity.addUserInfoEntries(["Folder": "2026"])
            try await saved.save(activity)
            #expect(try saved.activity("one")?.userInfo == ["Document": "minutes", "Folder": "2026"])
        }
    }

    @Test func `only the length of the required keys counts, and has a limit of its own (X-05)`() async throws {
        try await self.with { saved, _, _ in
            func text(_ bytes: Int) -> Value { .string(String(repeating: "x", count: bytes)) }
            let activity = self.activity("one")
            activity.requiredUserInfoKeys = ["Draft"]
            activity.userInfo = ["Draft": text(100_000), "Undo": text(1_000_000)]
            try await saved.save(activity)
            // It is more than can be handed over.
            #expect(throws: ContinuationError.self) { try ActivityPayload(activity, isStale: false) }
            #expect(try saved.activity("one")?.userInfo == ["Draft": text(100_000)])
            activity.userInfo = ["Draft": text(SavedActivities.maxActivityBytes)]
            let error = await #expect(throws: RemoteSystemError.self) { try await saved.save(activity) }
            #expect(error?.code == .invalidArgument && error?.message.contains("at most 131072 can be saved") == true)
            #expect(try saved.activity("one")?.userInfo == ["Draft": text(100_000)])
        }
    }

    @Test func `an activity that could not be read again is not saved`() async throws {
        try await self.with { saved, _, _ in
            let long = self.activity("one", title: String(repeating: "t", count: 2_000))
            try await saved.save(long)
            #expect(try saved.activity("one")?.title?.utf8.count == 512)
            let activity = self.activity("two")
            activity.webpageURL = URL(string: "ftp://example.com/")
            let error = await #expect(throws: RemoteSystemError.self) { try await saved.save(activity) }
            #expect(error?.code == .invalidArgument)
            #expect(try saved.all().map(\.persistentIdentifier) == ["one"])
        }
    }

    @Test func `an activity is found by title and keywords if it may be, and the flags are kept (H-03, X-06)`()
        async throws
    {
        try await self.with { saved, _, _ in
            let activity = self.activity("one", title: "Minutes of Monday")
            activity.keywords = ["project Rome", "Ärger"]
            activity.isEligibleForPublicIndexing = true
            activity.isEligibleForPrediction = true
            try await saved.save(activity)
            for text in ["minu", "MONDAY minutes", "rome", "ärg"] {
                #expect(try saved.search(text).map(\.persistentIdentifier) == ["one"], "\(text)")
            }
            for text in ["", " ", "tuesday", "minutes tuesday", "onday"] {
                #expect(try saved.search(text).isEmpty, "\(text)")
            }
            let found = try #require(try saved.search("minutes").first)
            #expect(found.isEligibleForPublicIndexing && found.isEligibleForPrediction && found.isEligibleForHandoff)
            activity.isEligibleForSearch = false
            try await saved.save(activity)
            #expect(try saved.search("minutes").isEmpty)
            #expect(try saved.all().count == 1)
        }
    }

    @Test func `objects take their state from a saved activity as from a continued one (B-13)`() async throws {
        final class Pane: ActivityRestoring {
            let caret = Mutex(0)
            func restoreUserActivityState(_ activity: UserActivity) async {
                self.caret.withLock { $0 = activity.userInfo["Caret"]?.int ?? 0 }
            }
        }
        try await self.with { saved, _, _ in
            try await saved.save(self.activity("one"))
            let panes = [Pane(), Pane()]
            #expect(try await saved.restore("one", into: panes))
            #expect(panes.allSatisfy { $0.caret.withLock { $0 } == 318 })
            #expect(try await !saved.restore("two", into: panes))
        }
    }

    @Test func `changes are saved first, and an activity whose time is over is not stored (X-04)`() async throws {
        final class Author: UserActivityDelegate {
            func userActivityWillSave(_ activity: UserActivity) async { activity.addUserInfoEntries(["Caret": 319]) }
        }
        try await self.with { saved, _, _ in
            let (activity, author) = (self.activity("one"), Author())
            activity.delegate = author
            activity.needsSave = true
            try await saved.save(activity)
            #expect(try saved.activity("one")?.userInfo["Caret"] == 319)
            activity.expirationDate = .now - 1
            await #expect(throws: RemoteSystemError.self) { try await saved.save(activity) }
            await #expect(throws: RemoteSystemError.self) { try await saved.save(self.activity(nil)) }
            var list = SavedActivityList()
            var payload = try ActivityPayload(saving: activity)
            payload.attributes.expirationDate = Date(timeIntervalSince1970: 100)
            list.save(.init(identifier: "one", payload: payload), maxCount: 2, maxBytes: 10_000)
            list.expire(now: Date(timeIntervalSince1970: 99))
            #expect(list.entries.count == 1)
            #expect(try SavedActivityList(file: list.file()) == list)
            list.expire(now: Date(timeIntervalSince1970: 100))
            #expect(list.entries.isEmpty)
        }
    }

    @Test func `the oldest activities leave when there are too many, or too much`() throws {
        var list = SavedActivityList()
        func entry(_ number: Int, bytes: Int = 0) throws -> SavedActivityList.Entry {
            let activity = self.activity("\(number)")
            activity.userInfo = ["Text": .string(String(repeating: "x", count: bytes))]
            return .init(identifier: "\(number)", payload: try ActivityPayload(saving: activity))
        }
        for number in 0..<5 { list.save(try entry(number), maxCount: 3, maxBytes: 1_000_000) }
        #expect(list.entries.map(\.identifier) == ["2", "3", "4"])
        list.save(try entry(5, bytes: 9_000), maxCount: 3, maxBytes: 10_000)
        #expect(list.entries.last?.identifier == "5" && list.entries.reduce(0) { $0 + $1.bytes } <= 10_000)
        // The newest one always fits: its length has a limit of its own.
        list.save(try entry(6, bytes: 20_000), maxCount: 3, maxBytes: 10_000)
        #expect(list.entries.map(\.identifier) == ["6"])
    }

    @Test func `a damaged file is an error that loses nothing until the application deletes it`() async throws {
        try await self.with { saved, _, directory in
            try await saved.save(self.activity("one"))
            let name = try #require(
                FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasPrefix("saved-activities") }
            )
            let path = "\(directory)/\(name)"
            let whole = try Data(contentsOf: URL(filePath: path))
            try whole.dropLast().write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            let error = #expect(throws: RemoteSystemError.self) { try saved.all() }
            #expect(error?.message.contains(path) == true)
            await #expect(throws: RemoteSystemError.self) { try await saved.save(self.activity("two")) }
            #expect(try Data(contentsOf: URL(filePath: path)) == whole.dropLast())
            try saved.deleteAll()
            try await saved.save(self.activity("two"))
            #expect(try saved.all().count == 1)
        }
    }
}
