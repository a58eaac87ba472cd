// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// What a stranger sends to the discovery of a watcher changes nothing that the watcher has learned from the system
/// itself.
@Suite(.timeLimit(.minutes(2))) struct ForgedDiscoveryTests {
    /// Runs an attack on a watcher that lists a host, and then starts another application of the same system, whose
    /// appearance shows that the watcher has processed everything before.
    private func attack(
        _ attack: (ScriptedDiscovery, DiscoveryHint) async throws -> Void
    ) async throws -> (events: [RemoteSystemEvent], before: RemoteSystem, after: RemoteSystem, failed: Int) {
        var outcome: (events: [RemoteSystemEvent], before: RemoteSystem, after: RemoteSystem, failed: Int)?
        try await LoopbackSystem.with { system in
            try await system.withHost([WatchAndTalkTests.echo], attributes: ["room": "attic"]) { _ in
                try await until { system.segment.advertised == 1 }
                let watcher = system.watcher()
                let recorder = EventRecorder(watcher)
                try await watcher.start()
                let before = try await recorder.added()
                let ours = try #require(system.segment.hints.first)
                try await attack(system.segment, ours)
                try await system.withHost([], application: "test.second") { _ in
                    try await until { watcher.systems.first?.application("test.second") != nil }
                    let after = try #require(watcher.systems.first)
                    outcome = (recorder.events, before, after, Int(watcher.statistics.connectionsFailed))
                }
                await watcher.stop()
            }
        }
        return try #require(outcome)
    }

    private func removals(_ events: [RemoteSystemEvent]) -> Int {
        events.count { if case .removed = $0 { true } else { false } }
    }

    private func additions(_ events: [RemoteSystemEvent]) -> Int {
        events.count { if case .added = $0 { true } else { false } }
    }

    @Test func `forged announcements neither remove nor change a listed system (CVE-2025-32899, CVE-2025-32900)`()
        async throws
    {
        // A port at which nothing listens.
        let nowhere = DiscoveryEndpoint(address: "127.0.0.1", port: 9)
        let outcome = try await self.attack { segment, ours in
            for number in 0..<1000 {
                var forged = ours
                // The same instance elsewhere, and with other properties and names.
                forged.endpoints = [nowhere]
                forged.properties["name"] = Array("Mallory \(number)".utf8)
                forged.properties["unpair"] = [1]
                segment.emit(.appeared(forged))
                forged.properties = [:]
                segment.emit(.appeared(forged))
            }
            segment.emit(.appeared(ours))
        }
        #expect(self.removals(outcome.events) == 0)
        #expect(self.additions(outcome.events) == 1)
        #expect(outcome.after.id == outcome.before.id)
        #expect(outcome.after.displayName == outcome.before.displayName)
        #expect(outcome.after.application("test.host")?.attributes == ["room": "attic"])
        #expect(outcome.after.application("test.host")?.services == outcome.before.application("test.host")?.services)
    }

    @Test func `a forged announcement does not lead calls of a listed system away`() async throws {
        try await LoopbackSystem.with { system in
            try await system.withHost([WatchAndTalkTests.echo]) { _ in
                try await until { system.segment.advertised == 1 }
                let watcher = system.watcher()
                let recorder = EventRecorder(watcher)
                try await watcher.start()
                let listed = try await recorder.added()
                var forged = try #require(system.segment.hints.first)
                forged.endpoints = [DiscoveryEndpoint(address: "127.0.0.1", port: 9)]
                system.segment.emit(.appeared(forged))
                let changed = try await recorder.updated()
                #expect(changed.id == listed.id)
                let application = try #require(changed.application("test.host"))
                let response = try await application.withAppService("test.echo") { try await $0.send(["n": 1]).get() }
                #expect(response == ["echo": ["n": 1]])
                await watcher.stop()
            }
        }
    }

    @Test func `a flood of goodbyes removes no system that responds`() async throws {
        let outcome = try await self.attack { segment, ours in
            for _ in 0..<1000 {
                segment.emit(.vanished(ours.id))
                segment.emit(.appeared(ours))
                segment.emit(.vanished(ours.id))
            }
        }
        #expect(self.removals(outcome.events) == 0)
        #expect(outcome.after.application("test.host") != nil)
    }

    @Test func `an announcement that copies another system's lists nothing by itself (CVE-2025-54792)`() async throws {
        try await LoopbackSystem.with { victim in
            try await victim.withHost([WatchAndTalkTests.echo]) { _ in
                try await until { victim.segment.advertised == 1 }
                let ours = try #require(victim.segment.hints.first)
                // A host of another account, at which the copies point.
                try await LoopbackSystem.with { stranger in
                    try await stranger.withHost([WatchAndTalkTests.echo]) { host in
                        let watcher = victim.watcher()
                        let recorder = EventRecorder(watcher)
                        try await watcher.start()
                        let listed = try await recorder.added()
                        let port = try await host.port
                        for number in 0..<10 {
                            victim.segment.emit(
                                .appeared(
                                    DiscoveryHint(
                                        id: number == 0 ? ours.id : "copy \(number)",
                                        instance: ours.instance,
                                        endpoints: [DiscoveryEndpoint(address: "127.0.0.1", port: port)],
                                        properties: ours.properties
                                    )
                                )
                            )
                        }
                        // The attempt shows that the watcher has followed a copy.
                        try await until { watcher.statistics.connectionsFailed >= 1 }
                        #expect(watcher.systems.map(\.id) == [listed.id])
                        #expect(self.removals(recorder.events) == 0)
                        #expect(self.additions(recorder.events) == 1)
                        #expect(watcher.systems.first?.displayName == listed.displayName)
                        await watcher.stop()
                    }
                }
            }
        }
    }
}
