// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing

/// The use of a list in Rome's guide, in the guide's order.
@Suite struct TwoInteractionsTests {
    /// Plays the track that its URI names, from the given position.
    private final class Player: LaunchURIProvider {
        let supportedURISchemes = ["player"]
        private let playing = Mutex("")
        var state: String { self.playing.withLock { $0 } }

        func launchURI(_ request: LaunchURIRequest) async throws -> LaunchURIDecision {
            self.playing.withLock { $0 = request.uri.description }
            return .opened
        }
    }

    @Test func `each system of the list can be launched on and called, as the application chooses (R-04, R-16, R-24)`()
        async throws
    {
        let players = [Player(), Player()]
        try await DiscoveryStage.with { stage in
            var systems: [StagedSystem] = []
            for (number, player) in players.enumerated() {
                let volume = AppService("volume") { _ in ["Volume": .integer(Int64(number))] }
                let application = StagedApplication("player", services: [volume], launchURIProvider: player)
                systems.append(try stage.system("Room \(number)", applications: [application]))
            }
            let watcher = stage.watcher()
            try await watcher.start()
            for system in systems { try await stage.appears(system) }
            try await stage.eventually("both are listed") { watcher.systems.count == 2 }

            for system in watcher.systems {
                let number = try #require(Int(system.displayName.suffix(1)))
                let launch = RemoteSystemConnectionRequest(system: system)
                let result = try await RemoteLauncher().launchURI("player:album/\(number)?at=42", with: launch)
                #expect(result.status == .success)
                #expect(players[number].state == "player:album/\(number)?at=42")
                let response = try await system.application("player")?.withAppService("volume") {
                    try await $0.send([:]).get()
                }
                #expect(response?["Volume"] == .integer(Int64(number)))
            }
        }
    }
}
