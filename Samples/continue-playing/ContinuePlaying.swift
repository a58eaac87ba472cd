// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import RemoteSystems
import SampleSystem
import UserActivities

/// A player that goes on at the same second on another machine. It makes no sound.
@main
struct ContinuePlaying: AsyncParsableCommand {
    static let playing = "org.example.continue-playing.track"

    @Option(help: "Run as this system, which 'Samples/two-systems/create' has made.")
    var on: String?

    @Option(help: "The second at which to begin.")
    var second = 0.0

    @Argument(help: "The track to play. Without it, the player continues what another machine plays.")
    var track: String?

    func run() async throws {
        let configuration = SampleSystem.configuration(of: "org.example.continue-playing", on: self.on)
        let player = Player()
        let host = UserActivityHost(
            configuration,
            activityTypes: [Self.playing],
            handler: .closure { activity in
                // The content comes from another machine.
                guard let track = activity.title, let second = activity.userInfo["Second"]?.double, second >= 0 else {
                    throw PlayerError.noTrack
                }
                await player.play(track, from: second)
                // From now on, the track can be continued from here in turn.
                activity.delegate = player
                activity.needsSave = true
                try await activity.adopt()
            }
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await host.run() }
            _ = try await host.host.port
            if let track {
                await player.play(track, from: self.second)
                let activity = UserActivity(type: Self.playing, title: track)
                activity.delegate = player
                // The position changes all the time. It is written when another machine asks for it.
                activity.needsSave = true
                try await activity.becomeCurrent()
            } else {
                try await host.continue(try await Self.firstOffer(configuration))
            }
            try await group.next()
        }
    }

    private static func firstOffer(_ configuration: RemoteSystemsConfiguration) async throws -> UserActivityOffer {
        let watcher = UserActivityWatcher(configuration)
        try await watcher.start()
        defer { Task { await watcher.stop() } }
        for await offers in watcher.changes {
            if let offer = offers.first(where: { $0.activityType == Self.playing }) { return offer }
        }
        throw CancellationError()
    }
}

enum PlayerError: Error { case noTrack }

/// What plays now, and since when.
actor Player: UserActivityDelegate {
    private var now: (track: String, began: ContinuousClock.Instant)?

    private var second: Double {
        guard let now else { return 0 }
        return (ContinuousClock.now - now.began) / .seconds(1)
    }

    func play(_ track: String, from second: Double) {
        self.now = (track, .now - .seconds(second))
        SampleSystem.say("playing \(track) from second \(Int(second))")
    }

    func userActivityWillSave(_ activity: UserActivity) async {
        activity.addUserInfoEntries(["Second": .double(self.second)])
    }

    func userActivityWasContinued(_ activity: UserActivity, by receiver: UserActivityReceiver) async {
        SampleSystem.say("paused at second \(Int(self.second)): another machine has continued")
        self.now = nil
    }
}
