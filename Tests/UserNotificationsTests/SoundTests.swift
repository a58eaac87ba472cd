// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserNotifications

/// Which of the user's systems make the sound of a notification that all of them show.
@Suite struct SoundTests {
    private static func notification(_ change: (inout RemoteNotification) -> Void = { _ in }) -> RemoteNotification {
        var notification = RemoteNotification(
            NotificationRequest(identifier: "n", content: NotificationContent(title: "Tea", sound: .standard))
        )
        notification.isShared = true
        change(&notification)
        return notification
    }

    /// Runs `body` with desks that know each other.
    private static func with(
        _ idleTimes: [Duration?],
        _ body: (DiscoveryStage, [StagedDesk]) async throws -> Void
    ) async throws {
        try await DiscoveryStage.with { stage in
            var desks: [StagedDesk] = []
            for (number, idleTime) in idleTimes.enumerated() {
                desks.append(try await .appearing("Desk \(number)", idleFor: idleTime, on: stage))
            }
            try await stage.eventually("they know each other") {
                for desk in desks {
                    guard try await desk.daemon.receiver.otherSystems.count == desks.count - 1 else { return false }
                }
                return true
            }
            try await body(stage, desks)
            for desk in desks { try desk.daemon.running.cancel() }
        }
    }

    /// Sends the notification to all desks at the same time.
    ///
    /// - Returns: the numbers of those that make the sound.
    private static func heard(
        _ notification: RemoteNotification,
        _ stage: DiscoveryStage,
        _ desks: [StagedDesk]
    ) async throws -> [Int] {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for desk in desks {
                group.addTask {
                    let delivery = try await desk.receive(notification, stage)
                    #expect(delivery.status == .shown)
                }
            }
            try await group.waitForAll()
        }
        return try desks.indices.filter { try desks[$0].isSilenced == false }
    }

    @Test(
        arguments: [
            ([.seconds(60), .seconds(5), .seconds(600)], [1]),
            // Used at nearly the same time.
            ([.seconds(1), .seconds(2), .seconds(600)], [0, 1]),
            ([.seconds(5), .seconds(6), .seconds(600)], [0, 1]),
            // Not used within two minutes.
            ([.seconds(130), .seconds(600), .seconds(9000)], [0, 1, 2]),
            // One does not know.
            ([.seconds(60), nil, .seconds(5)], [1, 2]), ([nil, nil, nil], [0, 1, 2]),
        ] as [([Duration?], [Int])]
    )
    func `only the system that was used last makes the sound, all if there is none (X-40)`(
        idleTimes: [Duration?],
        heard: [Int]
    ) async throws {
        try await Self.with(idleTimes) { stage, desks in
            let loud = try await Self.heard(Self.notification(), stage, desks)
            #expect(loud == heard)
        }
    }

    @Test(arguments: 0..<3)
    func `what is critical, sent to one system, or has no id is heard wherever it is shown (X-40)`(kind: Int)
        async throws
    {
        try await Self.with([.seconds(60), .seconds(5)]) { stage, desks in
            let notification = Self.notification {
                switch kind {
                case 0: $0.request.content.interruptionLevel = .critical
                case 1: $0.isShared = false
                default: $0.deliveryID = nil
                }
            }
            let loud = try await Self.heard(notification, stage, desks)
            #expect(loud == [0, 1])
        }
    }

    @Test func `a system on which the user has denied or silenced the sender does not take the sound from others`()
        async throws
    {
        for permission in [NotificationPermission.denied, .silent] {
            try await Self.with([.seconds(60), .seconds(5)]) { stage, desks in
                let subject = NotificationPermissions.Subject(application: stage.configuration.applicationID)
                try await desks[1].daemon.receiver.set(permission, for: subject)
                let notification = Self.notification()
                async let silenced = try? desks[1].receive(notification, stage)
                async let delivery = desks[0].receive(notification, stage)
                if permission == .denied {
                    try await stage.eventually("the question waits") {
                        try await !desks[1].daemon.receiver.arrivals.isEmpty
                    }
                    try await stage.clock.advance(by: .milliseconds(100))
                }
                _ = await silenced
                let status = try await delivery.status
                #expect(status == .shown)
                let isSilenced = try desks[0].isSilenced
                #expect(isSilenced == false)
            }
        }
    }

    @Test func `the system in use is asked before it has received the notification, and waits for it`() async throws {
        try await Self.with([.seconds(60), .seconds(5)]) { stage, desks in
            let notification = Self.notification()
            async let first = desks[0].receive(notification, stage)
            try await stage.eventually("the question waits") {
                try await !desks[1].daemon.receiver.arrivals.isEmpty
            }
            try await desks[1].receive(notification, stage)
            let status = try await first.status
            #expect(status == .shown)
            #expect(try desks[0].isSilenced == true)
            #expect(try desks[1].isSilenced == false)
        }
    }

    @Test func `a system in use that does not receive it takes no sound from others, and delays them by 100 ms`()
        async throws
    {
        try await Self.with([.seconds(60), .seconds(5)]) { stage, desks in
            async let first = desks[0].receive(Self.notification(), stage)
            try await stage.eventually("the question waits") {
                try await !desks[1].daemon.receiver.arrivals.isEmpty
            }
            try await stage.clock.advance(by: .milliseconds(100))
            let status = try await first.status
            #expect(status == .shown)
            let isSilenced = try desks[0].isSilenced
            #expect(isSilenced == false)
            let waiting = try await desks[1].daemon.receiver.arrivals.count
            #expect(waiting == 0)
        }
    }

    @Test func `a system that has become silent delays a notification by 150 ms`() async throws {
        try await Self.with([.seconds(60), .seconds(5)]) { stage, desks in
            try desks[1].system.link.drop()
            async let first = desks[0].receive(Self.notification(), stage)
            try await stage.eventually("it has arrived") {
                try await !desks[0].daemon.receiver.list().isEmpty
            }
            try await stage.clock.advance(by: .milliseconds(150))
            let status = try await first.status
            #expect(status == .shown)
            let isSilenced = try desks[0].isSilenced
            #expect(isSilenced == false)
        }
    }

    @Test func `no system is asked about the notification of a linked account, which is heard`() async throws {
        try await DiscoveryStage.with { stage in
            stage.link(granting: Grants(), receiving: Grants(services: [RemoteNotificationConnection.service]))
            // The account of the code under test is the linked one of these.
            var desks: [StagedDesk] = []
            for (name, idleTime) in [("Kitchen", Duration.seconds(60)), ("Attic", Duration.seconds(5))] {
                desks.append(try await .appearing(name, account: .linked, idleFor: idleTime, on: stage))
            }
            let kitchen = try desks[0].daemon
            try await stage.eventually("the kitchen knows the attic") {
                await kitchen.receiver.otherSystems.count == 1
            }
            let watcher = stage.watcher(filters: [.authorizationKind(.linked)])
            try await watcher.start()
            let id = try desks[0].system.id
            try await stage.eventually("the kitchen is listed") {
                watcher.systems.first { $0.id == id }?.applications.isEmpty == false
            }
            let application = try #require(watcher.systems.first { $0.id == id }?.applications.first)
            let connection = RemoteNotificationConnection(RemoteSystemConnectionRequest(application: application))
            try await connection.open()
            let delivery = Task { try await connection.deliver(Self.notification()) }
            // A question would wait for the notification.
            try await stage.eventually("it is shown") { kitchen.screen.shown.count == 1 }
            #expect(try await delivery.value.status == .shown)
            #expect(kitchen.screen.shown.first?.isSilenced == false)
            #expect(try await desks[1].daemon.receiver.arrivals.isEmpty)
            await connection.close()
            await watcher.stop()
            for desk in desks { try desk.daemon.running.cancel() }
        }
    }

    @Test func `of many notifications at once others are asked about four at a time, and none is delayed by more`()
        async throws
    {
        try await Self.with([.seconds(60), .seconds(5)]) { stage, desks in
            // The other one does not receive them, so each question waits there.
            let (asking, asked) = (try desks[0].daemon, try desks[1].daemon)
            let deliveries = (0..<6).map { number in
                Task {
                    let notification = Self.notification { $0.request.identifier = "\(number)" }
                    return try await desks[0].receive(notification, stage)
                }
            }
            try await stage.eventually("all have arrived, and four questions wait") {
                let (arrived, waiting) = (await asking.receiver.list().count, await asked.receiver.arrivals.count)
                return arrived == deliveries.count && waiting >= Turns<String, Never>.maxRunning
            }
            try await stage.settle()
            #expect(await asked.receiver.arrivals.count == Turns<String, Never>.maxRunning)
            try await stage.clock.advance(by: .milliseconds(100))
            try await stage.eventually("the others are asked about") { await asked.receiver.arrivals.count == 2 }
            try await stage.clock.advance(by: .milliseconds(50))
            try await stage.eventually("all are shown") { asking.screen.shown.count == deliveries.count }
            for delivery in deliveries {
                let status = try await delivery.value.status
                #expect(status == .shown)
            }
            #expect(asking.screen.shown.allSatisfy { !$0.isSilenced })
        }
    }

    @Test func `only the daemons of the user's systems learn since when a system was not used`() async throws {
        try await Self.with([.seconds(60)]) { stage, desks in
            let notification = Self.notification()
            try await desks[0].receive(notification, stage)
            let key = try #require(await desks[0].daemon.receiver.list().first?.stateKey)
            let connection = AppServiceConnection(to: NotificationMessage.description)
            let request = RemoteSystemConnectionRequest(
                host: try desks[0].system.address,
                port: try await desks[0].system.port(),
                systemID: try desks[0].system.id,
                configuration: stage.configuration
            )
            #expect(try await connection.open(request) == .success)
            let error = await #expect(throws: RemoteSystemError.self) {
                _ = try await connection.send(NotificationMessage.use(key)).get()
            }
            #expect(error?.failureCode == NotificationMessage.failureCode(.notAuthorized))
            await connection.close()
        }
    }

    /// The times in responses to questions, in the order of the responses.
    private final class IdleTimes: Sendable {
        private let times = Mutex<[Int?]>([])

        var all: [Int?] { self.times.withLock { $0 } }

        func append(_ time: Int?) { self.times.withLock { $0.append(time) } }
    }

    /// Runs `body` with a connection of the first desk's daemon to the second one, which shows the notification with
    /// this key.
    private static func withQuestions(
        _ body: (DiscoveryStage, StagedDesk, AppServiceConnection, NotificationState.Key) async throws -> Void
    ) async throws {
        try await Self.with([.seconds(60), .seconds(5)]) { stage, desks in
            async let delivery = desks[1].receive(Self.notification(), stage)
            try await stage.eventually("the question waits") {
                try await !desks[0].daemon.receiver.arrivals.isEmpty
            }
            try await stage.clock.advance(by: .milliseconds(100))
            _ = try await delivery
            let key = try #require(await desks[1].daemon.receiver.list().first?.stateKey)
            let connection = AppServiceConnection(to: NotificationMessage.description)
            let request = RemoteSystemConnectionRequest(
                host: try desks[1].system.address,
                port: try await desks[1].system.port(),
                systemID: try desks[1].system.id,
                configuration: try desks[0].daemon.configuration
            )
            #expect(try await connection.open(request) == .success)
            try await body(stage, desks[1], connection, key)
            await connection.close()
        }
    }

    @Test func `a system that asks without a pause causes one measurement in half a second`() async throws {
        try await Self.withQuestions { stage, desk, connection, key in
            try await stage.clock.advance(by: SharedIdleTime.age)
            for _ in 1...2 {
                let before = desk.measurementCount
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<100 {
                        group.addTask { _ = try await connection.send(NotificationMessage.use(key)).get() }
                    }
                    try await group.waitForAll()
                }
                #expect(desk.measurementCount == before + 1)
                try await stage.clock.advance(by: SharedIdleTime.age)
            }
        }
    }

    @Test func `few questions of one system wait for a measurement, and further ones get no time`() async throws {
        try await Self.withQuestions { stage, desk, connection, key in
            try await stage.clock.advance(by: SharedIdleTime.age)
            let (measured, end) = AsyncStream.makeStream(of: Void.self)
            desk.beforeMeasuring.withLock { $0 = { for await _ in measured {} } }
            let idleTimes = IdleTimes()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        let response = try await connection.send(NotificationMessage.use(key)).get()
                        idleTimes.append(response["Idle"]?.int)
                    }
                }
                try await stage.eventually("the responses to all others") { idleTimes.all.count == 92 }
                end.finish()
                try await group.waitForAll()
            }
            let expected = [Int?](repeating: nil, count: 92) + [Int?](repeating: 5000, count: 8)
            #expect(idleTimes.all == expected)
        }
    }

    @Test func `two systems never leave the sound to each other, even if they read their times at other moments`() {
        let times = (0..<130).map { Duration.seconds($0) } + [.seconds(9000)]
        for first in times {
            for second in times {
                // What a system says of itself may be older or newer by less than a second than what it decides with.
                for skew in [Duration.milliseconds(-990), .zero, .milliseconds(990)] {
                    let (later, other) = (SoundChoice(own: first), SoundChoice(own: second + skew))
                    #expect(!(later.leavesSound(to: second) && other.leavesSound(to: first + skew)))
                }
            }
        }
    }
}
