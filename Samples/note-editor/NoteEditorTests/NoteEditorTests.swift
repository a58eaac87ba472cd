// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NoteEditor
import RemoteSystemsTesting
import Testing
import UserActivities

@Suite struct NoteEditorTests {
    @Test func `my editor restores caret and text (H-04, H-08)`() async throws {
        try await DiscoveryStage.with { stage in
            let (here, there) = (NoteEditor(), NoteEditor())
            _ = try await Self.system("Kitchen", with: here, on: stage)
            let attic = try await Self.system("Attic", with: there, on: stage)
            let watcher = UserActivityWatcher(stage.configuration)
            try await watcher.start()

            try await here.edit { $0.insert("Dear Ada, I come at noon.") }
            try await stage.eventually("the note is listed") { !watcher.offers.isEmpty }
            // The editor writes this into the content when the attic continues the note.
            try await here.edit { $0.moveCaret(to: 9) }
            try await attic.continue(try #require(watcher.offers.first))

            #expect(await there.note == Note(text: "Dear Ada, I come at noon.", caret: 9))
            await watcher.stop()
        }
    }

    /// Makes a machine appear on which the editor runs.
    private static func system(
        _ name: String,
        with editor: NoteEditor,
        on stage: DiscoveryStage
    ) async throws -> UserActivityHost {
        var application = StagedApplication("org.example.note-editor")
        application.activities = .init(types: [NoteEditor.activityType], handler: editor)
        let system = try stage.system(name, applications: [application])
        try await stage.appears(system)
        let host = try await system.activityHost()
        await editor.use(host)
        return host
    }

    @Test func `the note goes back with what was written on the other machine`() async throws {
        try await DiscoveryStage.with { stage in
            let (here, there) = (NoteEditor(), NoteEditor())
            let kitchen = try await Self.system("Kitchen", with: here, on: stage)
            let attic = try await Self.system("Attic", with: there, on: stage)
            let watcher = UserActivityWatcher(stage.configuration)
            try await watcher.start()

            try await here.edit { $0.insert("Dear Ada,") }
            try await stage.eventually("the note is listed") { !watcher.offers.isEmpty }
            try await attic.continue(try #require(watcher.offers.first))
            try await there.edit { $0.insert(" I come.") }
            try await stage.eventually("it is offered in turn") { watcher.offers.first?.system.displayName == "Attic" }
            try await kitchen.continue(try #require(watcher.offers.first))

            #expect(await here.note == Note(text: "Dear Ada, I come.", caret: 17))
            await watcher.stop()
        }
    }

    @Test func `text is inserted at the caret, which stays in the text`() {
        var note = Note(text: "Dear Ada", caret: 99)
        #expect(note.caret == 8)
        note.moveCaret(to: 4)
        note.insert(" Mrs.")
        #expect(note == Note(text: "Dear Mrs. Ada", caret: 9))
        // A combining accent joins the character before it.
        note = Note(text: "e", caret: 1)
        note.insert("\u{301}")
        #expect(note == Note(text: "é", caret: 1))
        note.moveCaret(to: .min)
        #expect(note.caret == 0)
    }

    @Test func `content without a text is no note`() {
        #expect(Note(["Caret": 4]) == nil)
        #expect(Note(["Text": "Dear Ada", "Caret": "4"]) == Note(text: "Dear Ada"))
    }
}
