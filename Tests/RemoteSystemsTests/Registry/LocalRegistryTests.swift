// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import RemoteSystemsTransport
import Synchronization
import Testing

@testable import RemoteSystems

/// Programs that register with the host daemon of their machine, all in this process.
@Suite(.timeLimit(.minutes(2))) struct LocalRegistryTests {
    /// Runs a machine's host daemon while `body` runs.
    func withDaemon(
        _ system: LoopbackSystem,
        isDiscoverable: Bool = true,
        _ body: (RemoteSystemHost) async throws -> Void
    ) async throws {
        var options = RemoteSystemHost.Options()
        options.installedApplications = InstalledApplicationsTests.Installation([]) { _ in }
        options.isDiscoverable = isDiscoverable
        let host = RemoteSystemHost(
            system.configuration(RemoteSystemHost.machineApplicationID),
            services: [],
            options: options
        )
        try await host.whileRunning { try await body(host) }
    }

    func program(
        _ system: LoopbackSystem,
        _ application: String = "test.player",
        attributes: [String: String] = ["room": "attic"]
    ) -> RemoteSystemHost {
        var options = RemoteSystemHost.Options()
        options.attributes = attributes
        return RemoteSystemHost(
            system.configuration(application),
            services: [WatchAndTalkTests.echo],
            options: options
        )
    }

    private func ids(_ watcher: RemoteSystemWatcher) -> [String]? { watcher.systems.first?.applications.map(\.id) }

    @Test
    func `programs are listed through the daemon, over one connection and without advertising themselves (R-19)`()
        async throws
    {
        try await LoopbackSystem.with { system in
            let watcher = system.watcher()
            try await watcher.start()
            try await self.withDaemon(system) { daemon in
                let programs = ["test.one", "test.three", "test.two"].map { self.program(system, $0) }
                try await programs[0].whileRunning {
                    try await programs[1].whileRunning {
                        try await programs[2].whileRunning {
                            try await until {
                                self.ids(watcher) == ["remote-systems.host", "test.one", "test.three", "test.two"]
                            }
                            try await until { system.segment.advertised == 1 }
                            let listed = try #require(watcher.systems.first?.application("test.one"))
                            #expect(listed.isRunning)
                            #expect(listed.attributes == ["room": "attic"])
                            #expect(listed.services.map(\.name) == ["test.echo"])
                            // A program's own browser may just have closed its connection.
                            try await until {
                                daemon.openConnections == 1 && programs.map(\.openConnections) == [0, 0, 0]
                            }
                            try await until { programs.allSatisfy { $0.registration == .registered } }
                            try await listed.withAppService("test.echo") { connection in
                                let response = try await connection.send(["n": 1]).get()
                                #expect(response == ["echo": ["n": 1]])
                                // A slow attempt at another endpoint may have opened a connection that is not needed.
                                try await until { programs[0].openConnections == 1 && daemon.openConnections == 1 }
                            }
                        }
                        try await until { self.ids(watcher) == ["remote-systems.host", "test.one", "test.three"] }
                    }
                }
            }
            await watcher.stop()
        }
    }

    @Test func `a changed attribute of a program is sent as one record, also through the daemon`() async throws {
        try await LoopbackSystem.with { system in
            try await self.withDaemon(system) { daemon in
                let program = self.program(system, attributes: ["room": "attic", "volume": "3"])
                try await program.whileRunning {
                    let context = ApplicationContext(system.configuration("test.watcher"))
                    var connector = try await context.connector()
                    connector.limits.messageBytes = StateLimits.minLimit
                    let connection = try await connector.connect(
                        to: [Endpoint(host: "127.0.0.1", port: try await daemon.port)],
                        expecting: nil,
                        hello: context.hello(
                            service: Presence.service,
                            targetApplication: nil,
                            limits: connector.limits
                        )
                    ) { _, _ in Response() }
                    let subscriber = StateSubscriber(PresenceTopic.schema)
                    var isRegistered = false
                    _ = try? await subscriber.follow(over: connection) { change in
                        if isRegistered {
                            #expect(change.put.count == 1)
                            #expect(change.put.first?.key.text.hasSuffix("/attribute/volume") == true)
                            #expect(change.put.first?.value == ["Value": "4"])
                            #expect(change.drop.isEmpty)
                            connection.abort()
                        } else if SystemDescription(subscriber.records)?.programs.isEmpty == false {
                            isRegistered = true
                            try await program.update(attributes: ["room": "attic", "volume": "4"])
                        }
                    }
                    #expect(isRegistered)
                }
            }
        }
    }

    @Test func `a program stays listed when the daemon ends and when the next one starts`() async throws {
        try await LoopbackSystem.with { system in
            let watcher = system.watcher()
            let recorder = EventRecorder(watcher)
            try await watcher.start()
            let program = self.program(system)
            try await program.whileRunning {
                // Without a daemon, it advertises itself.
                try await until { self.ids(watcher) == ["test.player"] }
                for _ in 0..<2 {
                    try await self.withDaemon(system) { _ in
                        try await until { self.ids(watcher) == ["remote-systems.host", "test.player"] }
                        try await until { system.segment.advertised == 1 && program.openConnections == 0 }
                    }
                    try await until { self.ids(watcher) == ["test.player"] }
                    try await until { system.segment.advertised == 1 && program.openConnections == 1 }
                }
            }
            for event in recorder.events {
                switch event {
                case .updated(let system): #expect(system.application("test.player") != nil)
                case .removed: break
                default: break
                }
            }
            // It was removed once: at its own end.
            _ = try await recorder.removed()
            #expect(recorder.events.count { if case .removed = $0 { true } else { false } } == 1)
            await watcher.stop()
        }
    }

    @Test func `a program advertises itself while its daemon does not`() async throws {
        try await LoopbackSystem.with { system in
            try await self.withDaemon(system, isDiscoverable: false) { daemon in
                let program = self.program(system)
                try await program.whileRunning {
                    try await until { system.segment.advertised == 1 }
                    daemon.update(isDiscoverable: true)
                    try await until { system.segment.advertised == 1 && program.openConnections == 0 }
                    let watcher = system.watcher()
                    try await watcher.start()
                    try await until { self.ids(watcher) == ["remote-systems.host", "test.player"] }
                    await watcher.stop()
                    daemon.update(isDiscoverable: false)
                    let alone = system.watcher()
                    try await alone.start()
                    try await until { self.ids(alone) == ["test.player"] }
                    await alone.stop()
                }
            }
        }
    }

    @Test func `a program that serves anyone nearby registers, and keeps advertising itself`() async throws {
        try await LoopbackSystem.with { system in
            try await self.withDaemon(system) { _ in
                var options = RemoteSystemHost.Options()
                options.allowsAnyoneNearby = true
                let program = RemoteSystemHost(
                    system.configuration("test.open"),
                    services: [WatchAndTalkTests.echo],
                    options: options
                )
                try await program.whileRunning {
                    try await until { system.segment.advertised == 2 }
                    let watcher = system.watcher()
                    try await watcher.start()
                    try await until { self.ids(watcher) == ["remote-systems.host", "test.open"] }
                    await watcher.stop()
                }
            }
        }
    }

    @Test func `a program advertises itself while its daemon hangs, and no longer when the daemon responds again`()
        async throws
    {
        try await LoopbackSystem.with { system in
            // A daemon whose responses the test holds back.
            let responds = ObservableValue(true)
            let requests = Mutex(0)
            let context = ApplicationContext(system.configuration(RemoteSystemHost.machineApplicationID))
            let place = RegistryPlace(RunningApplications(stateDirectory: system.directory))
            let security = try context.security()
            try place.makeDirectory()
            let listener = try await Listener.start(
                host: nil,
                port: 0,
                security: security,
                limits: context.limits,
                logger: context.logger,
                network: place.network(RuntimeEnvironment())
            ) { _, _ in
                .accept(
                    EstablishedConnection(
                        acceptance: Acceptance(application: "test.daemon", limits: context.limits.peerLimits),
                        limits: context.limits,
                        handler: { _, _ in
                            requests.withLock { $0 += 1 }
                            await responds.becomes { $0 }
                            return Response(message: [Registry.represented: true, Registry.advertised: ["abc"]])
                        },
                        opened: { _ in }
                    )
                )
            }
            let program = self.program(system)
            try await program.whileRunning {
                try await until { program.advertised.all == ["abc"] && system.segment.advertised == 0 }
                let before = requests.withLock { $0 }
                // The program checks the daemon; a daemon that responds changes nothing.
                try await until { requests.withLock { $0 } > before }
                #expect(system.segment.advertised == 0)
                responds.change { $0 = false }
                try await until { system.segment.advertised == 1 && !program.advertised.all.contains("abc") }
                responds.change { $0 = true }
                try await until { system.segment.advertised == 0 && program.advertised.all == ["abc"] }
            }
            await listener.stop()
        }
    }

    @Test func `a program that cannot use the path registers at the socket that its locator opens`() async throws {
        struct Locator: HostDaemonLocator {
            let place: RegistryPlace
            let requests = ObservableValue<[Bool]>([])

            func openSocket(of system: SystemID, startsDaemon: Bool) async throws -> Int32 {
                self.requests.change { $0.append(startsDaemon) }
                guard let socket = self.place.open() else { throw CancellationError() }
                return socket
            }
        }
        try await LoopbackSystem.with { system in
            let place = RegistryPlace(RunningApplications(stateDirectory: system.directory))
            let locator = Locator(place: place)
            let isOver = ObservableValue(false)
            // A program whose state directory has no socket, beside a daemon that it cannot find by a path.
            let client = RegistryClient(
                place: RegistryPlace(RunningApplications(stateDirectory: system.directory + "/none")),
                context: ApplicationContext(system.configuration("test.player")),
                publish: { connection in
                    let publisher = StatePublisher()
                    guard let topic = try? publisher.open(PresenceTopic.schema, for: .sameAccount) else { return }
                    let description = SystemBrowserStateMachineTests.description(application: "test.player")
                    try? topic.replace(by: description.records.records)
                    connection.publish(publisher)
                    Task {
                        await isOver.becomes { $0 }
                        withExtendedLifetime(topic) {}
                    }
                },
                advertising: ObservableValue(RemoteSystemHost.Advertising(isWanted: true, port: 4711)),
                locator: locator,
                current: RegistryConnection()
            ) { _ in }
            let running = Task { try await client.run() }
            await locator.requests.becomes { $0.count >= 2 }
            // Only the first request may start the daemon.
            #expect(locator.requests.value.prefix(2) == [true, false])
            let lock = try ApplicationLocks(running: RunningApplications(stateDirectory: system.directory))
                .claim("test.player", isShared: false)
            try await self.withDaemon(system) { daemon in
                let registered = try #require(daemon.core.referral?.running.registered)
                try await until { registered.processes.map(\.port) == [4711] }
                // The kernel reported the process that connected.
                #expect(registered.processes.map(\.pid) == [getpid()])
            }
            running.cancel()
            _ = await running.result
            isOver.change { $0 = true }
            withExtendedLifetime(lock) {}
        }
    }

    @Test func `a diagnosis at a program's own port sees the advertisement of the daemon`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            let system = LoopbackSystem(directory: "\(machines.directory)/first", segment: machines.segment)
            try await self.withDaemon(system) { _ in
                let program = self.program(system)
                try await program.whileRunning {
                    try await until { system.segment.advertised == 1 && !program.advertised.all.isEmpty }
                    let configuration = machines.configuration("second", application: "test.doctor")
                    let request = RemoteSystemConnectionRequest(
                        host: "127.0.0.1",
                        port: try await program.port,
                        configuration: configuration
                    )
                    let findings = await RemoteSystemsDiagnosis(configuration).run(with: request)
                    let multicast = try #require(findings.first { $0.code == .peerMulticast })
                    #expect(multicast.status == .ok, "\(findings)")
                }
            }
        }
    }

    @Test func `a restarted daemon names the programs that listen, until they had time to register`() async throws {
        try await LoopbackSystem.with { system in
            let locks = ApplicationLocks(running: RunningApplications(stateDirectory: system.directory))
            _ = try RemoteSystemsAccount(system.configuration("test.player")).identity()
            // A program that hangs: it listens, and does not register.
            let lock = try locks.claim("test.player", isShared: false)
            lock.listens(at: 4711, isOnLoopback: true)
            try await self.withDaemon(system) { daemon in
                let registered = try #require(daemon.core.referral?.running.registered)
                #expect(registered.processes.map(\.port) == [4711])
                try await until { registered.processes.isEmpty }
            }
            withExtendedLifetime(lock) {}
        }
    }

    // MARK: Two systems of an account

    @Test func `a watcher on another machine holds one connection to a machine, whose socket it may not use`()
        async throws
    {
        try await TwoMachines.with { machines in
            try await machines.join()
            let system = LoopbackSystem(directory: "\(machines.directory)/first", segment: machines.segment)
            let watcher = RemoteSystemWatcher(machines.configuration("second", application: "test.watcher"))
            try await watcher.start()
            try await self.withDaemon(system) { daemon in
                let programs = ["test.one", "test.three", "test.two"].map { self.program(system, $0) }
                try await programs[0].whileRunning {
                    try await programs[1].whileRunning {
                        try await programs[2].whileRunning {
                            try await until {
                                self.ids(watcher) == ["remote-systems.host", "test.one", "test.three", "test.two"]
                            }
                            try await until {
                                daemon.openConnections == 1 && programs.allSatisfy { $0.openConnections == 0 }
                            }
                            let listed = try #require(watcher.systems.first?.application("test.two"))
                            let response = try await listed.withAppService("test.echo") {
                                try await $0.send(["n": 1]).get()
                            }
                            #expect(response == ["echo": ["n": 1]])
                        }
                    }
                }
                let error = await #expect(throws: TransportError.self) {
                    _ = try await self.connect(machines.configuration("second"), at: system)
                }
                #expect(error?.openStatus == .notAuthorized)
            }
            await watcher.stop()
        }
    }
}
