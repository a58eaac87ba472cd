// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserNotifications

/// Notifications with which an application updates its content, on the system that receives them.
@Suite struct ContentUpdateTests {
    private typealias Receiving = ReceivingSystem

    private static func update(_ id: String = "u", of application: String? = "calendar") -> RemoteNotification {
        var notification = RemoteNotification(
            NotificationRequest(identifier: id, content: NotificationContent(userInfo: ["day": "monday"]))
        )
        notification.isContentAvailable = true
        notification.targetApplicationID = application
        return notification
    }

    /// Applications that a daemon starts.
    private final class Started: Sendable {
        private let state = Mutex<[String]>([])
        var applications: [String] { self.state.withLock { $0 } }
        func start(_ application: String) { self.state.withLock { $0.append(application) } }
    }

    @Test func `an update for an application that is not installed is withheld, with the reason (N-08)`() async throws {
        try await Receiving.with { receiving in
            let started = Started()
            await receiving.receiver.setWake { application in
                started.start(application)
                return false
            }
            let connection = try await receiving.connect()
            let delivery = try await connection.deliver(Self.update())
            #expect(delivery.status == .withheld && delivery.reason?.contains("'calendar' is not installed") == true)
            // Without a name it concerns the application that sends.
            let own = try await connection.deliver(Self.update(of: nil))
            #expect(own.reason?.contains("'\(receiving.stage.configuration.applicationID)'") == true)
            #expect(started.applications == ["calendar", receiving.stage.configuration.applicationID])
            #expect(receiving.screen.history.isEmpty)
            #expect(await receiving.receiver.list().isEmpty)
            await connection.close()
        }
    }

    @Test func `an application that does not connect ends the wait, and the sender learns it`() async throws {
        try await Receiving.with { receiving in
            await receiving.receiver.setWake { _ in true }
            let connection = try await receiving.connect()
            let delivery = Task { try await connection.deliver(Self.update()) }
            try await receiving.stage.eventually("it waits") { await receiving.receiver.applications.count == 1 }
            try await receiving.stage.advance(by: .seconds(21))
            let reason = try await delivery.value.reason
            #expect(reason?.contains("does not receive updates") == true)
            #expect(await receiving.receiver.updates == 0)
            #expect(await receiving.receiver.applications.isEmpty)
            await connection.close()
        }
    }

    @Test func `updates of one system that wait are limited, and others of it are refused for a moment`() async throws {
        try await Receiving.with { receiving in
            await receiving.receiver.setWake { _ in true }
            let sender = NotificationSender(systemID: "s", application: "a")
            let waiting = (0..<8).map { number in
                Task { try await receiving.receiver.update(Self.update("\(number)"), of: sender) }
            }
            try await receiving.stage.eventually("all wait") { await receiving.receiver.applications.count == 8 }
            let error = await #expect(throws: NotificationError.self) {
                try await receiving.receiver.update(Self.update("9"), of: sender)
            }
            #expect(error?.code == .rateLimited)
            // Another application of that system is no way round.
            await #expect(throws: NotificationError.self) {
                var other = sender
                other.application = "b"
                _ = try await receiving.receiver.update(Self.update("9"), of: other)
            }
            // Another system has its own places.
            let honest = Task {
                let sender = NotificationSender(systemID: "t", application: "a")
                return try await receiving.receiver.update(Self.update("9"), of: sender)
            }
            try await receiving.stage.eventually("it waits, too") { await receiving.receiver.updates == 9 }
            try await receiving.stage.advance(by: .seconds(21))
            for task in waiting + [honest] { #expect(try await task.value.status == .withheld) }
            #expect(await receiving.receiver.updates == 0)
        }
    }

    @Test func `an application that runs receives an update, and the sender waits for it as long as it takes (N-08)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let desk = try await StagedDesk.appearing("Laptop", on: stage)
            let updates = Mutex<[ValueSet]>([])
            let (released, release) = AsyncStream.makeStream(of: Void.self)
            let application = try await Self.connect("calendar", to: desk) { request in
                updates.withLock { $0.append(request.message) }
                for await _ in released { break }
                return [:]
            }
            let sender = try await desk.connect(stage)
            let delivery = Task { try await sender.deliver(Self.update()) }
            try await stage.eventually("the application has it") { updates.withLock { !$0.isEmpty } }
            // Longer than other requests may take.
            try await stage.advance(by: .seconds(31))
            release.finish()
            #expect(try await delivery.value == NotificationDelivery(.handled))
            let message = try #require(updates.withLock { $0.first })
            let update = try ContentUpdate(message)
            #expect(message["Type"] == "update" && update.request == Self.update().request)
            #expect(update.claimedApplicationID == stage.configuration.applicationID)
            #expect(try desk.titles.isEmpty)
            await application.close()
            await sender.close()
            try desk.daemon.running.cancel()
        }
    }

    /// Connects an application of a desk to its daemon, as programs do that receive updates.
    private static func connect(
        _ application: String,
        to desk: StagedDesk,
        onRequest: @escaping AppServiceConnection.RequestHandler
    ) async throws -> AppServiceConnection {
        var configuration = try desk.daemon.configuration
        configuration.applicationID = application
        let connection = AppServiceConnection(to: NotificationMessage.description, onRequest: onRequest)
        let request = RemoteSystemConnectionRequest(
            host: try desk.system.address,
            port: try await desk.system.port(),
            systemID: try desk.system.id,
            configuration: configuration
        )
        #expect(try await connection.open(request) == .success)
        _ = try await connection.send(NotificationMessage.resume([])).get()
        return connection
    }

    /// Runs a body with a desk whose application "calendar" handles each update at once. It connects again when it is
    /// started, but not for the first starts that have no effect.
    private static func withRestarts(
        withoutEffect: Int,
        _ body: (StagedDesk, DiscoveryStage, AppServiceConnection, Started) async throws -> Void
    ) async throws {
        try await DiscoveryStage.with { stage in
            let desk = try await StagedDesk.appearing("Laptop", on: stage)
            let started = Started()
            let again = Mutex<AppServiceConnection?>(nil)
            try await desk.daemon.receiver.setWake { application in
                started.start(application)
                guard started.applications.count > withoutEffect else { return true }
                do {
                    let connection = try await Self.connect(application, to: desk) { _ in [:] }
                    again.withLock { $0 = connection }
                } catch {
                    Issue.record(error)
                }
                return true
            }
            try await body(desk, stage, try await Self.connect("calendar", to: desk) { _ in [:] }, started)
            await again.withLock { $0 }?.close()
            try desk.daemon.running.cancel()
        }
    }

    @Test func `an update goes over no connection that has ended, and starts the application instead`() async throws {
        try await Self.withRestarts(withoutEffect: 0) { desk, stage, application, started in
            let receiver = try desk.daemon.receiver
            let ended = try #require(await receiver.connections.values.first)
            await application.cancel()
            try await stage.eventually("its end is noticed") { await receiver.connections.isEmpty }
            let id = "\(try desk.system.id)"
            await receiver.noticeLater(ended, of: .init(systemID: id, application: "calendar", isLocal: true))
            let sender = try await desk.connect(stage)
            #expect(try await sender.deliver(Self.update()) == NotificationDelivery(.handled))
            #expect(started.applications == ["calendar"])
            await sender.close()
        }
    }

    @Test func `an application that has just crashed and still counts as running is started again`() async throws {
        try await Self.withRestarts(withoutEffect: 1) { desk, stage, application, started in
            let receiver = try desk.daemon.receiver
            await application.cancel()
            try await stage.eventually("its end is noticed") { await receiver.connections.isEmpty }
            let sender = try await desk.connect(stage)
            let delivery = Task { try await sender.deliver(Self.update()) }
            try await stage.eventually("it waits") { started.applications.count == 1 }
            try await stage.advance(by: .milliseconds(10_100))
            #expect(try await delivery.value == NotificationDelivery(.handled))
            #expect(started.applications == ["calendar", "calendar"])
            await sender.close()
        }
    }

    @Test func `a system of a linked account starts no application`() async throws {
        try await Receiving.with { receiving in
            let started = Started()
            await receiving.receiver.setWake { application in
                started.start(application)
                return true
            }
            let sender = NotificationSender(systemID: "s", application: "a", linkedAccountID: "l")
            let delivery = try await receiving.receiver.update(Self.update(), of: sender)
            #expect(delivery.status == .withheld && delivery.reason?.contains("same account") == true)
            #expect(started.applications.isEmpty)
        }
    }

    @Test func `a notification with a text is shown, and updates the application beside it (N-08)`() async throws {
        try await Receiving.with { receiving in
            let started = Started()
            await receiving.receiver.setWake { application in
                started.start(application)
                return false
            }
            let connection = try await receiving.connect()
            var both = Self.update()
            both.request.content.title = "Monday has changed"
            #expect(try await connection.deliver(both).status == .shown)
            try await receiving.stage.eventually("the application is asked for") {
                started.applications == ["calendar"]
            }
            await connection.close()
        }
    }

    @Test func `the centre reports what its handler throws, one that takes too long, and its absence`() async throws {
        try await DiscoveryStage.with { stage in
            func center(_ handler: UserNotificationCenter.UpdateHandler?) -> UserNotificationCenter {
                let keeper = DaemonKeeper(applicationName: "Calendar", owner: NotificationKeeperOwner())
                return UserNotificationCenter(keeper, stage.configuration, nil, handler)
            }
            let update = ContentUpdate(request: Self.update().request, systemID: "s", claimedApplicationID: "a")
            #expect(try ContentUpdate(update.valueSet) == update)
            let days = Mutex<[String?]>([])
            try await center { update in
                days.withLock { $0.append(update.request.content.userInfo["day"]?.string) }
            }.handle(update)
            #expect(days.withLock { $0 } == ["monday"])
            let failing = await #expect(throws: AppServiceFailure.self) {
                try await center { _ in throw AppServiceFailure("There is no such day.") }.handle(update)
            }
            #expect(failing?.message == "There is no such day.")
            let hasBegun = Mutex(false)
            let slow = center { _ in
                hasBegun.withLock { $0 = true }
                // Ends by cancellation.
                try await Task.sleep(for: .seconds(3600))
            }
            let handling = Task { try await slow.handle(update) }
            try await stage.eventually("it runs") { hasBegun.withLock { $0 } }
            try await stage.advance(by: .seconds(31))
            let late = await #expect(throws: AppServiceFailure.self) { try await handling.value }
            #expect(late?.message.contains("within 30 s") == true && late?.canRetry == true)
            let absent = await #expect(throws: AppServiceFailure.self) { try await center(nil).handle(update) }
            #expect(absent?.message == "The application does not update its content.")
        }
    }
}

extension NotificationReceiver {
    /// Puts back a connection that has ended, as in the moment before its end is noticed.
    fileprivate func noticeLater(_ connection: AppServiceConnection, of sender: NotificationSender) {
        let link = ObjectIdentifier(connection)
        self.connections[link] = connection
        self.routing.connected(link, of: sender, receivesAll: true)
    }
}
