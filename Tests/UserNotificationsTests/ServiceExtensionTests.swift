// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserNotifications

/// Extensions that change notifications before they are shown, on the system that receives them.
@Suite struct ServiceExtensionTests {
    typealias Receiving = ReceivingSystem

    typealias Program = StagedExtensionProgram

    /// Extensions that are started, each with what it does with its request.
    final class Programs: ServiceExtensionPrograms {
        private let state = Mutex<[(application: String, program: Program)]>([])
        private let stopped = Mutex(false)
        private let behaviour: @Sendable (Program) -> Void
        private let installed: String
        private let ends: Bool
        private let starting: AsyncStream<Void>
        private let start: AsyncStream<Void>.Continuation

        /// - Parameters:
        ///   - starts: `false` for one whose start waits for ``release()``. Defaults to `true`.
        ///   - ends: `false` for one that never ends. Defaults to `true`.
        init(
            of installed: String = "photos",
            starts: Bool = true,
            ends: Bool = true,
            _ behaviour: @escaping @Sendable (Program) -> Void = { _ in }
        ) {
            (self.installed, self.ends, self.behaviour) = (installed, ends, behaviour)
            (self.starting, self.start) = AsyncStream.makeStream()
            if starts { self.start.finish() }
        }

        var applications: [String] { self.state.withLock { $0.map(\.application) } }
        /// Those that have received a request.
        var started: [Program] { self.programs.filter { !$0.requests.isEmpty } }
        var programs: [Program] { self.state.withLock { $0.map(\.program) } }
        var isStopped: Bool { self.stopped.withLock { $0 } }

        func release() { self.start.finish() }
        func hasExtension(_ application: String) -> Bool { application == self.installed }
        func stop() async { self.stopped.withLock { $0 = true } }

        func start(_ application: String) async throws(NotificationError) -> (any ExtensionProgram)? {
            let program = Program(hangs: !self.ends)
            self.state.withLock { $0.append((application, program)) }
            for await _ in self.starting {}
            self.behaviour(program)
            return program
        }
    }

    /// Runs the body with the extensions of a system, and the connection of a sender to it.
    static func with(
        _ programs: Programs,
        _ body: (ReceivingSystem, RemoteNotificationConnection) async throws -> Void
    ) async throws {
        try await Receiving.with { receiving in
            await receiving.receiver.setExtensions(programs)
            let connection = try await receiving.connect()
            try await body(receiving, connection)
            await connection.close()
        }
    }

    static func mutable(_ id: String = "q", for application: String? = "photos") -> RemoteNotification {
        var notification = Receiving.question(id)
        notification.isMutable = true
        notification.targetApplicationID = application
        return notification
    }

    /// The response of an extension that has set the title.
    static func titled(_ title: String, _ more: String = "") -> String {
        #"{"Content":{"Title":"\#(title)","Body":"b"}\#(more)}"#
    }

    @Test func `what the extension returns is shown in place of what was sent (N-03, N-17, N-18, X-51)`() async throws {
        let programs = Programs { $0.respond(Self.titled("Changed")) }
        try await Self.with(programs) { receiving, connection in
            var notification = Self.mutable()
            notification.request.content.userInfo = ["secret": 7]
            #expect(try await connection.deliver(notification) == NotificationDelivery(.shown))
            #expect(programs.applications == ["photos"])
            // The user never sees the original.
            #expect(receiving.screen.history.map(\.content.title) == ["Changed"])
            // The actions stay those of the sender.
            #expect(receiving.screen.shown.first?.category?.actions.count == 2)
            #expect(await receiving.receiver.list().map(\.notification.request.content.title) == ["Changed"])
            // The extension has seen everything that was sent (N-19).
            let program = try #require(programs.started.first)
            let line = try #require(program.requests.first)
            let request = try ServiceExtensionMessage.readRequest(line)
            #expect(request == notification.request)
            #expect(program.hasEnded && program.requests.count == 1)
            try await receiving.stage.eventually("its turn has ended") {
                await receiving.receiver.extensionTurns.count == 0
            }
            // The sender gets the response to what it has sent.
            let shown = try #require(receiving.screen.shown.first)
            receiving.screen.choose("yes", on: shown.identifier)
            var responses = connection.responses.makeAsyncIterator()
            #expect(await responses.next()?.requestIdentifier == "q")
        }
    }

    private static let nineFiles = #"{"1":"/","2":"/","3":"/","4":"/","5":"/","6":"/","7":"/","8":"/","9":"/"}"#

    @Test(arguments: [
        (#"{"Content":{"UserInfo":{"a":1}}}"#, "has removed the text"),
        ("{}", "has no Content"),
        (#"{"content":{"Title":"t"}}"#, "has no Content"),
        ("no JSON", "cannot be used"),
        (#"{"Content":{"Title":7}}"#, "cannot be used"),
        (#"{"Content":{"Title":"t","Relevance":9}}"#, "cannot be used"),
        (#"{"Content":{"Title":"t"},"Files":{"a":7}}"#, "cannot be used"),
        (#"{"Content":{"Title":"t"},"Files":\#(Self.nineFiles)}"#, "cannot be used"),
    ])
    func `a response that cannot be used, or has no text, changes nothing (X-51)`(line: String, reason: String)
        async throws
    {
        let programs = Programs { $0.respond(line) }
        try await Self.with(programs) { receiving, connection in
            let delivery = try await connection.deliver(Self.mutable())
            #expect(delivery.status == .shown && delivery.reason?.contains(reason) == true, "\(delivery)")
            #expect(receiving.screen.history.map(\.content.title) == ["Deploy?"])
        }
    }

    @Test func `the log has the reason and the end of an extension as sentences`() {
        let end = "it ended with exit status 3"
        #expect(NotificationReceiver.detail("", end: end) == "It ended with exit status 3.")
        #expect(
            NotificationReceiver.detail("/a is missing.", end: end) == "/a is missing. It ended with exit status 3."
        )
        #expect(NotificationReceiver.detail("", end: nil) == "It has not ended.")
    }

    @Test func `an extension that crashes changes nothing, and the sender learns it (N-20)`() async throws {
        try await Receiving.with { receiving in
            await receiving.receiver.setExtensions(Programs { $0.crash() })
            let connection = try await receiving.connect()
            let delivery = try await connection.deliver(Self.mutable())
            #expect(delivery.status == .shown)
            #expect(delivery.reason?.contains("has ended without a response") == true)
            #expect(receiving.screen.history.map(\.content.title) == ["Deploy?"])
            await connection.close()
        }
    }

    @Test func `an extension runs only for a mutable notification with a text, of a system of the account (X-51)`()
        async throws
    {
        let programs = Programs { $0.respond(Self.titled("Changed")) }
        try await Self.with(programs) { receiving, connection in
            var immutable = Self.mutable("1")
            immutable.isMutable = false
            _ = try await connection.deliver(immutable)
            var silent = Self.mutable("2")
            silent.request.content = NotificationContent(userInfo: ["a": 1])
            silent.category = nil
            #expect(try await connection.deliver(silent).status == .withheld)
            #expect(programs.applications.isEmpty)
            // Of a linked account, and of this system.
            for sender in [
                NotificationSender(systemID: "s", application: "photos", linkedAccountID: "l"),
                NotificationSender(systemID: "s", application: "photos", isLocal: true),
            ] {
                #expect(await !receiving.receiver.isExtended(Self.mutable("3"), sender))
            }
            #expect(programs.applications.isEmpty)
            // Without a name it is the application that sends, which has no extension here.
            let missing = try await connection.deliver(Self.mutable("4", for: nil))
            #expect(missing.status == .shown && missing.reason?.contains("no service extension of") == true)
            #expect(programs.applications.isEmpty)
        }
    }

    @Test func `programs that watch see what the user sees`() async throws {
        try await DiscoveryStage.with { stage in
            let desk = try await StagedDesk.appearing("Laptop", on: stage)
            try await desk.daemon.receiver.setExtensions(Programs { $0.respond(Self.titled("Changed")) })
            let titles = Mutex<[String]>([])
            let watcher = AppServiceConnection(to: NotificationMessage.description) { request in
                let notification = request.message["Notification"]?.dictionary
                let title = notification?["Content"]?.dictionary?["Title"]?.string
                titles.withLock { $0.append("\(request.message["Event"]?.string ?? "") \(title ?? "")") }
                return [:]
            }
            let request = RemoteSystemConnectionRequest(
                host: try desk.system.address,
                port: try await desk.system.port(),
                systemID: try desk.system.id,
                configuration: try desk.daemon.configuration
            )
            #expect(try await watcher.open(request) == .success)
            _ = try await watcher.send(["Type": .string(NotificationMessage.watch)]).get()
            let sender = try await desk.connect(stage)
            #expect(try await sender.deliver(Self.mutable()) == NotificationDelivery(.shown))
            _ = try await sender.withdraw(["q"])
            try await stage.eventually("its end") { titles.withLock { $0.count } == 2 }
            #expect(titles.withLock { $0 } == ["delivered Changed", "withdrawn Changed"])
            await watcher.close()
            await sender.close()
            try desk.daemon.running.cancel()
        }
    }

    @Test func `a notification that ends while its extension runs is not shown`() async throws {
        let programs = Programs()
        try await Self.with(programs) { receiving, connection in
            let delivery = Task { try await connection.deliver(Self.mutable()) }
            try await receiving.stage.eventually("it runs") { programs.started.count == 1 }
            #expect(try await connection.withdraw(["q"]) == 1)
            // Its extension need not respond.
            #expect(try await delivery.value.status == .withheld)
            try await receiving.stage.eventually("it is ended") { programs.started.first?.hasEnded == true }
            #expect(receiving.screen.history.isEmpty)
            #expect(await receiving.receiver.list().isEmpty)
        }
    }

    @Test func `a notification that the user denies while its extension runs is not shown`() async throws {
        let programs = Programs()
        try await Self.with(programs) { receiving, connection in
            let delivery = Task { try await connection.deliver(Self.mutable()) }
            try await receiving.stage.eventually("it runs") { programs.started.count == 1 }
            let subject = NotificationPermissions.Subject(application: receiving.stage.configuration.applicationID)
            try await receiving.receiver.set(.denied, for: subject)
            #expect(try await delivery.value.status == .withheld)
            #expect(receiving.screen.history.isEmpty)
        }
    }

    // MARK: Files

    @Test func `a file of the extension is kept with the notification, and others stay (N-15, N-21, N-22)`()
        async throws
    {
        try await AttachmentFiles.with { files in
            try await Receiving.with(attachments: files.received, scaler: CopyingScaler()) {
                receiving in
                let image = TestFile.png(more: 100_000)
                let downloaded = try files.file("downloaded", image)
                let programs = Programs { program in
                    program.respond(
                        Self.titled(
                            "Changed",
                            #","Files":{"photo":"\#(downloaded.path)","none":"/nowhere","relative":"downloaded"}"#
                        )
                    )
                }
                await receiving.receiver.setExtensions(programs)
                let connection = try await receiving.connect()
                let delivery = try await connection.deliver(Self.mutable())
                // The sender learns no paths of this system.
                let reason = "Attachments of its extension were left out: none, relative."
                #expect(delivery == NotificationDelivery(.shown, reason: reason))
                // The extension's files are removed when it ends.
                try FileManager.default.removeItem(at: downloaded)
                let shown = try #require(receiving.screen.shown.first)
                let kept = try #require(shown.content.attachments.first)
                #expect(shown.content.attachments.count == 1)
                #expect(kept.identifier == "photo" && kept.type == .png && kept.byteCount == image.count)
                let place = try #require(kept.url)
                let bytes = try Data(contentsOf: place)
                #expect(bytes == Data(image))
                #expect(shown.imagePaths.count == 1)

                // What was sent with the notification goes through the extension unchanged.
                var second = Self.mutable("second")
                let sent = try NotificationAttachment(identifier: "sent", url: try files.file("sent", TestFile.png()))
                second.request.content.attachments = [sent]
                let echo = Programs { program in
                    Task {
                        while program.requests.isEmpty { await Task.yield() }
                        let request = try ServiceExtensionMessage.readRequest(program.requests[0])
                        #expect(request.content.attachments.first?.url != nil)
                        program.respond(try ServiceExtensionMessage.response(request.content))
                    }
                }
                await receiving.receiver.setExtensions(echo)
                #expect(try await connection.deliver(second) == NotificationDelivery(.shown))
                let unchanged = receiving.screen.shown.last?.content.attachments
                #expect(unchanged?.map(\.identifier) == ["sent"] && unchanged?.first?.url != nil)
                #expect(receiving.screen.shown.last?.imagePaths.count == 1)
                await connection.close()
            }
        }
    }

    @Test func `an extension that changes the file it was given changes no other notification (N-42)`() async throws {
        try await AttachmentFiles.with { files in
            try await Receiving.with(attachments: files.received) { receiving in
                let (song, noise) = (Array("ID3\u{3} the music".utf8), Array(" and noise".utf8))
                let attachment = try NotificationAttachment(identifier: "song", url: try files.file("song", song))
                let connection = try await receiving.connect()
                var first = Receiving.question("first")
                first.request.content.attachments = [attachment]
                #expect(try await connection.deliver(first) == NotificationDelivery(.shown))
                let programs = Programs { program in
                    Task {
                        while program.requests.isEmpty { await Task.yield() }
                        let request = try ServiceExtensionMessage.readRequest(program.requests[0])
                        let given = try #require(request.content.attachments.first)
                        let content = try given.withAccess { descriptor in
                            try FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).readToEnd()
                        }
                        #expect(content == Data(song))
                        let url = try #require(given.url)
                        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: url.path)
                        let file = try FileHandle(forWritingTo: url)
                        try file.seekToEnd()
                        try file.write(contentsOf: Data(noise))
                        try file.close()
                        // It has the changed file in its response.
                        program.respond(try ServiceExtensionMessage.response(request.content))
                    }
                }
                await receiving.receiver.setExtensions(programs)
                var second = Self.mutable("second")
                second.request.content.attachments = [attachment]
                #expect(try await connection.deliver(second) == NotificationDelivery(.shown))
                func content(_ index: Int) throws -> Data {
                    let shown = receiving.screen.shown[index]
                    return try Data(contentsOf: try #require(shown.content.attachments.first?.url))
                }
                #expect(receiving.screen.shown.count == 2)
                let (kept, changed) = (try content(0), try content(1))
                #expect(kept == Data(song))
                #expect(changed == Data(song + noise))
                await connection.close()
            }
        }
    }

    /// Waits until it is released.
    private final class Stuck: ImageScaler {
        private let begun = Mutex(false)
        private let released: AsyncStream<Void>
        private let release: AsyncStream<Void>.Continuation

        init() { (self.released, self.release) = AsyncStream.makeStream() }

        var hasBegun: Bool { self.begun.withLock { $0 } }
        func end() { self.release.finish() }

        func scale(_ path: String, to result: String) async -> ImageScaling {
            self.begun.withLock { $0 = true }
            for await _ in self.released {}
            return .failed
        }

        func poster(of path: String, _ mediaType: String, to result: String) async -> ImageScaling { .unavailable }
    }

    @Test func `the time also counts while the files of the extension are taken over (X-51)`() async throws {
        try await AttachmentFiles.with { files in
            let scaler = Stuck()
            try await Receiving.with(attachments: files.received, scaler: scaler) { receiving in
                let path = try files.file("photo").path
                let programs = Programs { $0.respond(Self.titled("Changed", #","Files":{"photo":"\#(path)"}"#)) }
                await receiving.receiver.setExtensions(programs)
                let connection = try await receiving.connect()
                let delivery = Task { try await connection.deliver(Self.mutable()) }
                try await receiving.stage.eventually("the image is scaled") { scaler.hasBegun }
                try await receiving.stage.advance(by: .milliseconds(30_100))
                #expect(try await delivery.value.reason?.contains("did not respond in time") == true)
                #expect(receiving.screen.history.map(\.content.title) == ["Deploy?"])
                try await receiving.stage.eventually("it is ended") { programs.started.first?.hasEnded == true }
                scaler.end()
                await connection.close()
            }
        }
    }
}
