// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
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

    /// The maximum processor time of a test on a stage.
    static let budget = Duration.milliseconds(50)

    /// Repeats the test as often as the environment variable says, for 15 s at most, to find rare failures.
    /// `Scripts/test` runs it separately and prints the time of a run. There a run must take less than 50 ms of
    /// processor time on average, since that does not depend on other load of the machine.
    @Test func `it does not fail, however often it runs`() async throws {
        let wanted = ProcessInfo.processInfo.environment["REMOTE_SYSTEMS_TEST_REPEAT"].flatMap { Int($0) }
        let times = wanted ?? 3
        // The first makes the identities that all share.
        try await self.`playback stops when the speaker vanishes halfway`()
        let start = Self.processorTime
        var slowest = Duration.zero
        var all = Duration.zero
        var runs = 0
        while runs < max(times, 1), all < .seconds(15) {
            let time = try await ContinuousClock().measure {
                try await self.`playback stops when the speaker vanishes halfway`()
            }
            slowest = max(slowest, time)
            all += time
            runs += 1
        }
        let used = (Self.processorTime - start) / runs
        func milliseconds(_ time: Duration) -> String { String(format: "%.1f ms", time / .milliseconds(1)) }
        print(
            "REPEATED: \(runs) runs on a stage, mean \(milliseconds(all / runs)), slowest \(milliseconds(slowest)), "
                + "mean processor time \(milliseconds(used))"
        )
        if let wanted, wanted >= 50 { #expect(used < Self.budget) }
    }

    /// The processor time of all threads of the process.
    private static var processorTime: Duration {
        var usage = rusage()
        guard unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return .zero }
        let (user, system) = (usage.ru_utime, usage.ru_stime)
        return .seconds(user.tv_sec + system.tv_sec) + .microseconds(user.tv_usec + system.tv_usec)
    }
}
