// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore
import RemoteSystems
import RemoteSystemsTesting
import RemoteSystemsTransport
import Testing

/// Transports of other targets than the one with the sockets: the stage's own, and one defined in this test.
@Suite struct SecondTransportTests {
    /// Reaches hosts of a stage by the names of sessions, like a relay.
    private struct Relay: Transport {
        static let kind = TransportKind(rawValue: "relay")

        let stage: any Transport
        let sessions: [String: Endpoint]

        var kind: TransportKind { Self.kind }
        var loopbackHost: String? { nil }
        func limited(to reach: NetworkReach) -> (any Transport)? { reach == .machine ? nil : self }
        func isProximal(_ endpoint: Endpoint) -> Bool { false }
        func anyEventLoop() -> any EventLoop { self.stage.anyEventLoop() }

        func connect(
            to endpoint: Endpoint,
            on eventLoop: any EventLoop,
            timeout: TimeAmount,
            initializer: @escaping ChannelInitializer
        ) -> EventLoopFuture<any Channel> {
            guard let target = self.sessions[endpoint.host] else {
                return eventLoop.makeFailedFuture(ChannelError.connectTimeout(timeout))
            }
            return self.stage.connect(to: target, on: eventLoop, timeout: timeout, initializer: initializer)
        }

        func listen(
            host: String?,
            port: Int,
            logger: Logger,
            initializer: @escaping ChannelInitializer
        ) async throws -> BoundPort {
            BoundPort(port: port) {}
        }
    }

    /// Lists the sessions of the account's systems.
    private struct Directory: DiscoverySource {
        let sessions: [String]

        var name: String { "directory" }
        var origin: DiscoveryOrigin { .configured }
        var discoveryType: DiscoveryType { .cloud }

        func browse() -> DiscoveryEvents {
            let (events, feed) = DiscoveryEvents.makeStream()
            for session in self.sessions {
                let endpoint = DiscoveryEndpoint(address: session, port: 0, transport: Relay.kind.rawValue)
                feed.yield(.appeared(DiscoveryHint(id: session, instance: session, endpoints: [endpoint])))
            }
            feed.yield(.settled)
            return events
        }

        func advertise(_ advertisement: DiscoveryAdvertisement) async throws {}
    }

    private static let echo = AppService("test.echo") { $0.message }

    /// A speaker that has appeared, and a configuration that reaches it by its session alone.
    private static func relayed(
        _ stage: DiscoveryStage
    ) async throws -> (speaker: StagedSystem, configuration: RemoteSystemsConfiguration) {
        let speaker = try stage.system("Speaker", services: [Self.echo])
        try await stage.appears(speaker)
        let direct = Endpoint(transport: .memory, host: speaker.address, port: try await speaker.port())
        var configuration = stage.configuration
        let transport = try configuration.environment.network.transport(for: direct)
        configuration.environment.network.register(Relay(stage: transport, sessions: ["7f3a": direct]))
        configuration.discovery.sources = [Directory(sessions: ["7f3a"])]
        return (speaker, configuration)
    }

    @Test func `a system is found and called by a transport that another target registers`() async throws {
        try await DiscoveryStage.with { stage in
            let (speaker, configuration) = try await Self.relayed(stage)
            let watcher = RemoteSystemWatcher(configuration)
            let recorder = stage.record(watcher)
            try await watcher.start()
            let system = try await recorder.added("Speaker")
            #expect(system.id == speaker.id)
            #expect(system.discoveryType == .cloud)
            let application = try #require(system.applications.first)
            let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
            #expect(try await connection.open(RemoteSystemConnectionRequest(application: application)) == .success)
            #expect(try await connection.send(["n": 1]).get() == ["n": 1])
            await connection.close()
            await watcher.stop()
        }
    }

    @Test func `a connection token names its transport, and an error names the missing one`() async throws {
        try await DiscoveryStage.with { stage in
            let (speaker, configuration) = try await Self.relayed(stage)
            let watcher = RemoteSystemWatcher(configuration)
            let recorder = stage.record(watcher)
            try await watcher.start()
            let token = try #require(try await recorder.added("Speaker").applications.first?.connectionToken)
            await watcher.stop()
            for (configuration, isReached) in [(configuration, true), (stage.configuration, false)] {
                let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
                let request = try RemoteSystemConnectionRequest(connectionToken: token, configuration: configuration)
                let status = try await connection.open(request)
                #expect((status == .success) == isReached)
                #expect(connection.openError?.message.contains("'relay'") == (isReached ? nil : true))
                #expect(isReached ? connection.info?.peer.systemID == speaker.id : connection.info == nil)
                await connection.close()
            }
        }
    }

    @Test func `with the network restricted to this machine the relay is not used to find hosts`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            var (_, configuration) = try await Self.relayed(stage)
            configuration.network = .loopback
            let watcher = RemoteSystemWatcher(configuration)
            let recorder = stage.record(watcher)
            try await watcher.start()
            try await stage.advance(by: .seconds(10))
            #expect(watcher.systems.isEmpty)
            await watcher.stop()
            _ = recorder
        }
    }

    @Test func `an address of a stage is no IP address, and connecting by that text works all the same`() async throws {
        try await DiscoveryStage.with { stage in
            let speaker = try stage.system("Speaker", services: [Self.echo])
            try await stage.appears(speaker)
            #expect(throws: (any Error).self) { try SocketAddress(ipAddress: speaker.address, port: 1) }
            let connection = try await stage.connect(to: speaker, service: "test.echo")
            #expect(connection.info?.address == speaker.address)
            #expect(connection.info?.isProximal == true)
            await connection.close()
            let port = try await speaker.port()
            let network = stage.configuration.environment.network
            #expect(network.endpoint(host: speaker.address, port: port).transport == .memory)
            let error = #expect(throws: TransportError.self) {
                _ = try network.transport(for: Endpoint(host: speaker.address, port: port))
            }
            #expect(error?.code == .unreachable)
        }
    }
}
