// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import SampleSystem
import UserActivities

/// A story with pictures that goes to another machine: the text in the content of an activity, the pictures over
/// streams.
@main
struct PictureStory: AsyncParsableCommand {
    static let editing = "org.example.picture-story.editing"

    @Option(help: "Run as this system, which 'Samples/two-systems/create' has made.")
    var on: String?

    @Flag(help: "Continue the story of another machine, and put its files into the folder.")
    var `continue` = false

    @Argument(help: "The folder of the story: 'story.txt' and pictures.")
    var folder: String

    func run() async throws {
        let configuration = SampleSystem.configuration(of: "org.example.picture-story", on: self.on)
        let story = Story(folder: URL(filePath: self.folder, directoryHint: .isDirectory))
        let host = UserActivityHost(
            configuration,
            activityTypes: self.continue ? [Self.editing] : [],
            handler: .closure { try await story.take($0) }
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await host.run() }
            _ = try await host.host.port
            if self.continue {
                let watcher = UserActivityWatcher(configuration)
                try await watcher.start()
                for await offers in watcher.changes {
                    guard let offer = offers.first(where: { $0.activityType == Self.editing }) else { continue }
                    try await host.continue(offer)
                    break
                }
                await watcher.stop()
            } else {
                let activity = UserActivity(type: Self.editing, title: "A story", supportsContinuationStreams: true)
                activity.delegate = story
                activity.needsSave = true
                try await activity.becomeCurrent()
                SampleSystem.say("offered: the story in \(self.folder)")
                await story.waitUntilTaken()
            }
            group.cancelAll()
        }
    }
}

/// The files of a story.
final class Story: UserActivityDelegate {
    private let folder: URL
    private let (taken, takenFeed) = AsyncStream.makeStream(of: Void.self)

    init(folder: URL) { self.folder = folder }

    func waitUntilTaken() async {
        for await _ in self.taken { return }
    }

    // MARK: On the first machine

    func userActivityWillSave(_ activity: UserActivity) async {
        let text = (try? String(contentsOf: self.folder.appending(path: "story.txt"), encoding: .utf8)) ?? ""
        activity.userInfo = ["Text": .string(text), "Pictures": .array(self.pictures.map { .string($0) })]
    }

    /// Sends one picture. The other machine opens a pair of streams for each, and writes the name first.
    func userActivity(
        _ activity: UserActivity,
        didReceive input: ContinuationInputStream,
        _ output: ContinuationOutputStream
    ) async {
        do {
            var name: [UInt8] = []
            for try await bytes in input where name.count + bytes.count <= 255 { name += bytes }
            guard !name.isEmpty else {
                // Everything has arrived.
                try await output.finish()
                SampleSystem.say("sent: another machine has the story")
                self.takenFeed.yield()
                return
            }
            // Another machine has written the name: only the story's own pictures are sent.
            guard let picture = self.pictures.first(where: { $0 == String(decoding: name, as: UTF8.self) }) else {
                return output.abort("The story has no such picture.")
            }
            _ = try await output.send(contentsOfFile: self.folder.appending(path: picture).path)
            try await output.finish()
        } catch {
            SampleSystem.say("a picture was not sent: \(error)")
        }
    }

    private var pictures: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: self.folder.path)) ?? []
        return names.filter(Self.isPicture).sorted()
    }

    // MARK: On the second machine

    func take(_ activity: UserActivity) async throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let text = activity.userInfo["Text"]?.string ?? ""
        try text.write(to: self.folder.appending(path: "story.txt"), atomically: true, encoding: .utf8)
        var bytes: Int64 = 0
        // A name from another machine must not lead out of the folder.
        let pictures = (activity.userInfo["Pictures"]?.array ?? []).compactMap(\.string).filter(Self.isPicture)
        for picture in pictures {
            let (input, output) = try await activity.continuationStreams()
            try await output.write(Array(picture.utf8))
            try await output.finish()
            bytes += try await input.receive(intoFile: self.folder.appending(path: picture).path)
        }
        let (input, output) = try await activity.continuationStreams()
        try await output.finish()
        for try await _ in input {}
        SampleSystem.say("continued: \(text.count) characters, \(pictures.count) pictures, \(bytes) bytes")
    }

    /// Whether it is the name of a picture, without a path.
    static func isPicture(_ name: String) -> Bool {
        name.wholeMatch(of: /[A-Za-z0-9_-]{1,60}\.(png|jpg|svg)/) != nil
    }
}
