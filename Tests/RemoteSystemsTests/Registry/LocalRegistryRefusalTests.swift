// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// What the host daemon does not register.
extension LocalRegistryTests {
    /// Connects to the daemon's socket as an application.
    func connect(
        _ configuration: RemoteSystemsConfiguration,
        at system: LoopbackSystem,
        service: String = Registry.service,
        publishing publisher: StatePublisher? = nil
    ) async throws -> Connection {
        let context = ApplicationContext(configuration)
        var connector = try await context.connector()
        connector.limits.messageBytes = StateLimits.minLimit
        connector.network = RegistryPlace(RunningApplications(stateDirectory: system.directory))
            .network(RuntimeEnvironment())
        connector.opened = { connection in
            guard let publisher, let connection = connection as? Connection else { return }
            connection.publish(publisher)
        }
        return try await connector.connect(
            to: [LocalTransport.endpoint],
            expecting: nil,
            hello: context.hello(service: service, targetApplication: nil, limits: connector.limits)
        ) { _, _ in Response() }
    }

    /// Connects to the daemon's socket, publishes an application's description, and registers it while `body` runs.
    private func whileRegistered(
        _ application: String,
        attributes: [String: String] = [:],
        network: String = "loopback",
        at system: LoopbackSystem,
        _ body: (Response) async throws -> Void
    ) async throws {
        let publisher = StatePublisher()
        let topic = try publisher.open(PresenceTopic.schema, for: .sameAccount)
        var description = SystemBrowserStateMachineTests.description(application: application)
        description.application.attributes = attributes
        try topic.replace(by: description.records.records)
        let connection = try await self.connect(system.configuration(application), at: system, publishing: publisher)
        defer { connection.abort() }
        let registration = Registry.Registration(port: 4711, isOnLoopback: true, epoch: 7, network: network)
        try await body(try await connection.send(registration.message, timeout: .seconds(20)))
        withExtendedLifetime(topic) {}
    }

    @Test func `a program that does not hold the lock of its id is not registered`() async throws {
        try await LoopbackSystem.with { system in
            try await self.withDaemon(system) { daemon in
                await #expect(throws: TransportError.self) {
                    try await self.whileRegistered("test.impostor", at: system) { _ in }
                }
                #expect(daemon.core.referral?.running.registered?.processes.isEmpty == true)
            }
        }
    }

    @Test func `the daemon's own id cannot be registered`() async throws {
        try await LoopbackSystem.with { system in
            try await self.withDaemon(system) { _ in
                let error = await #expect(throws: TransportError.self) {
                    _ = try await self.connect(
                        system.configuration(RemoteSystemHost.machineApplicationID),
                        at: system
                    )
                }
                #expect(error?.openStatus == .notAuthorized)
            }
        }
    }

    @Test(arguments: [("loopback", true), ("all", false)])
    func `only a program on the daemon's network is represented by its advertisement`(
        network: String,
        isRepresented: Bool
    ) async throws {
        try await LoopbackSystem.with { system in
            try await self.withDaemon(system) { daemon in
                try await until { !daemon.advertised.all.isEmpty }
                let lock = try ApplicationLocks(running: RunningApplications(stateDirectory: system.directory))
                    .claim("test.player", isShared: false)
                try await self.whileRegistered("test.player", network: network, at: system) { response in
                    #expect(response.message[Registry.represented]?.bool == isRepresented)
                    let names = Set(response.message[Registry.advertised]?.array?.compactMap(\.string) ?? [])
                    #expect(names == (isRepresented ? daemon.advertised.all : []))
                }
                withExtendedLifetime(lock) {}
            }
        }
    }

    @Test(arguments: [(10, true), (10_000, false)])
    func `the descriptions of all programs together are bounded`(bytes: Int, isRegistered: Bool) async throws {
        try await LoopbackSystem.with { system in
            let running = RunningApplications(stateDirectory: system.directory)
            let programs = ProgramRegistry()
            let context = ApplicationContext(system.configuration(RemoteSystemHost.machineApplicationID))
            let listener = RegistryListener(
                programs,
                running: running,
                context: context,
                topics: HostTopics([], of: "test", logger: context.logger),
                advertised: AdvertisedInstances(),
                budget: StateBudget(total: 8000, perHolder: 8000),
                isAdvertised: { true },
                publish: {}
            )
            await listener.start(at: RegistryPlace(running))
            let lock = try ApplicationLocks(running: running).claim("test.player", isShared: false)
            let attributes = Dictionary(
                uniqueKeysWithValues: (0..<10).map { ("\($0)", String(repeating: "x", count: bytes / 10)) }
            )
            do {
                try await self.whileRegistered("test.player", attributes: attributes, at: system) { response in
                    #expect(response.status == .success)
                    // A program that is too large may be registered for a moment.
                    if !isRegistered { try await until { programs.processes.isEmpty } }
                    #expect(programs.processes.isEmpty != isRegistered)
                }
            } catch {
                #expect(!isRegistered, "\(error)")
            }
            await listener.stop()
            withExtendedLifetime(lock) {}
        }
    }

    @Test func `a program that describes another application is not registered`() async throws {
        try await LoopbackSystem.with { system in
            try await self.withDaemon(system) { daemon in
                let locks = ApplicationLocks(running: RunningApplications(stateDirectory: system.directory))
                let lock = try locks.claim("test.impostor", isShared: false)
                let connection = try await self.connect(system.configuration("test.impostor"), at: system)
                let publisher = StatePublisher()
                let topic = try publisher.open(PresenceTopic.schema, for: .sameAccount)
                let description = SystemBrowserStateMachineTests.description(application: "test.other")
                try topic.replace(by: description.records.records)
                connection.publish(publisher)
                _ = await connection.waitUntilClosed()
                #expect(daemon.core.referral?.running.registered?.processes.isEmpty == true)
                withExtendedLifetime((lock, topic)) {}
            }
        }
    }

    @Test func `the socket serves registrations of this system only, and nothing else`() async throws {
        try await LoopbackSystem.with { system in
            try await self.withDaemon(system) { _ in
                for service in [Presence.service, AppService.pingName] {
                    let error = await #expect(throws: TransportError.self) {
                        _ = try await self.connect(system.configuration("test.caller"), at: system, service: service)
                    }
                    #expect(error?.code == .refused)
                }
                try await LoopbackSystem.with { other in
                    await #expect(throws: TransportError.self) {
                        _ = try await self.connect(other.configuration("test.caller"), at: system)
                    }
                }
            }
        }
    }
}
