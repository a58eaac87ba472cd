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
    private typealias Receiving = ReceivingSystem

    private typealias Program = StagedExtensionProgram

    /// Extensions that are started, each with what it does with its request.
    private final class Programs: ServiceExtensionPrograms {
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

    private static func mutable(_ id: String = "q", for application: String? = "photos") -> RemoteNotification {
        var notification = Receiving.question(id)
        notification.isMutable = true
        notification.targetApplicationID = application
        return notification
    }

    /// The response of an extension that has set the title.
    private static func titled(_ title: String, _ more: String = "") -> String {
        #"{"Content":{"Title":"\#(title)","Body":"b"}\#(more)}"#
    }

    @Test func `what the extension returns is shown in place of what was sent (N-03, N-17, N-18, X-51)`() async throws {
        try await Receiving.with { receiving in
            let programs = Programs { $0.respond(Self.titled("Changed")) }
            await receiving.receiver.setExtensions(programs)
            let connection = try await receiving.connect()
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
                await receiving.receiver.extensionTurns.isEmpty
            }
            // The sender gets the response to what it has sent.
            let shown = try #require(receiving.screen.shown.first)
            receiving.screen.choose("yes", on: shown.identifier)
            var responses = connection.responses.makeAsyncIterator()
            #expect(await responses.next()?.requestIdentifier == "q")
            await connection.close()
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
        try await Receiving.with { receiving in
            let programs = Programs { $0.respond(line) }
            await receiving.receiver.setExtensions(programs)
            let connection = try await receiving.connect()
            let delivery = try await connection.deliver(Self.mutable())
            #expect(delivery.status == .shown && delivery.reason?.contains(reason) == true, "\(delivery)")
            #expect(receiving.screen.history.map(\.content.title) == ["Deploy?"])
            await connection.close()
        }
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

    @Test func `after 25 s the extension gets a last chance, and after 30 s the original is shown (N-20, X-51)`()
        async throws
    {
        try await Receiving.with { receiving in
            let programs = Programs()
            await receiving.receiver.setExtensions(programs)
            let connection = try await receiving.connect()
            let delivery = Task { try await connection.deliver(Self.mutable()) }
            try await receiving.stage.eventually("it runs") { programs.started.count == 1 }
            try await receiving.stage.advance(by: .milliseconds(24_900))
            let program = try #require(programs.started.first)
            #expect(program.requests.count == 1)
            // It is on no screen, and in no list.
            #expect(await receiving.receiver.list().isEmpty)
            #expect(receiving.screen.history.isEmpty)
            try await receiving.stage.advance(by: .milliseconds(100))
            try await receiving.stage.eventually("the last chance") {
                program.requests.last == ServiceExtensionMessage.timeWillExpire
            }
            try await receiving.stage.advance(by: .milliseconds(4_900))
            #expect(receiving.screen.history.isEmpty && !program.hasEnded)
            try await receiving.stage.advance(by: .milliseconds(200))
            let delivered = try await delivery.value
            #expect(delivered.status == .shown && delivered.reason?.contains("did not respond in time") == true)
            #expect(receiving.screen.history.map(\.content.title) == ["Deploy?"])
            try await receiving.stage.eventually("it is ended") { program.hasEnded }
            await connection.close()
        }
    }

    @Test func `an extension runs only for a mutable notification with a text, of a system of the account (X-51)`()
        async throws
    {
        try await Receiving.with { receiving in
            let programs = Programs { $0.respond(Self.titled("Changed")) }
            await receiving.receiver.setExtensions(programs)
            let connection = try await receiving.connect()
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
            await connection.close()
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
        try await Receiving.with { receiving in
            let programs = Programs()
            await receiving.receiver.setExtensions(programs)
            let connection = try await receiving.connect()
            let delivery = Task { try await connection.deliver(Self.mutable()) }
            try await receiving.stage.eventually("it runs") { programs.started.count == 1 }
            #expect(try await connection.withdraw(["q"]) == 1)
            // Its extension need not respond.
            #expect(try await delivery.value.status == .withheld)
            try await receiving.stage.eventually("it is ended") { programs.started.first?.hasEnded == true }
            #expect(receiving.screen.history.isEmpty)
            #expect(await receiving.receiver.list().isEmpty)
            await connection.close()
        }
    }

    @Test func `a notification that the user denies while its extension runs is not shown`() async throws {
        try await Receiving.with { receiving in
            let programs = Programs()
            await receiving.receiver.setExtensions(programs)
            let connection = try await receiving.connect()
            let delivery = Task { try await connection.deliver(Self.mutable()) }
            try await receiving.stage.eventually("it runs") { programs.started.count == 1 }
            let subject = NotificationPermissions.Subject(application: receiving.stage.configuration.applicationID)
            try await receiving.receiver.set(.denied, for: subject)
            #expect(try await delivery.value.status == .withheld)
            #expect(receiving.screen.history.isEmpty)
            await connection.close()
        }
    }

    @Test func `what replaces a notification is extended in its turn, and not later than that one would have been`()
        async throws
    {
        try await Receiving.with { receiving in
            let programs = Programs()
            await receiving.receiver.setExtensions(programs)
            let connection = try await receiving.connect()
            let first = Task { try await connection.deliver(Self.mutable()) }
            try await receiving.stage.eventually("it runs") { programs.started.count == 1 }
            try await receiving.stage.advance(by: .seconds(20))
            let second = Task { try await connection.deliver(Self.mutable()) }
            #expect(try await first.value.status == .withheld)
            try await receiving.stage.eventually("the other one runs") { programs.started.count == 2 }
            #expect(programs.started[0].hasEnded)
            try await receiving.stage.advance(by: .milliseconds(10_100))
            #expect(try await second.value.status == .shown)
            #expect(receiving.screen.history.count == 1)
            await connection.close()
        }
    }

    @Test func `a notification that expires soon gives its extension less time`() async throws {
        try await Receiving.with { receiving in
            let programs = Programs()
            await receiving.receiver.setExtensions(programs)
            let connection = try await receiving.connect()
            var notification = Self.mutable()
            notification.expiration = .seconds(11)
            let delivery = Task { try await connection.deliver(notification) }
            try await receiving.stage.eventually("it runs") { programs.started.count == 1 }
            #expect(try ValueSet(json: programs.started[0].requests[0])["Seconds"] == 10)
            try await receiving.stage.advance(by: .milliseconds(5_100))
            try await receiving.stage.eventually("the last chance") { programs.started[0].requests.count == 2 }
            try await receiving.stage.advance(by: .milliseconds(4_950))
            #expect(try await delivery.value.status == .shown)
            await connection.close()
        }
    }

    @Test func `a sender that waits no longer does not keep its notification from being extended and shown`()
        async throws
    {
        try await Receiving.with { receiving in
            let programs = Programs()
            await receiving.receiver.setExtensions(programs)
            let connection = try await receiving.connect()
            let delivery = Task { try await connection.deliver(Self.mutable()) }
            try await receiving.stage.eventually("it runs") { programs.started.count == 1 }
            delivery.cancel()
            _ = await delivery.result
            programs.started[0].respond(Self.titled("Changed"))
            try await receiving.stage.eventually("it is shown") {
                receiving.screen.history.map(\.content.title) == ["Changed"]
            }
            await connection.close()
        }
    }

    @Test func `an extension that does not end delays the next one by 2 s, and its own notification by nothing`()
        async throws
    {
        try await Receiving.with { receiving in
            let programs = Programs(ends: false) { $0.respond(Self.titled("Changed")) }
            await receiving.receiver.setExtensions(programs)
            let connection = try await receiving.connect()
            #expect(try await connection.deliver(Self.mutable("1")) == NotificationDelivery(.shown))
            let isDelivered = Mutex(false)
            let second = Task {
                defer { isDelivered.withLock { $0 = true } }
                return try await connection.deliver(Self.mutable("2"))
            }
            try await receiving.stage.eventually("it waits") { await receiving.receiver.received.all.count == 2 }
            #expect(programs.started.count == 1)
            // The 2 s begin a moment after the first one was delivered.
            for _ in 1...20 where !isDelivered.withLock({ $0 }) {
                try await receiving.stage.advance(by: .milliseconds(500))
            }
            #expect(try await second.value == NotificationDelivery(.shown))
            await connection.close()
        }
    }

    @Test func `an extension that takes too long to start is ended when it has started`() async throws {
        try await Receiving.with { receiving in
            let programs = Programs(starts: false)
            await receiving.receiver.setExtensions(programs)
            let connection = try await receiving.connect()
            let delivery = Task { try await connection.deliver(Self.mutable()) }
            try await receiving.stage.eventually("it starts") { programs.programs.count == 1 }
            try await receiving.stage.advance(by: .milliseconds(30_100))
            #expect(try await delivery.value.status == .shown)
            #expect(receiving.screen.history.map(\.content.title) == ["Deploy?"])
            try await receiving.stage.eventually("its turn has ended") {
                await receiving.receiver.extensionTurns.isEmpty
            }
            programs.release()
            try await receiving.stage.eventually("it is ended") { programs.programs[0].hasEnded }
            #expect(programs.started.isEmpty)
            await connection.close()
        }
    }

    @Test func `many notifications that wait for extensions delay no other request of their sender`() async throws {
        try await Receiving.with { receiving in
            let programs = Programs()
            await receiving.receiver.setExtensions(programs)
            let connection = try await receiving.connect()
            let deliveries = (1...20).map { number in
                Task { try await connection.deliver(Self.mutable("\(number)")) }
            }
            try await receiving.stage.eventually("all have arrived") {
                await receiving.receiver.received.all.count == 20
            }
            var plain = Self.mutable("plain")
            plain.isMutable = false
            #expect(try await connection.deliver(plain) == NotificationDelivery(.shown))
            #expect(try await connection.withdraw((1...20).map { "\($0)" }) == 20)
            for delivery in deliveries { #expect(try await delivery.value.status == .withheld) }
            #expect(programs.started.count <= 20)
            await connection.close()
        }
    }

    @Test func `extensions for one system run one after the other, and its waiting notifications are shown in time`()
        async throws
    {
        try await Receiving.with { receiving in
            let programs = Programs()
            await receiving.receiver.setExtensions(programs)
            let connection = try await receiving.connect()
            let deliveries = (1...3).map { number in
                Task { try await connection.deliver(Self.mutable("\(number)")) }
            }
            try await receiving.stage.eventually("all have arrived") {
                await receiving.receiver.received.all.count == 3 && programs.started.count == 1
            }
            try await receiving.stage.advance(by: .seconds(10))
            programs.started[0].respond(Self.titled("Changed"))
            try await receiving.stage.eventually("the next runs") { programs.started.count == 2 }
            #expect(receiving.screen.history.map(\.content.title) == ["Changed"])
            try await receiving.stage.advance(by: .milliseconds(20_100))
            var reasons: [String] = []
            for delivery in deliveries { if let reason = try await delivery.value.reason { reasons.append(reason) } }
            // The second had 20 s, and the third no time.
            #expect(reasons.count == 2)
            #expect(reasons.contains { $0.contains("did not respond in time") })
            #expect(reasons.contains { $0.contains("others were still running") })
            #expect(receiving.screen.history.count == 3 && programs.started.count == 2)
            try await receiving.stage.eventually("all turns have ended") {
                await receiving.receiver.extensionTurns.isEmpty
            }
            await connection.close()
        }
    }

    @Test func `extensions of four senders run at a time, and one of each sender, in the order of arrival`() {
        var turns = ServiceExtensionTurns()
        let names = ["a", "a", "b", "c", "d", "e", "a"]
        let all = names.map { turns.enter($0) }
        func running() -> [Int] { all.indices.filter { turns.isRunning(all[$0]) } }
        #expect(running() == [0, 2, 3, 4])
        turns.leave(all[3])
        #expect(running() == [0, 2, 4, 5])
        // One that waits no longer.
        turns.leave(all[1])
        turns.leave(all[0])
        #expect(running() == [2, 4, 5, 6])
        // Again: nothing is counted twice.
        turns.leave(all[0])
        for turn in all { turns.leave(turn) }
        #expect(turns.isEmpty)
    }

    // MARK: Files

    @Test func `a file of the extension is kept with the notification, and others stay (N-15, N-21, N-22)`()
        async throws
    {
        try await AttachmentDeliveryTests.Files.with { files in
            try await Receiving.with(attachments: files.received, scaler: AttachmentDeliveryTests.Copier()) {
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
    }

    @Test func `the time also counts while the files of the extension are taken over (X-51)`() async throws {
        try await AttachmentDeliveryTests.Files.with { files in
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

    // MARK: The process of the extension

    private struct Shouting: NotificationServiceExtension {
        func didReceive(_ request: NotificationRequest) async throws -> NotificationContent {
            var content = request.content
            content.title = content.title.uppercased()
            guard content.title != "FAIL" else { throw NotificationError(.invalidContent, "It has failed.") }
            return content
        }
    }

    private struct Slow: NotificationServiceExtension {
        func didReceive(_ request: NotificationRequest) async throws -> NotificationContent {
            // Ends by cancellation.
            try await Task.sleep(for: .seconds(3600))
            return request.content
        }

        func serviceExtensionTimeWillExpire() async -> NotificationContent? {
            NotificationContent(title: "As far as it is ready")
        }
    }

    private static func lines(_ lines: String...) -> AsyncStream<String> {
        AsyncStream { continuation in for line in lines { continuation.yield(line) } }
    }

    private static func request(_ title: String) throws -> String {
        try ServiceExtensionMessage.request(
            NotificationRequest(identifier: "q", content: NotificationContent(title: title)),
            of: NotificationSender(systemID: "s", application: "a"),
            seconds: 30
        )
    }

    @Test func `the extension answers one request, or with its last chance (N-18, N-20)`() async throws {
        func title(of line: String) throws -> String {
            try ServiceExtensionMessage.readResponse(line).content.title
        }
        let lines = Self.lines(try Self.request("deploy"))
        let line = try await ServiceExtensionMain.response(of: Shouting(), to: lines) { _ in }
        #expect(try title(of: line) == "DEPLOY")
        let late = try await ServiceExtensionMain.response(
            of: Slow(),
            to: Self.lines(try Self.request("deploy"), ServiceExtensionMessage.timeWillExpire)
        ) { _ in }
        #expect(try title(of: late) == "As far as it is ready")
        let failing = Self.lines(try Self.request("fail"))
        let error = await #expect(throws: NotificationError.self) {
            try await ServiceExtensionMain.response(of: Shouting(), to: failing) { _ in }
        }
        #expect(error?.message == "It has failed.")
        // Without a last chance, it waits for the change.
        let patient = try await ServiceExtensionMain.response(
            of: Shouting(),
            to: Self.lines(try Self.request("deploy"), ServiceExtensionMessage.timeWillExpire)
        ) { _ in }
        #expect(try title(of: patient) == "DEPLOY")
        // The host daemon is gone.
        let (ended, end) = AsyncStream.makeStream(of: String.self)
        end.yield(try Self.request("deploy"))
        end.finish()
        await #expect(throws: NotificationError.self) {
            try await ServiceExtensionMain.response(of: Slow(), to: ended) { _ in }
        }
    }
}
