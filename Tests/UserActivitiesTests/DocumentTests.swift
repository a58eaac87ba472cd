// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserActivities

/// Documents that two systems keep in different places.
@Suite(.timeLimit(.minutes(2))) struct DocumentTests {
    /// Two folders, as two systems have them.
    private func withFolders(_ body: (_ here: URL, _ there: URL) async throws -> Void) async throws {
        let base = FileManager.default.temporaryDirectory.appending(path: "documents-\(UUID())")
        defer { try? FileManager.default.removeItem(at: base) }
        let folders = ["here/Notes", "there/My notes"].map { base.appending(path: $0) }
        for folder in folders {
            try FileManager.default.createDirectory(
                at: folder.appending(path: "2026"),
                withIntermediateDirectories: true
            )
        }
        try await body(folders[0], folders[1])
    }

    @Test func `a document's URL leads to the same document on the other system (H-28)`() async throws {
        try await self.withFolders { here, there in
            let (sender, receiver) = try (
                DocumentURLMapper(roots: ["notes": here]), DocumentURLMapper(roots: ["notes": there])
            )
            // The document itself need not exist yet.
            let portable = try sender.portable(here.appending(path: "2026/A & B 100%.md"))
            #expect(portable.absoluteString == "doc-root:notes/2026/A%20%26%20B%20100%25.md")
            let local = try receiver.local(portable)
            #expect(local.path(percentEncoded: false).hasSuffix("/there/My notes/2026/A & B 100%.md"))
            #expect(local.isFileURL)
        }
    }

    @Test func `a file outside the folders is not sent, also by links and dots (H-28)`() async throws {
        try await self.withFolders { here, there in
            let mapper = try DocumentURLMapper(roots: ["notes": here])
            try FileManager.default.createSymbolicLink(at: here.appending(path: "out"), withDestinationURL: there)
            for url in [
                there.appending(path: "secret"), here.appending(path: "../../there/secret"),
                here.appending(path: "out/secret"), here, URL(filePath: "/etc/passwd"),
                URL(filePath: here.path() + "more/file"),
            ] {
                let error = #expect(throws: RemoteSystemError.self, "\(url)") { try mapper.portable(url) }
                // The path is not part of the message, which the other system receives.
                #expect(error?.message.contains("secret") == false)
            }
        }
    }

    @Test(arguments: [
        "doc-root:notes/../secret", "doc-root:notes/a/%2e%2e/%2e%2e/secret", "doc-root:notes/a%2F..%2F..%2Fsecret",
        "doc-root:notes//etc/passwd", "doc-root:notes/", "doc-root:notes", "doc-root:other/file",
        "doc-root:/etc/passwd",
        "doc-root:notes/a%00b", "doc-root:notes/%ff", "doc-root:notes/out/secret",
        "doc-root:notes/./a", "DOC-ROOT:notes/../a", "DOC-ROOT:other/a",
        // Links to what does not exist yet, and a path that no file can have.
        "doc-root:notes/dangling", "doc-root:notes/dangling/keys",
        "doc-root:notes/\(String(repeating: "a/", count: 3_000))b",
    ])
    func `a path that leads out of its folder, or to no folder, is refused (H-28)`(text: String) async throws {
        try await self.withFolders { here, there in
            try FileManager.default.createSymbolicLink(at: there.appending(path: "out"), withDestinationURL: here)
            let absent = here.appending(path: "absent")
            try FileManager.default.createSymbolicLink(
                at: there.appending(path: "dangling"),
                withDestinationURL: absent
            )
            let mapper = try DocumentURLMapper(roots: ["notes": there])
            guard let url = URL(string: text) else { return }
            #expect(throws: RemoteSystemError.self) { try mapper.local(url) }
        }
    }

    @Test(arguments: ["DOC-ROOT", "Doc-Root"])
    func `a document's URL is translated whatever the case of its scheme (H-28)`(scheme: String) async throws {
        try await self.withFolders { here, _ in
            let mapper = try DocumentURLMapper(roots: ["notes": here])
            let portable = try #require(URL(string: "\(scheme):notes/a"))
            let document = Value.url(here.appending(path: "a"))
            #expect(try mapper.local(["A": .url(portable)] as ValueSet) == ["A": document])
            #expect(throws: RemoteSystemError.self) {
                try DocumentURLMapper.none.local(["A": .url(portable)] as ValueSet)
            }
        }
    }

    @Test func `URLs are translated everywhere in the content, and other URLs stay (H-28)`() async throws {
        try await self.withFolders { here, there in
            let sender = try DocumentURLMapper(roots: ["notes": here])
            let document = Value.url(here.appending(path: "a"))
            let web = Value.url(try #require(URL(string: "https://example.com/")))
            let content: ValueSet = [
                "A": document, "B": ["C": .array([document, web])], "D": .set([document]), "E": web, "F": "file:///a",
            ]
            let sent = try sender.portable(content)
            let portable = Value.url(try #require(URL(string: "doc-root:notes/a")))
            #expect(
                sent == [
                    "A": portable, "B": ["C": .array([portable, web])], "D": .set([portable]), "E": web,
                    "F": "file:///a",
                ]
            )
            #expect(try sender.local(sent) == content)
            // A peer's own file URL is never used.
            for text in ["file:///etc/passwd", "FILE:///etc/passwd"] {
                let url = try #require(URL(string: text))
                #expect(throws: RemoteSystemError.self) { try sender.local(["A": .url(url)]) }
                #expect(throws: RemoteSystemError.self) { try DocumentURLMapper.none.portable(["A": .url(url)]) }
            }
        }
    }

    private final class Text: ActivityResponder {
        let caret: Int
        let restored = Mutex<(caret: Int?, document: URL?)>((nil, nil))

        init(caret: Int = 0) { self.caret = caret }

        func updateUserActivityState(_ activity: UserActivity) async {
            activity.addUserInfoEntries(["Caret": .integer(Int64(self.caret))])
        }

        func restoreUserActivityState(_ activity: UserActivity) async {
            let info = activity.userInfo
            self.restored.withLock { $0 = (info["Caret"]?.int, info[DocumentActivity.documentKey]?.url) }
        }
    }

    @Test
    func `a document opens in another application, at its place there (H-07, H-52, H-63, H-66 to H-68, H-70 to H-72)`()
        async throws
    {
        try await self.withFolders { here, there in
            var sending = UserActivityHost.Options()
            sending.documents = try DocumentURLMapper(roots: ["notes": here])
            let view = Text()
            let opened = Mutex<[String]>([])
            let handler = DocumentContinuationHandler(continuing: { _ in false }) { url in
                opened.withLock { $0.append(url.path(percentEncoded: false)) }
                return [view]
            }
            try await DiscoveryStage.with { [sending] stage in
                var (editor, viewer) = (
                    StagedApplication("com.example.editor"), StagedApplication("com.example.viewer")
                )
                editor.activities = .init(types: [], handler: handler)
                editor.activities?.options = sending
                // The type of the kind of document need not be named again.
                viewer.activities = .init(types: [], handler: handler)
                viewer.activities?.options.documents = try DocumentURLMapper(roots: ["notes": there])
                viewer.activities?.options.documentTypes = [
                    DocumentType(mediaTypes: ["text/markdown"], activityType: ContinuationTests.editing),
                    DocumentType(mediaTypes: ["text/plain"], activityType: ContinuationTests.editing),
                ]
                let laptop = try stage.system("Laptop", applications: [editor])
                let desktop = try stage.system("Desktop", applications: [viewer])
                for system in [laptop, desktop] { try await stage.appears(system) }
                let watcher = UserActivityWatcher(stage.configuration)
                try await watcher.start()

                let binding = DocumentActivity(
                    type: ContinuationTests.editing,
                    document: here.appending(path: "old.md")
                )
                let text = Text(caret: 318)
                binding.activity.addResponder(text)
                try await binding.windowBecameMain(at: laptop.activityHost())
                #expect(binding.activity.isCurrent && binding.activity.title == "old.md")
                // The document moves, on any thread.
                let changes = binding.activity.changes
                await Task.detached { binding.document = here.appending(path: "2026/new.md") }.value
                for await _ in changes { break }
                binding.activity.needsSave = true
                try await stage.eventually("the offer is listed") { !watcher.offers.isEmpty }
                try await desktop.activityHost().continue(try #require(watcher.offers.first))
                let path = there.appending(path: "2026/new.md").path(percentEncoded: false)
                #expect(opened.withLock { $0 } == [path])
                #expect(view.restored.withLock { $0.caret } == 318)
                #expect(view.restored.withLock { $0.document?.path(percentEncoded: false) } == path)
                binding.close()
                #expect(binding.activity.isInvalidated)
                withExtendedLifetime(text) {}
                await watcher.stop()
            }
        }
    }

    @Test func `without a continue function the document opens, and an activity without a document fails (H-63)`()
        async throws
    {
        try await self.withFolders { here, _ in
            var options = UserActivityHost.Options()
            options.documents = try DocumentURLMapper(roots: ["notes": here])
            let view = Text()
            let opened = Mutex<[String]>([])
            let handler = DocumentContinuationHandler { url in
                opened.withLock { $0.append(url.path(percentEncoded: false)) }
                return [view]
            }
            try await ContinuationTests.Desk.with(handler, options: options) { desk in
                let document = here.appending(path: "2026/new.md")
                let activity = UserActivity(type: ContinuationTests.editing)
                activity.userInfo = [DocumentActivity.documentKey: .url(document), "Caret": 7]
                try await desk.continue(try await desk.offer(activity))
                let path = document.path(percentEncoded: false)
                #expect(opened.withLock { $0 } == [path])
                #expect(view.restored.withLock { $0.caret } == 7)

                let other = UserActivity(type: ContinuationTests.editing)
                other.userInfo = ["Caret": 8]
                let offer = try await desk.offer(other)
                let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
                #expect(error?.code == .handlerFailed)
                #expect(opened.withLock { $0 } == [path])
            }
        }
    }

    @Test func `an activity with a file that may not be sent fails on both sides, and stays offered (H-28)`()
        async throws
    {
        try await ContinuationTests.Desk.with(RestoringHandler(objects: [])) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            activity.userInfo = ["File": .url(URL(filePath: "/etc/passwd"))]
            let offer = try await desk.offer(activity)
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(error?.code == .payloadInvalid && error?.side == .remote)
            #expect(activity.isCurrent)
        }
    }

    @Test func `a document type without media types, or with one that another has, is refused (H-65)`() throws {
        let (text, other) = (
            DocumentType(mediaTypes: ["text/plain"], activityType: "com.example.a"),
            DocumentType(mediaTypes: ["Text/Plain"], activityType: "com.example.b")
        )
        try DocumentType.check([text])
        for types in [[text, other], [DocumentType(mediaTypes: [], activityType: "com.example.a")]] {
            #expect(throws: RemoteSystemError.self) { try DocumentType.check(types) }
        }
        #expect(throws: RemoteSystemError.self) {
            try DocumentType.check([DocumentType(mediaTypes: ["a/b"], activityType: "none")])
        }
    }
}
