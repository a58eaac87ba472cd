// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import RemoteSystems
import RemoteSystemsDiscovery
import RemoteSystemsTesting
import Testing

/// How a system was found, and whether the link to it is proximal.
@Suite struct NearAndFarTests {
    static let echo = AppService("test.echo") { $0.message }

    /// A system of the stage with an address of a neighbour or of the Internet.
    private static func speaker(on stage: DiscoveryStage, isNearby: Bool) async throws -> StagedSystem {
        let speaker = try stage.system(
            "Speaker",
            applications: [StagedApplication("test.player", services: [Self.echo])],
            isNearby: isNearby
        )
        try await stage.appears(speaker)
        return speaker
    }

    @Test(arguments: [(true, RemoteSystemDiscoveryType.proximal, 1), (false, .cloud, 2)])
    func `a system found by its address is of type cloud unless only neighbours have the address (X-30)`(
        isNearby: Bool,
        type: RemoteSystemDiscoveryType,
        number: Int
    ) async throws {
        try await DiscoveryStage.with { stage in
            let speaker = try await Self.speaker(on: stage, isNearby: isNearby)
            let system = try await RemoteSystem.find(
                host: speaker.address,
                port: try await speaker.port(),
                configuration: stage.configuration
            )
            #expect(system.id == speaker.id)
            #expect(system.discoveryType == type)
            #expect(system.discoveryType.rawValue == number)
            #expect(system.isAvailableByProximity == isNearby)
        }
    }

    @Test(arguments: [true, false])
    func `a connection reports whether its peer is near (X-35)`(isNearby: Bool) async throws {
        try await DiscoveryStage.with { stage in
            let speaker = try await Self.speaker(on: stage, isNearby: isNearby)
            let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
            let status = try await connection.open(stage.request(to: speaker))
            #expect(status == .success)
            #expect(connection.info?.address == speaker.address)
            #expect(connection.info?.isProximal == isNearby)
            await connection.close()
        }
    }

    @Test
    func `a system at a configured address is of type cloud, and filters match on it (R-09, X-29, X-30)`()
        async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([Self.echo]) { host in
                var configuration = loopbackSystem.configuration("test.watcher")
                let peer = try StaticPeer(host: "127.0.0.1", port: try await host.port)
                configuration.discovery.sources = [try StaticPeers([peer], logger: configuration.logger)]
                for filters in [[], [RemoteSystemFilter.discoveryType(.cloud)]] {
                    let watcher = RemoteSystemWatcher(configuration, filters: filters)
                    let recorder = EventRecorder(watcher)
                    try await watcher.start()
                    let system = try await recorder.added()
                    #expect(system.discoveryType == .cloud)
                    #expect(!system.isAvailableByProximity)
                    await watcher.stop()
                }
                let watcher = RemoteSystemWatcher(configuration, filters: [.discoveryType(.proximal)])
                try await watcher.start()
                try await until { await !watcher.unlisted.excluded.isEmpty }
                #expect(watcher.systems.isEmpty)
                await watcher.stop()
            }
        }
    }

    @Test
    func `name, kind, platform, manufacturer and model of a machine arrive (X-25, X-27, X-28)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            var configuration = stage.configuration(applicationID: "test.mine")
            configuration.environment.facts = MachineFacts(
                displayName: "Workshop",
                kind: .tablet,
                manufacturer: "ACME Corp.",
                model: "Anvil 3000"
            )
            let watcher = stage.watcher()
            let recorder = stage.record(watcher)
            try await watcher.start()
            let host = RemoteSystemHost(configuration, services: [Self.echo])
            async let running: Void = host.run()
            let system = try await recorder.added("Workshop")
            #expect(system.kind == .tablet)
            #expect(system.platform == .linux)
            #expect(system.manufacturerDisplayName == "ACME Corp.")
            #expect(system.modelDisplayName == "Anvil 3000")
            await watcher.stop()
            await stage.stop()
            _ = try? await running
        }
    }
}
