// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import NoteEditor
import SampleSystem
import UserActivities

/// An editor of one note in the terminal. It takes commands as arguments, then from its standard input.
@main
struct NoteEditorProgram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "note-editor")

    @Option(help: "Run as this system, which 'Samples/two-systems/create' has made.")
    var on: String?

    @Argument(help: "Commands to begin with.")
    var commands: [String] = []

    func run() async throws {
        let configuration = SampleSystem.configuration(of: "org.example.note-editor", on: self.on)
        let editor = NoteEditor(show: SampleSystem.say)
        let host = UserActivityHost(configuration, activityTypes: [NoteEditor.activityType], handler: editor)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await host.run() }
            _ = try await host.host.port
            SampleSystem.say("ready: 'i TEXT' inserts at the caret, 'm NUMBER' moves the caret, 'q' quits")
            for await command in Self.commands(self.commands) {
                guard command != "q" else { break }
                do {
                    try await Self.perform(command, editor)
                } catch {
                    SampleSystem.say("not offered: \(error)")
                }
            }
            group.cancelAll()
        }
    }

    private static func perform(_ command: String, _ editor: NoteEditor) async throws {
        let text = String(command.dropFirst(2))
        if command.hasPrefix("i ") {
            try await editor.edit { $0.insert(text) }
        } else if command.hasPrefix("m "), let place = Int(text) {
            try await editor.edit { $0.moveCaret(to: place) }
        } else {
            SampleSystem.say("There is no command '\(command)'.")
        }
    }

    /// The given commands, then those of the standard input. Does not end when the input does.
    private static func commands(_ first: [String]) -> AsyncStream<String> {
        let (commands, feed) = AsyncStream.makeStream(of: String.self)
        for command in first { feed.yield(command) }
        Thread.detachNewThread {
            while let line = readLine() { feed.yield(line) }
        }
        return commands
    }
}
