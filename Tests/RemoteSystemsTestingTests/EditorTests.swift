// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import UserActivities

/// A test as the developer of an application writes it: with the public API, in less than 40 lines.
@Suite struct EditorTests {
    private final class Editor: Sendable {
        let draft = Mutex((text: "", caret: 0))

        func open(_ activity: UserActivity) {
            let info = activity.userInfo
            self.draft.withLock { $0 = (info["Text"]?.string ?? "", info["Caret"]?.int ?? 0) }
        }
    }

    @Test func `my editor restores caret and text (H-04, H-08, B-07)`() async throws {
        let editor = Editor()
        try await DiscoveryStage.with { stage in
            var application = StagedApplication("com.example.editor")
            application.activities = .init(types: ["com.example.editing"]) { editor.open($0) }
            let laptop = try stage.system("Laptop", applications: [application])
            let desktop = try stage.system("Desktop", applications: [application])
            for system in [laptop, desktop] { try await stage.appears(system) }
            let watcher = UserActivityWatcher(stage.configuration)
            try await watcher.start()

            let activity = UserActivity(type: "com.example.editing", title: "A letter")
            activity.userInfo = ["Text": "Dear Ada, I", "Caret": 11]
            try await activity.becomeCurrent(at: laptop.activityHost())
            try await stage.eventually("the offer is listed") { !watcher.offers.isEmpty }
            try await desktop.activityHost().continue(try #require(watcher.offers.first))

            #expect(editor.draft.withLock { $0.text } == "Dear Ada, I")
            #expect(editor.draft.withLock { $0.caret } == 11)
            await watcher.stop()
        }
    }

    @Test func `it does not fail, however often it runs`() async throws {
        try await RepeatedRuns.run("an editor") {
            try await self.`my editor restores caret and text (H-04, H-08, B-07)`()
        }
    }
}
