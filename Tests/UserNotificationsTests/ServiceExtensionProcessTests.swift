// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserNotifications

/// The programs of extensions: the time that each has, their turns and their ends.
extension ServiceExtensionTests {
    @Test func `after 25 s the extension gets a last chance, and after 30 s the original is shown (N-20, X-51)`()
        async throws
    {
        let programs = Programs()
        try await Self.with(programs) { receiving, connection in
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
        }
    }

    @Test func `what replaces a notification is extended in its turn, and not later than that one would have been`()
        async throws
    {
        let programs = Programs()
        try await Self.with(programs) { receiving, connection in
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
        }
    }

    @Test func `a notification that expires soon gives its extension less time`() async throws {
        let programs = Programs()
        try await Self.with(programs) { receiving, connection in
            var notification = Self.mutable()
            notification.expiration = .seconds(11)
            let delivery = Task { try await connection.deliver(notification) }
            try await receiving.stage.eventually("it runs") { programs.started.count == 1 }
            #expect(try ValueSet(json: programs.started[0].requests[0])["Seconds"] == 10)
            try await receiving.stage.advance(by: .milliseconds(5_100))
            try await receiving.stage.eventually("the last chance") { programs.started[0].requests.count == 2 }
            try await receiving.stage.advance(by: .milliseconds(4_950))
            #expect(try await delivery.value.status == .shown)
        }
    }

    @Test func `a sender that waits no longer does not keep its notification from being extended and shown`()
        async throws
    {
        let programs = Programs()
        try await Self.with(programs) { receiving, connection in
            let delivery = Task { try await connection.deliver(Self.mutable()) }
            try await receiving.stage.eventually("it runs") { programs.started.count == 1 }
            delivery.cancel()
            _ = await delivery.result
            programs.started[0].respond(Self.titled("Changed"))
            try await receiving.stage.eventually("it is shown") {
                receiving.screen.history.map(\.content.title) == ["Changed"]
            }
        }
    }

    @Test func `an extension that does not end delays the next one by 2 s, and its own notification by nothing`()
        async throws
    {
        let programs = Programs(ends: false) { $0.respond(Self.titled("Changed")) }
        try await Self.with(programs) { receiving, connection in
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
        }
    }

    @Test func `an extension that takes too long to start is ended when it has started`() async throws {
        let programs = Programs(starts: false)
        try await Self.with(programs) { receiving, connection in
            let delivery = Task { try await connection.deliver(Self.mutable()) }
            try await receiving.stage.eventually("it starts") { programs.programs.count == 1 }
            try await receiving.stage.advance(by: .milliseconds(30_100))
            #expect(try await delivery.value.status == .shown)
            #expect(receiving.screen.history.map(\.content.title) == ["Deploy?"])
            try await receiving.stage.eventually("its turn has ended") {
                await receiving.receiver.extensionTurns.count == 0
            }
            programs.release()
            try await receiving.stage.eventually("it is ended") { programs.programs[0].hasEnded }
            #expect(programs.started.isEmpty)
        }
    }

    @Test func `many notifications that wait for extensions delay no other request of their sender`() async throws {
        let programs = Programs()
        try await Self.with(programs) { receiving, connection in
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
        }
    }

    @Test func `extensions for one system run one after the other, and its waiting notifications are shown in time`()
        async throws
    {
        let programs = Programs()
        try await Self.with(programs) { receiving, connection in
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
                await receiving.receiver.extensionTurns.count == 0
            }
        }
    }

    @Test func `extensions of four senders run at a time, and one of each sender, in the order of arrival`() {
        var turns = Turns<String, Never>()
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
        #expect(turns.count == 0)
    }

    // MARK: The process of the extension

    private struct Shouting: NotificationServiceExtension {
        func didReceive(_ request: NotificationRequest) async throws -> NotificationContent {
            var content = request.content
            content.title = content.title.uppercased()
            // The copy was changed, and not the request.
            #expect(request.content.title == content.title.lowercased())
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

    @Test func `the extension answers one request, or with its last chance (N-18, N-20, N-22)`() async throws {
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
