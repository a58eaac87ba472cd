// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserNotifications

/// A system of the user with a screen. What its daemon stores survives the daemon.
final class StagedDesk: Sendable {
    /// The daemon, from its start to its end.
    struct Daemon: Sendable {
        let configuration: RemoteSystemsConfiguration
        let receiver: NotificationReceiver
        let screen: StagedNotificationPresenter
        let running: Task<Void, any Error>
    }

    private let name: String
    /// The time since the user has used the system; `nil` if it is not known.
    private let idleTime: Mutex<Duration?>
    /// Runs before each measurement of the idle time.
    let beforeMeasuring = Mutex<(@Sendable () async -> Void)?>(nil)
    private let measurements = Mutex(0)
    private let store = StepStore()
    private let last = Mutex<Daemon?>(nil)
    private let staged = Mutex<StagedSystem?>(nil)

    private init(_ name: String, _ idleTime: Duration?) {
        self.name = name
        self.idleTime = Mutex(idleTime)
    }

    static func appearing(
        _ name: String,
        account: StagedAccount = .own,
        idleFor idleTime: Duration? = nil,
        on stage: DiscoveryStage
    ) async throws -> StagedDesk {
        let desk = StagedDesk(name, idleTime)
        var application = StagedApplication(RemoteSystemHost.machineApplicationID)
        application.features = { [weak desk] in
            (desk?.start($0, stage)).map { [$0] } ?? []
        }
        let system = try stage.system(name, account: account, applications: [application])
        desk.staged.withLock { $0 = system }
        try await stage.appears(system)
        return desk
    }

    private func start(_ configuration: RemoteSystemsConfiguration, _ stage: DiscoveryStage) -> HostFeature {
        let screen = StagedNotificationPresenter()
        let receiver = NotificationReceiver(
            configuration,
            presenter: screen,
            store: self.store,
            idleTime: { [weak self] in await self?.measure() }
        ) { _ in "Server" }
        let running = Task(executorPreference: stage.clock.taskExecutor) { [store] in
            await receiver.restore(try await store.load())
            try await receiver.run()
        }
        self.last.withLock { last in
            last = Daemon(configuration: configuration, receiver: receiver, screen: screen, running: running)
        }
        return receiver.feature
    }

    private func measure() async -> Duration? {
        self.measurements.withLock { $0 += 1 }
        if let wait = self.beforeMeasuring.withLock({ $0 }) { await wait() }
        return self.idleTime.withLock { $0 }
    }

    /// The number of measurements of its idle time.
    var measurementCount: Int { self.measurements.withLock { $0 } }

    var system: StagedSystem { get throws { try #require(self.staged.withLock { $0 }) } }
    var daemon: Daemon { get throws { try #require(self.last.withLock { $0 }) } }
    /// Whether the last notification on the screen makes no sound.
    var isSilenced: Bool? { get throws { try self.daemon.screen.shown.last?.isSilenced } }
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

    /// Whether the store has a record of a kind.
    func hasStored(_ kind: String) -> Bool {
        self.store.steps.last?.keys.contains { $0.hasPrefix("\(kind) ") } ?? false
    }

    func failStore(_ failure: NotificationError?) { self.store.fail(failure) }

    func leaves(_ stage: DiscoveryStage) async throws {
        try await stage.vanishes(self.system, .crash)
        try self.daemon.running.cancel()
    }

    func returns(_ stage: DiscoveryStage) async throws { try await stage.appears(self.system) }
}
