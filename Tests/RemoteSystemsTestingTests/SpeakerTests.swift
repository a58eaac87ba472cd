// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing

/// Code under test: pings a speaker once there is one, and pauses when it vanishes.
private final class Player: Sendable {
    enum State: Equatable { case idle, playing, paused }

    private let watcher: RemoteSystemWatcher
    private let guarded = Mutex(State.idle)
    var state: State { self.guarded.withLock { $0 } }

    init(_ watcher: RemoteSystemWatcher) {
        self.watcher = watcher
        watcher.onAdded { system in Task { await self.greet(system) } }
        watcher.onRemoved { _ in self.guarded.withLock { $0 = .paused } }
    }

    func start() async throws { try await self.watcher.start() }

    private func greet(_ system: RemoteSystem) async {
        let response = try? await system.application("test.host")?.withAppService("speaker") {
            try await $0.send(["Type": "ping"]).get()
        }
        if response?["Type"] == "pong" { self.guarded.withLock { $0 = .playing } }
    }
}

@Suite struct SpeakerTests {
    @Test func `playback stops when the speaker vanishes halfway`() async throws {
        try await DiscoveryStage.with { stage in
            let speaker = try stage.system("Living room", services: [AppService("speaker") { _ in ["Type": "pong"] }])
            let player = Player(stage.watcher())
            try await player.start()
            try await stage.appears(speaker)
            try await stage.eventually("it plays") { player.state == .playing }
            try await stage.vanishes(speaker, .silent)
            try await stage.advance(by: .seconds(11))
            #expect(player.state == .playing)
            try await stage.advance(by: .seconds(4))
            #expect(player.state == .paused)
        }
    }

    @Test func `it does not fail, however often it runs`() async throws {
        try await RepeatedRuns.run("a speaker") {
            try await self.`playback stops when the speaker vanishes halfway`()
        }
    }
}
