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

    /// An extension in this process.
    private final class Program: ServiceExtensionProgram {
        private let received = Mutex<[String]>([])
        private let ends = Mutex(0)
        private let lines: AsyncStream<String>
        private let responses: AsyncStream<String>.Continuation

        init() { (self.lines, self.responses) = AsyncStream.makeStream() }

        var requests: [String] { self.received.withLock { $0 } }
        var hasEnded: Bool { self.ends.withLock { $0 > 0 } }
        func send(_ line: String) { self.received.withLock { $0.append(line) } }
        func respond(_ line: String) { self.responses.yield(line) }
        func crash() { self.responses.finish() }

        func response() async -> String? {
            for await line in self.lines { return line }
            return nil
        }

        func end() async -> String {
            self.ends.withLock { $0 += 1 }
            self.responses.finish()
            return "it ended with exit status 3"
        }
    }

    /// Extensions that are started, each with what it does with its request.
    private final class Programs: ServiceExtensionPrograms {
        private let state = Mutex<[(application: String, program: Program)]>([])
        private let behaviour: @Sendable (Program) -> Void
        private let installed: String

        init(of installed: String = "photos", _ behaviour: @escaping @Sendable (Program) -> Void = { _ in }) {
            (self.installed, self.behaviour) = (installed, behaviour)
        }

        var applications: [String] { self.state.withLock { $0.map(\.application) } }
        var started: [Program] { self.state.withLock { $0.map(\.program) }.filter { !$0.requests.isEmpty } }

        func start(_ application: String) async throws(NotificationError) -> (any ServiceExtensionProgram)? {
            let program = Program()
            self.state.withLock { $0.append((application, program)) }
            guard application == self.installed else { return nil }
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
            #expect(await receiving.receiver.extensionLanes.isEmpty)
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
            #expect(delivery.reason?.contains("did not respond: it ended with exit status 3") == true)
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
            // It is in the list meanwhile, and on no screen.
            #expect(await receiving.receiver.list().count == 1)
            #expect(receiving.screen.history.isEmpty)
            try await receiving.stage.advance(by: .milliseconds(100))
            try await receiving.stage.eventually("the last chance") {
                program.requests.last == ServiceExtensionMessage.timeWillExpire
            }
            try await receiving.stage.advance(by: .milliseconds(4_900))
            #expect(receiving.screen.history.isEmpty && !program.hasEnded)
            try await receiving.stage.advance(by: .milliseconds(200))
            let delivered = try await delivery.value
            #expect(delivered.status == .shown && delivered.reason?.contains("longer than 30 s") == true)
            #expect(receiving.screen.history.map(\.content.title) == ["Deploy?"])
            #expect(program.hasEnded)
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
                var received = ReceivedNotifications(receiving.stage.clock.now)
                let entry = try received.add(
                    Self.mutable("3"),
                    from: sender,
                    name: nil,
                    receiving.stage.clock.now
                )
                #expect(await receiving.receiver.extended(entry).entry == entry)
            }
            #expect(programs.applications.isEmpty)
            // Without a name it is the application that sends, which has no extension here.
            #expect(try await connection.deliver(Self.mutable("4", for: nil)) == NotificationDelivery(.shown))
            #expect(programs.applications == [receiving.stage.configuration.applicationID])
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
            programs.started.first?.respond(Self.titled("Changed"))
            _ = try await delivery.value
            #expect(receiving.screen.history.isEmpty)
            #expect(await receiving.receiver.list().isEmpty)
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
                await receiving.receiver.list().count == 3 && programs.started.count == 1
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
            #expect(reasons.contains { $0.contains("longer than 30 s") })
            #expect(reasons.contains { $0.contains("busy with earlier notifications") })
            #expect(receiving.screen.history.count == 3 && programs.started.count == 2)
            #expect(await receiving.receiver.extensionLanes.isEmpty)
            await connection.close()
        }
    }

    @Test func `the extensions of several systems run beside each other, and no more than four`() async {
        var lanes = ServiceExtensionLanes()
        let running = Mutex<Set<Int>>([])
        let (released, release) = AsyncStream.makeStream(of: Void.self)
        let most = Mutex(0)
        let calls = (0..<6).map { number in
            lanes.begin("\(number)", .system) {
                running.withLock { running in
                    running.insert(number)
                    most.withLock { $0 = max($0, running.count) }
                }
                if number < 4 { for await _ in released {} }
                running.withLock { _ = $0.remove(number) }
            }
        }
        while running.withLock({ $0.count }) < 4 { await Task.yield() }
        #expect(running.withLock { $0 } == [0, 1, 2, 3])
        release.finish()
        for call in calls { await call.value }
        #expect(most.withLock { $0 } <= 4)
        for number in 0..<6 { lanes.ended("\(number)") }
        #expect(lanes.isEmpty)
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
                        Self.titled("Changed", #","Files":{"photo":"\#(downloaded.path)","none":"/nowhere"}"#)
                    )
                }
                await receiving.receiver.setExtensions(programs)
                let connection = try await receiving.connect()
                #expect(try await connection.deliver(Self.mutable()) == NotificationDelivery(.shown))
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
                #expect(try await delivery.value.reason?.contains("longer than 30 s") == true)
                #expect(receiving.screen.history.map(\.content.title) == ["Deploy?"])
                #expect(programs.started.first?.hasEnded == true)
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
        let line = try await ServiceExtensionMain.response(of: Shouting(), to: Self.lines(try Self.request("deploy")))
        #expect(try title(of: line) == "DEPLOY")
        let late = try await ServiceExtensionMain.response(
            of: Slow(),
            to: Self.lines(try Self.request("deploy"), ServiceExtensionMessage.timeWillExpire)
        )
        #expect(try title(of: late) == "As far as it is ready")
        let failing = Self.lines(try Self.request("fail"))
        let error = await #expect(throws: NotificationError.self) {
            try await ServiceExtensionMain.response(of: Shouting(), to: failing)
        }
        #expect(error?.message == "It has failed.")
        // Without a last chance, it waits for the change.
        let patient = try await ServiceExtensionMain.response(
            of: Shouting(),
            to: Self.lines(try Self.request("deploy"), ServiceExtensionMessage.timeWillExpire)
        )
        #expect(try title(of: patient) == "DEPLOY")
        // The host daemon is gone.
        let (ended, end) = AsyncStream.makeStream(of: String.self)
        end.yield(try Self.request("deploy"))
        end.finish()
        await #expect(throws: NotificationError.self) {
            try await ServiceExtensionMain.response(of: Slow(), to: ended)
        }
    }
}
