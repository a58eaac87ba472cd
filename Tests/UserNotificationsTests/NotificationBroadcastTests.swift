// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Testing

@testable import UserNotifications

/// One question to several systems, or of several programs to one.
@Suite struct NotificationBroadcastTests {
    private typealias Receiving = ReceivingSystem

    @Test("A broadcast is answered on one system and disappears from all")
    func broadcast() async throws {
        try await DiscoveryStage.with { stage in
            let screens = [StagedNotificationPresenter(), StagedNotificationPresenter(), StagedNotificationPresenter()]
            let broadcast = NotificationBroadcast(Receiving.question())
            var running: [Task<Void, any Error>] = []
            defer { for task in running { task.cancel() } }
            for (index, screen) in screens.enumerated() {
                let receiver = NotificationReceiver(stage.configuration, presenter: screen) { _ in nil }
                let host = try stage.system("System \(index)", services: [receiver.service])
                try await stage.appears(host)
                running.append(Task { try await receiver.run() })
                let request = RemoteSystemConnectionRequest(
                    host: host.address,
                    port: try await host.port(),
                    systemID: host.id,
                    configuration: stage.configuration
                )
                _ = await broadcast.send(to: host.id, named: host.displayName, request)
            }
            #expect(screens.allSatisfy { $0.shown.count == 1 })
            screens[1].choose("yes", on: screens[1].shown[0].identifier)
            var responses = broadcast.responses.makeAsyncIterator()
            #expect(await responses.next()?.systemName == "System 1")
            await broadcast.withdraw()
            try await stage.eventually("it is gone everywhere") { screens.allSatisfy(\.shown.isEmpty) }
        }
    }

    @Test("Two questions of one program to one system each receive their own answer")
    func twoQuestions() async throws {
        try await Receiving.with { receiving in
            let earlier = try await receiving.connect()
            _ = try await earlier.deliver(Receiving.question("earlier"))
            await earlier.close()
            try await receiving.stage.eventually("the connection has ended") {
                await receiving.receiver.connections.isEmpty
            }
            func choose(_ action: NotificationActionIdentifier, _ text: String? = nil, of identifier: String)
                async throws
            {
                let entry = await receiving.receiver.list().first { $0.notification.request.identifier == identifier }
                receiving.screen.choose(action, on: try #require(entry).key, text: text)
            }
            try await choose("yes", of: "earlier")
            let broadcasts = ["one", "two"].map { NotificationBroadcast(Receiving.question($0)) }
            for broadcast in broadcasts {
                _ = await broadcast.send(to: receiving.host.id, named: "Laptop", try await receiving.request)
            }
            try await choose("yes", of: "one")
            try await choose("comment", "No", of: "two")
            for (broadcast, (identifier, action)) in zip(broadcasts, [("one", "yes"), ("two", "comment")]) {
                var responses = broadcast.responses.makeAsyncIterator()
                let response = try #require(await responses.next())
                #expect(response.requestIdentifier == identifier)
                #expect(response.actionIdentifier == NotificationActionIdentifier(action))
                await broadcast.withdraw()
            }
            // The response to the earlier notification still waits for who asks for it.
            let later = try await receiving.connect()
            #expect(try await later.resume(["one"]).responseCount == 0)
            #expect(try await later.resume().responseCount == 1)
            var responses = later.responses.makeAsyncIterator()
            #expect(await responses.next()?.requestIdentifier == "earlier")
            await later.close()
        }
    }

    @Test("A program that gives up its question does not withdraw a later one with the same identifier")
    func laterQuestion() async throws {
        try await Receiving.with { receiving in
            let broadcasts = [NotificationBroadcast(Receiving.question()), NotificationBroadcast(Receiving.question())]
            for broadcast in broadcasts {
                _ = await broadcast.send(to: receiving.host.id, named: "Laptop", try await receiving.request)
            }
            await broadcasts[0].withdraw()
            #expect(await receiving.receiver.list().count == 1)
            await broadcasts[1].withdraw()
            #expect(await receiving.receiver.list().isEmpty)
        }
    }

    @Test func `a program that connects again takes no answer to a later question with the same identifier`()
        async throws
    {
        try await Receiving.with { receiving in
            let (earlier, later) = (
                NotificationBroadcast(Receiving.question()), NotificationBroadcast(Receiving.question())
            )
            func send(_ broadcast: NotificationBroadcast, isAgain: Bool) async throws -> NotificationBroadcast.Outcome?
            {
                let request = try await receiving.request
                return await broadcast.send(to: receiving.host.id, named: "Laptop", request, isAgain: isAgain)
            }
            _ = try await send(earlier, isAgain: false)
            var losses = earlier.losses.makeAsyncIterator()
            receiving.host.link.cut()
            #expect(await losses.next() == receiving.host.id)
            _ = try await send(later, isAgain: false)
            guard case .delivered(let delivery)? = try await send(earlier, isAgain: true) else {
                Issue.record("It was not sent again.")
                return
            }
            #expect(delivery.status == .withheld)
            let hasEnded = await earlier.hasEnded
            #expect(hasEnded)
            let key = try #require(await receiving.receiver.list().first?.key)
            receiving.screen.choose("yes", on: key)
            var responses = later.responses.makeAsyncIterator()
            #expect(await responses.next()?.actionIdentifier == "yes")
            await earlier.withdraw()
            await later.withdraw()
        }
    }

    @Test("After a cut link, a question is not shown twice, and an answer from meanwhile arrives once")
    func cutLink() async throws {
        try await Receiving.with { receiving in
            let broadcast = NotificationBroadcast(Receiving.question())
            var losses = broadcast.losses.makeAsyncIterator()
            func send(isAgain: Bool) async throws -> NotificationBroadcast.Outcome? {
                await broadcast.send(
                    to: receiving.host.id,
                    named: "Laptop",
                    try await receiving.request,
                    isAgain: isAgain
                )
            }
            _ = try await send(isAgain: false)
            receiving.host.link.cut()
            #expect(await losses.next() == receiving.host.id)
            guard case .delivered? = try await send(isAgain: true) else {
                Issue.record("It was not sent again.")
                return
            }
            #expect(receiving.screen.history.count == 1)
            receiving.host.link.cut()
            #expect(await losses.next() == receiving.host.id)
            let key = try #require(await receiving.receiver.list().first?.key)
            try await receiving.receiver.respond(key, "yes", text: nil)
            _ = try await send(isAgain: true)
            var responses = broadcast.responses.makeAsyncIterator()
            #expect(await responses.next()?.actionIdentifier == "yes")
            #expect(receiving.screen.history.count == 1)
            await broadcast.withdraw()
            #expect(await responses.next() == nil)
        }
    }

    @Test func `a broadcast reports that no system keeps its notification any more`() async throws {
        try await Receiving.with { receiving in
            let broadcast = NotificationBroadcast(Receiving.question())
            var changes = await broadcast.changes().makeAsyncIterator()
            _ = await broadcast.send(to: receiving.host.id, named: "Laptop", try await receiving.request)
            #expect(await !broadcast.hasEnded)
            let everything = NotificationPermissions.Subject(system: nil, application: nil)
            try await receiving.receiver.set(.denied, for: everything)
            while await !broadcast.hasEnded {
                guard await changes.next() != nil else {
                    Issue.record("The changes have ended.")
                    return
                }
            }
            await broadcast.withdraw()
            // What was buffered, and the end.
            while await changes.next() != nil {}
        }
    }

    @Test func `a broadcast ends if the only system that had its notification does not accept it again`() async throws {
        try await Receiving.with { receiving in
            let broadcast = NotificationBroadcast(Receiving.question(expires: 3600))
            _ = await broadcast.send(to: receiving.host.id, named: "Laptop", try await receiving.request)
            var losses = broadcast.losses.makeAsyncIterator()
            receiving.host.link.cut()
            #expect(await losses.next() == receiving.host.id)
            let isEndedAfterLoss = await broadcast.hasEnded
            #expect(!isEndedAfterLoss)
            let everything = NotificationPermissions.Subject(system: nil, application: nil)
            try await receiving.receiver.set(.denied, for: everything)
            guard
                case .failed(let error as NotificationError)? = await broadcast.send(
                    to: receiving.host.id,
                    named: "Laptop",
                    try await receiving.request,
                    isAgain: true
                )
            else {
                Issue.record("It was not refused.")
                return
            }
            #expect(error.code == .notAuthorized)
            let (hasEnded, expiration) = (await broadcast.hasEnded, await broadcast.expiration)
            #expect(hasEnded)
            #expect(expiration == nil)
            await broadcast.withdraw()
        }
    }

    @Test func `a broadcast that a system refused for its rate is sent there again`() async throws {
        try await Receiving.with { receiving in
            let connection = try await receiving.connect()
            for _ in 0..<SenderQuota.burst { _ = try await connection.deliver(Receiving.question("earlier")) }
            let broadcast = NotificationBroadcast(Receiving.question())
            guard
                case .failed(let error as NotificationError)? = await broadcast.send(
                    to: receiving.host.id,
                    named: "Laptop",
                    try await receiving.request
                )
            else {
                Issue.record("It was not refused.")
                return
            }
            #expect(error.code == .rateLimited)
            var losses = broadcast.losses.makeAsyncIterator()
            #expect(await losses.next() == receiving.host.id)
            try await receiving.stage.advance(by: .seconds(2))
            guard
                case .delivered(let delivery)? = await broadcast.send(
                    to: receiving.host.id,
                    named: "Laptop",
                    try await receiving.request,
                    isAgain: true
                )
            else {
                Issue.record("It was not sent again.")
                return
            }
            #expect(delivery.status == .shown)
            await broadcast.withdraw()
            await connection.close()
        }
    }

    @Test func `a question that expired while its link was lost is not asked again`() async throws {
        try await Receiving.with { receiving in
            let broadcast = NotificationBroadcast(Receiving.question(expires: 1))
            #expect(await broadcast.expiration == nil)
            _ = await broadcast.send(to: receiving.host.id, named: "Laptop", try await receiving.request)
            let end = try #require(await broadcast.expiration)
            try await receiving.stage.advance(by: .seconds(1))
            try await receiving.stage.eventually("it has expired there") { receiving.screen.shown.isEmpty }
            var losses = broadcast.losses.makeAsyncIterator()
            receiving.host.link.cut()
            #expect(await losses.next() == receiving.host.id)
            // An answer may have been given before.
            #expect(await broadcast.expiration == nil)
            try await Task.sleep(until: end, clock: .continuous)
            _ = await broadcast.send(to: receiving.host.id, named: "Laptop", try await receiving.request, isAgain: true)
            #expect(receiving.screen.history.count == 1)
            #expect(await broadcast.expiration == end)
            await broadcast.withdraw()
        }
    }
}
