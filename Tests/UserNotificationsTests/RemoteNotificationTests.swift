// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserNotifications

/// Notifications between staged systems.
@Suite struct RemoteNotificationTests {
    private typealias Receiving = ReceivingSystem

    @Test("A question is shown with its sender, the answer comes back once, and the question is gone (N-11, N-12)")
    func answered() async throws {
        try await Receiving.with { receiving in
            let connection = try await receiving.connect()
            #expect(try await connection.deliver(Receiving.question()) == NotificationDelivery(.shown))
            let shown = try #require(receiving.screen.shown.first)
            #expect(shown.content.title == "Deploy?" && shown.applicationName == "Build server")
            #expect(shown.systemName == "Server" && shown.category?.actions.count == 2)
            receiving.screen.choose("comment", on: shown.identifier, text: "Not yet\nplease")
            // A server that reports twice is no second answer.
            receiving.screen.choose("yes", on: shown.identifier)
            var responses = connection.responses.makeAsyncIterator()
            let response = try #require(await responses.next())
            #expect(response.actionIdentifier == "comment" && response.userText == "Not yet\nplease")
            #expect(response.requestIdentifier == "q" && response.systemName == "Laptop")
            #expect(response.systemID == "\(receiving.host.id)")
            try await receiving.stage.eventually("the question is gone") { receiving.screen.shown.isEmpty }
            #expect(await receiving.receiver.list().isEmpty)
            await connection.close()
            #expect(await responses.next() == nil)
        }
    }

    @Test("A sender that names a category and does not send it learns that the user gets no actions (N-29)")
    func unknownCategory() async throws {
        try await Receiving.with { receiving in
            let connection = try await receiving.connect()
            var notification = Receiving.question()
            notification.category = nil
            let delivery = try await connection.deliver(notification)
            #expect(delivery.status == .shown)
            #expect(delivery.reason?.contains("the category 'c' was not sent along") == true, "\(delivery)")
            #expect(receiving.screen.shown.map(\.content.title) == ["Deploy?"])
            await connection.close()
        }
    }

    @Test("A program of another system gets no token for windows of this one")
    func withoutToken() async throws {
        try await Receiving.with { receiving in
            let connection = try await receiving.connect()
            _ = try await connection.deliver(Receiving.question())
            let key = try #require(receiving.screen.shown.first?.identifier)
            receiving.screen.choose(on: key, activationToken: "token-1")
            let response = await connection.responses.first { _ in true }
            #expect(response?.actionIdentifier == .default && response?.activationToken == nil)
            await connection.close()
        }
    }

    @Test("The same identifier replaces, and the sender withdraws (X-55)")
    func replacedAndWithdrawn() async throws {
        try await Receiving.with { receiving in
            let connection = try await receiving.connect()
            _ = try await connection.deliver(Receiving.question())
            var second = Receiving.question()
            second.request.content.title = "Deploy now?"
            _ = try await connection.deliver(second)
            #expect(receiving.screen.shown.map(\.content.title) == ["Deploy now?"])
            #expect(try await connection.withdraw(["q", "other"]) == 1)
            #expect(receiving.screen.shown.isEmpty)
            await connection.close()
        }
    }

    @Test("A dismissal reaches a sender that asked for it (N-43)")
    func dismissed() async throws {
        try await Receiving.with { receiving in
            let connection = try await receiving.connect()
            _ = try await connection.deliver(Receiving.question())
            let key = try #require(receiving.screen.shown.first?.identifier)
            receiving.screen.end(key)
            var responses = connection.responses.makeAsyncIterator()
            #expect(await responses.next()?.actionIdentifier == .dismiss)
            await connection.close()
        }
    }

    @Test("A response has the window or document that the content names (X-60)", arguments: [nil, "window-1"])
    func target(target: String?) async throws {
        try await Receiving.with { receiving in
            let connection = try await receiving.connect()
            var notification = Receiving.question()
            notification.request.content.targetContentIdentifier = target
            _ = try await connection.deliver(notification)
            let key = try #require(receiving.screen.shown.first?.identifier)
            receiving.screen.choose("yes", on: key)
            let response = await connection.responses.first { _ in true }
            #expect(response?.actionIdentifier == "yes" && response?.targetContentIdentifier == target)
            await connection.close()
        }
    }

    @Test("An expired notification is closed, one whose banner has ended stays in the list (N-06)")
    func expires() async throws {
        try await Receiving.with { receiving in
            let connection = try await receiving.connect()
            _ = try await connection.deliver(Receiving.question(expires: 60))
            let key = try #require(receiving.screen.shown.first?.identifier)
            receiving.screen.end(key, .expired)
            try await receiving.stage.eventually("it is no longer shown") {
                await receiving.receiver.list().first?.isShown == false
            }
            try await receiving.stage.advance(by: .seconds(61))
            #expect(await receiving.receiver.list().isEmpty)
            await connection.close()
        }
    }

    @Test("Without a desktop, a notification is kept, answered with a command, and the sender receives the answer")
    func headless() async throws {
        try await Receiving.with(presents: false) { receiving in
            let connection = try await receiving.connect()
            #expect(try await connection.deliver(Receiving.question()).status == .kept)
            let key = try #require(await receiving.receiver.list().first?.key)
            try await receiving.receiver.respond(key, "yes", text: nil)
            var responses = connection.responses.makeAsyncIterator()
            #expect(await responses.next()?.actionIdentifier == "yes")
            await connection.close()
        }
    }

    @Test("A response to a sender that has gone reaches its next connection, once")
    func later() async throws {
        try await Receiving.with(presents: false) { receiving in
            let first = try await receiving.connect()
            _ = try await first.deliver(Receiving.question())
            await first.close()
            let key = try #require(await receiving.receiver.list().first?.key)
            try await receiving.receiver.respond(key, "yes", text: nil)
            let second = try await receiving.connect()
            try await second.resume()
            var responses = second.responses.makeAsyncIterator()
            #expect(await responses.next()?.actionIdentifier == "yes")
            try await second.resume()
            await second.close()
            #expect(await responses.next() == nil)
        }
    }

    @Test("A server that fails leaves the notification in the list, and the sender learns it")
    func failingServer() async throws {
        try await Receiving.with { receiving in
            receiving.screen.fail(NotificationError(.notShown, "There is no server."))
            let connection = try await receiving.connect()
            let delivery = try await connection.deliver(Receiving.question())
            #expect(delivery.status == .kept && delivery.reason == "There is no server.")
            #expect(await receiving.receiver.list().count == 1)
            await connection.close()
        }
    }

    @Test("Content without text is not shown, and the sender learns it (N-08)")
    func silent() async throws {
        try await Receiving.with { receiving in
            let connection = try await receiving.connect()
            let empty = RemoteNotification(NotificationRequest(identifier: "s", content: NotificationContent()))
            #expect(try await connection.deliver(empty).reason == "The notification has no text.")
            #expect(receiving.screen.shown.isEmpty)
            await connection.close()
        }
    }

    @Test("More than 4096 bytes are refused by both sides (X-62)")
    func tooLarge() async throws {
        try await Receiving.with { receiving in
            let connection = try await receiving.connect()
            var large = Receiving.question()
            large.request.content.body = String(repeating: "a", count: 4096)
            let error = await #expect(throws: NotificationError.self) { try await connection.deliver(large) }
            #expect(error?.code == .payloadTooLarge)
            await connection.close()
            // A sender that does not check.
            let raw = try await receiving.stage.connect(to: receiving.host, service: NotificationMessage.service)
            let response = try await raw.send(NotificationMessage.deliver(large))
            #expect(response.error?.failureCode == "org.remotesystems.notifications.payload-too-large")
            #expect(receiving.screen.shown.isEmpty)
            await raw.close()
        }
    }

    @Test("Only programs of the same system list, watch and answer")
    func localOnly() async throws {
        try await Receiving.with { receiving in
            let raw = try await receiving.stage.connect(to: receiving.host, service: NotificationMessage.service)
            for message in [
                ["Type": "list"], ["Type": "watch"], ["Type": "respond", "Key": "1", "Action": "yes"],
                ["Type": "snooze", "Key": "1", "Seconds": 60], ["Type": "read"], ["Type": "open", "Key": "1"],
            ] as [ValueSet] {
                let response = try await raw.send(message)
                #expect(response.error?.failureCode == "org.remotesystems.notifications.not-authorized")
            }
            let unknown = try await raw.send(["Type": "delete"])
            #expect(unknown.error?.failureCode == "org.remotesystems.notifications.request-unknown")
            await raw.close()
        }
    }

    @Test("A sender that floods is refused, and may retry later")
    func flood() async throws {
        try await Receiving.with { receiving in
            let connection = try await receiving.connect()
            for _ in 0..<SenderQuota.burst { _ = try await connection.deliver(Receiving.question()) }
            let error = await #expect(throws: RemoteSystemError.self) {
                try await connection.deliver(Receiving.question())
            }
            #expect(error?.canRetry == true)
            try await receiving.stage.advance(by: .seconds(2))
            _ = try await connection.deliver(Receiving.question())
            await connection.close()
        }
    }

    @Test("A payload in Apple's form is accepted on the wire (N-16)")
    func applePayload() async throws {
        try await Receiving.with { receiving in
            let raw = try await receiving.stage.connect(to: receiving.host, service: NotificationMessage.service)
            let response = try await raw.send([
                "Type": "deliver", "Id": "p", "Payload": ["aps": ["alert": ["title": "T"]], "k": 1],
            ])
            #expect(response.message["Status"]?.string == "shown")
            #expect(receiving.screen.shown.first?.content.userInfo["k"]?.int == 1)
            await raw.close()
        }
    }

    @Test("The list shows the name of a sender that became known after its notification")
    func lateName() async throws {
        try await DiscoveryStage.with { stage in
            let name = Mutex<String?>(nil)
            let receiver = NotificationReceiver(stage.configuration, presenter: nil) { _ in name.withLock { $0 } }
            let host = try stage.system("Laptop", services: [receiver.service])
            try await stage.appears(host)
            let connection = RemoteNotificationConnection(
                RemoteSystemConnectionRequest(
                    host: host.address,
                    port: try await host.port(),
                    systemID: host.id,
                    configuration: stage.configuration
                )
            )
            try await connection.open()
            _ = try await connection.deliver(Receiving.question())
            let id = try #require(await receiver.list().first?.sender.systemID)
            #expect(await receiver.list().first?.systemName.map { id.hasPrefix($0) } == true)
            name.withLock { $0 = "Server" }
            #expect(await receiver.list().first?.systemName == "Server")
            await connection.close()
        }
    }

    @Test("A response to a notification of a sender that takes none ends it, and does not wait")
    func oneWay() async throws {
        try await Receiving.with { receiving in
            let connection = try await receiving.connect()
            var notification = Receiving.question()
            notification.isOneWay = true
            _ = try await connection.deliver(notification)
            receiving.screen.choose("yes", on: try #require(receiving.screen.shown.first).identifier)
            try await receiving.stage.eventually("it is gone") { receiving.screen.shown.isEmpty }
            #expect(try await connection.resume() == NotificationResumption(waiting: [], responseCount: 0))
            await connection.close()
        }
    }

    @Test func `only the command without a name is shown by its system alone (N-10)`() {
        let content = NotificationContent(title: "q")
        var notification = RemoteNotification(NotificationRequest(identifier: "q", content: content))
        #expect(notification.isOfCommand("remote-systems.command.notify"))
        #expect(!notification.isOfCommand("com.example.build"))
        notification.applicationName = "remote-systems.command.notify"
        #expect(!notification.isOfCommand("remote-systems.command.notify"))
        #expect(!notification.isOfCommand("com.example.build"))
    }

    @Test func `an error about a text states the limit of the whole where that is smaller`() {
        func message(_ title: Int, _ body: Int) -> String {
            let content = NotificationContent(
                title: String(repeating: "x", count: title),
                body: String(repeating: "x", count: body)
            )
            let notification = RemoteNotification(NotificationRequest(identifier: "q", content: content))
            let error = #expect(throws: NotificationError.self) { try notification.validate() }
            return error?.message ?? ""
        }
        #expect(message(1, 9000).contains("4096 bytes in all"))
        #expect(message(1, 5000).contains("larger than 4096 bytes"))
        // The whole is small enough.
        #expect(!message(600, 1).contains("4096"))
    }

    @Test("A list of notifications that are larger than a message is complete, and has no user info of others")
    func pages() async throws {
        try await Receiving.with { receiving in
            for system in 0..<8 {
                // As many as each of so many systems may have.
                for number in 0..<40 {
                    var notification = Receiving.question("\(number)")
                    notification.request.content.body = String(repeating: "x", count: 3000)
                    notification.request.content.userInfo = ["Secret": "s"]
                    try await receiving.receiver.add(notification, ofSystem: "\(system)")
                }
            }
            let entries = await receiving.receiver.list()
            #expect(entries.count == 320)
            var (after, keys, pages) = (String?.none, [String](), 0)
            repeat {
                let page = try NotificationPage(entries, own: nil, after: after)
                #expect(try page.valueSet.encodedSize() < 512 * 1024)
                keys += page.sets.compactMap { $0["Key"]?.string }
                #expect(page.sets.allSatisfy { $0["Content"]?.dictionary?["UserInfo"] == nil })
                (after, pages) = (page.next, pages + 1)
            } while after != nil
            #expect(keys == entries.map(\.key) && pages > 1)
            let own = try NotificationPage(entries, own: .init(systemID: "3", application: "a"), after: nil)
            #expect(own.sets.count == 40 && own.next == nil)
            #expect(own.sets.allSatisfy { $0["Content"]?.dictionary?["UserInfo"] != nil })
            #expect(throws: NotificationError.self) { try NotificationPage(entries, own: nil, after: "no number") }
        }
    }

    @Test("User info that is nested too deeply for a list is refused")
    func deepUserInfo() throws {
        func nested(_ depth: Int) -> ValueSet {
            (1..<depth).reduce(["Leaf": 1]) { inner, _ in ["Inner": .dictionary(inner)] }
        }
        var notification = Receiving.question()
        notification.request.content.userInfo = nested(NotificationLimits.userInfoDepth)
        try notification.validate()
        notification.request.content.userInfo = nested(NotificationLimits.userInfoDepth + 1)
        let error = #expect(throws: NotificationError.self) { try notification.validate() }
        #expect(error?.code == .limitExceeded && error?.field == "content.userInfo")
    }

    @Test func `the account's other systems list what is scheduled, and cancel nothing (X-40)`() async throws {
        try await Receiving.with { receiving in
            var notification = Receiving.question()
            notification.request.content.userInfo = ["Secret": 1]
            notification.request.trigger = .timeInterval(.seconds(600), repeats: false)
            let sender = NotificationSender(systemID: "s", application: "calendar", isLocal: true)
            let date = try await receiving.receiver.schedule(NotificationMessage.schedule(notification), by: sender)
            let other = LocalNotifications()
            try await other.open(try await receiving.request)
            let listed = try await other.pending()
            #expect(listed.map(\.application) == ["calendar"])
            let content = try #require(listed.first).notification.request.content
            #expect(content.title == "Deploy?" && content.userInfo == [:])
            let listedDate = try #require(listed.first?.dateOfDelivery)
            #expect(abs(listedDate.timeIntervalSince(date)) < 0.001)
            let error = await #expect(throws: NotificationError.self) { _ = try await other.cancel(["q"]) }
            #expect(error?.code == .notAuthorized)
            await other.close()
        }
    }

    @Test("A linked account sends notifications only if the service is granted to it", arguments: [true, false])
    func linked(isGranted: Bool) async throws {
        try await DiscoveryStage.with { stage in
            let services: Set<String> = isGranted ? [RemoteNotificationConnection.service] : ["test.other"]
            stage.link(granting: Grants(), receiving: Grants(services: services))
            let screen = StagedNotificationPresenter()
            let receiver = NotificationReceiver(stage.configuration, presenter: screen) { _ in nil }
            let host = try stage.system("Kitchen", account: .linked, services: [receiver.service])
            let watcher = stage.watcher(filters: [.authorizationKind(.linked)])
            let recorder = stage.record(watcher)
            try await watcher.start()
            try await stage.appears(host)
            let application = try #require(watcher.systems.first?.applications.first)
            let connection = RemoteNotificationConnection(RemoteSystemConnectionRequest(application: application))
            if isGranted {
                try await connection.open()
                #expect(try await connection.deliver(Receiving.question()).status == .shown)
                #expect(screen.shown.first?.systemName != nil)
                // It does not read what is scheduled.
                let reader = LocalNotifications()
                try await reader.open(RemoteSystemConnectionRequest(application: application))
                let error = await #expect(throws: NotificationError.self) { _ = try await reader.pending() }
                #expect(error?.code == .notAuthorized)
                await reader.close()
            } else {
                await #expect(throws: RemoteSystemError.self) { try await connection.open() }
                #expect(screen.history.isEmpty)
            }
            await connection.close()
            _ = recorder
            await watcher.stop()
        }
    }
}

extension NotificationReceiver {
    /// Receives a notification without counting it against the rate.
    fileprivate func add(_ notification: RemoteNotification, ofSystem system: String) throws {
        let sender = NotificationSender(systemID: system, application: "a")
        _ = try self.received.add(notification, from: sender, name: "Server", self.clock.now)
    }
}
