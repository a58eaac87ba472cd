// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserNotifications

/// One notification on several systems of a user.
@Suite struct SharedNotificationTests {
    /// The daemon of a desk, from its start to its end.
    private struct Daemon: Sendable {
        let configuration: RemoteSystemsConfiguration
        let receiver: NotificationReceiver
        let screen: StagedNotificationPresenter
        let running: Task<Void, any Error>
    }

    /// A system of the user with a screen. What its daemon stores survives the daemon.
    private final class Desk: Sendable {
        private let name: String
        private let store = StepStore()
        private let last = Mutex<Daemon?>(nil)
        private let staged = Mutex<StagedSystem?>(nil)

        private init(_ name: String) { self.name = name }

        static func appearing(_ name: String, on stage: DiscoveryStage) async throws -> Desk {
            let desk = Desk(name)
            var application = StagedApplication(RemoteSystemHost.machineApplicationID)
            application.features = { [weak desk] in
                (desk?.start($0, stage)).map { [$0] } ?? []
            }
            let system = try stage.system(name, applications: [application])
            desk.staged.withLock { $0 = system }
            try await stage.appears(system)
            return desk
        }

        private func start(_ configuration: RemoteSystemsConfiguration, _ stage: DiscoveryStage) -> HostFeature {
            let screen = StagedNotificationPresenter()
            let receiver = NotificationReceiver(configuration, presenter: screen, store: self.store) { _ in "Server" }
            let running = Task(executorPreference: stage.clock.taskExecutor) { [store] in
                await receiver.restore(try await store.load())
                try await receiver.run()
            }
            self.last.withLock { last in
                last = Daemon(configuration: configuration, receiver: receiver, screen: screen, running: running)
            }
            return receiver.feature
        }

        var system: StagedSystem { get throws { try #require(self.staged.withLock { $0 }) } }
        var daemon: Daemon { get throws { try #require(self.last.withLock { $0 }) } }
        var titles: [String] { get throws { try self.daemon.screen.shown.map(\.content.title) } }

        func connect(_ stage: DiscoveryStage) async throws -> RemoteNotificationConnection {
            let connection = RemoteNotificationConnection(
                RemoteSystemConnectionRequest(
                    host: try self.system.address,
                    port: try await self.system.port(),
                    systemID: try self.system.id,
                    configuration: stage.configuration
                ),
                systemName: self.name
            )
            try await connection.open()
            return connection
        }

        /// Sends a notification whose sender then goes away.
        @discardableResult
        func receive(_ notification: RemoteNotification, _ stage: DiscoveryStage) async throws -> NotificationDelivery {
            let connection = try await self.connect(stage)
            let delivery = try await connection.deliver(notification)
            await connection.close()
            return delivery
        }

        func choose(_ action: NotificationActionIdentifier) throws {
            let screen = try self.daemon.screen
            screen.choose(action, on: try #require(screen.shown.first).identifier)
        }

        func dismiss() throws {
            let screen = try self.daemon.screen
            screen.end(try #require(screen.shown.first).identifier)
        }

        func leaves(_ stage: DiscoveryStage) async throws {
            try await stage.vanishes(self.system, .crash)
            try self.daemon.running.cancel()
        }

        func returns(_ stage: DiscoveryStage) async throws { try await stage.appears(self.system) }
    }

    private static func question(_ title: String = "Deploy?") -> RemoteNotification {
        RemoteNotification(
            NotificationRequest(
                identifier: "q",
                content: NotificationContent(title: title, categoryIdentifier: "c")
            ),
            category: NotificationCategory(
                identifier: "c",
                actions: [NotificationAction(identifier: "yes", title: "Deploy")]
            )
        )
    }

    private static func with(
        _ names: [String] = ["Kitchen", "Attic", "Office"],
        _ body: (DiscoveryStage, [Desk]) async throws -> Void
    ) async throws {
        try await DiscoveryStage.with { stage in
            var desks: [Desk] = []
            for name in names { desks.append(try await Desk.appearing(name, on: stage)) }
            try await body(stage, desks)
            for desk in desks { try desk.daemon.running.cancel() }
        }
    }

    private static func gone(_ desks: [Desk], _ stage: DiscoveryStage) async throws {
        try await stage.eventually("it is gone everywhere") {
            for desk in desks {
                guard try desk.titles.isEmpty, try await desk.daemon.receiver.list().isEmpty else { return false }
            }
            return true
        }
    }

    @Test(
        "What is answered, dismissed or withdrawn here is gone there, also without its sender (X-40)",
        arguments: 0..<4
    )
    func goneThere(how: Int) async throws {
        try await Self.with { stage, desks in
            let question = Self.question()
            for desk in desks { #expect(try await desk.receive(question, stage).status == .shown) }
            switch how {
            case 0: try desks[1].choose("yes")
            case 1: try desks[1].dismiss()
            case 2:
                let sender = try await desks[1].connect(stage)
                try await sender.withdraw(["q"])
                await sender.close()
            default: try await desks[1].receive(Self.question("Deploy now?"), stage)
            }
            try await Self.gone([desks[0], desks[2]], stage)
            #expect(try desks[1].titles == (how == 3 ? ["Deploy now?"] : []))
            // Only the system on which the user has responded has a response.
            for (number, desk) in desks.enumerated() {
                let connection = try await desk.connect(stage)
                #expect(try await connection.resume().responseCount == (number == 1 && how == 0 ? 1 : 0))
                await connection.close()
            }
        }
    }

    @Test("A system that was away learns from another one what has ended, while the one where it ended is away (X-40)")
    func away() async throws {
        try await Self.with { stage, desks in
            let question = Self.question()
            for desk in desks { try await desk.receive(question, stage) }
            try await desks[2].leaves(stage)
            try desks[0].choose("yes")
            try await Self.gone([desks[0], desks[1]], stage)
            try await desks[0].leaves(stage)
            try await desks[2].returns(stage)
            try await Self.gone([desks[1], desks[2]], stage)
            // Nothing comes back with the first one.
            try await desks[0].returns(stage)
            try await stage.clock.advance(by: .seconds(5))
            try await Self.gone(desks, stage)
        }
    }

    @Test("What has ended is not shown by a system that receives it later (X-40)")
    func later() async throws {
        try await Self.with { stage, desks in
            let (question, other) = (Self.question(), Self.question("Other"))
            // The office knows what ends because it has something to show.
            var first = Self.question("First")
            first.request.identifier = "first"
            try await desks[2].receive(first, stage)
            for desk in desks[..<2] { try await desk.receive(question, stage) }
            try desks[0].dismiss()
            try await Self.gone(Array(desks[..<2]), stage)
            try await stage.eventually("the office has learnt it") {
                try await !desks[2].daemon.receiver.states.all.isEmpty
            }
            let delivery = try await desks[2].receive(question, stage)
            #expect(delivery == NotificationDelivery(.withheld, reason: "It has ended on one of the user's systems."))
            #expect(try await desks[2].receive(other, stage).status == .shown)
            #expect(try desks[2].titles == ["First", "Other"])
        }
    }

    @Test("A notification without a delivery id ends on each system by itself")
    func separate() async throws {
        try await Self.with(["Kitchen", "Attic"]) { stage, desks in
            var question = Self.question()
            question.deliveryID = nil
            for desk in desks { try await desk.receive(question, stage) }
            try desks[0].choose("yes")
            try await Self.gone([desks[0]], stage)
            try await stage.clock.advance(by: .seconds(5))
            #expect(try desks[1].titles == ["Deploy?"])
            #expect(try await desks[1].receive(question, stage).status == .shown)
        }
    }

    @Test("A linked account, and other programs of the user's systems, end nothing")
    func others() async throws {
        try await DiscoveryStage.with { stage in
            stage.link(granting: Grants(), receiving: Grants(topics: [NotificationState.topic]))
            let desk = try await Desk.appearing("Kitchen", on: stage)
            let question = Self.question()
            try await desk.receive(question, stage)
            let key = try #require(await desk.daemon.receiver.list().first?.stateKey)
            for (account, application) in [
                (StagedAccount.linked, RemoteSystemHost.machineApplicationID), (.own, "test.other"),
            ] {
                var forger = StagedApplication(application)
                forger.features = { _ in
                    let topic = ApplicationTopic(NotificationState.topic)
                    let state = NotificationState(status: .activated, date: stage.clock.date)
                    try? topic.put(key.text, state.valueSet)
                    return [HostFeature(topics: [topic])]
                }
                try await stage.appears(
                    try stage.system("Forger \(application)", account: account, applications: [forger])
                )
            }
            let received = Mutex<Set<String>>([])
            let watcher = RemoteSystemWatcher(
                try desk.daemon.configuration,
                filters: [.authorizationKind(.linked)],
                topics: [NotificationState.topic]
            ) { change in
                let forged = change.records.filter { $0.value[key.text] != nil }.keys
                received.withLock { $0.formUnion(forged.map { "\($0) \(change.isSameAccount)" }) }
            }
            try await watcher.start()
            try await stage.eventually("the forged states have arrived") {
                received.withLock { $0 } == ["\(RemoteSystemHost.machineApplicationID) false", "test.other true"]
            }
            try await stage.clock.advance(by: .seconds(5))
            #expect(try desk.titles == ["Deploy?"])
            await watcher.stop()
            try desk.daemon.running.cancel()
        }
    }
}
