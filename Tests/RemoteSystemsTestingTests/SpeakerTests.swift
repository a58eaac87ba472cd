// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing

/// Code under test: pings a speaker as soon as there is one, and pauses when it goes.
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
    @Test func `playback stops when the speaker vanishes half-way`() async throws {
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

    /// Run as often as the environment says, for 15 s at the most, to see whether it ever fails. `Scripts/test` gives it a turn of
    /// its own, and prints how long a run takes.
    @Test func `it does not fail, however often it runs`() async throws {
        let times = ProcessInfo.processInfo.environment["REMOTE_SYSTEMS_TEST_REPEAT"].flatMap { Int($0) } ?? 3
        var slowest = Duration.zero
        var all = Duration.zero
        var runs = 0
        while runs < max(times, 1), all < .seconds(15) {
            let time = try await ContinuousClock().measure {
                try await self.`playback stops when the speaker vanishes half-way`()
            }
            slowest = max(slowest, time)
            all += time
            runs += 1
        }
        func milliseconds(_ time: Duration) -> String { String(format: "%.1f ms", time / .milliseconds(1)) }
        print("REPEATED: \(runs) runs on a stage, mean \(milliseconds(all / runs)), slowest \(milliseconds(slowest))")
    }
}
