// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import RemoteSystems

/// Plays something on another machine: carries it on over there, from where it is here (R-17, R-24, R-25).
@main
struct PlayThere: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "play-there",
        abstract: "Play this on another machine of the account."
    )

    @Argument(help: "What to play, such as player:album/42.")
    var uri: String

    @Option(help: "The machine's name; the first one with a player unless given.")
    var on: String?

    @Option(help: "The second to play from.")
    var second = 0

    @Flag(help: "Stay on this machine.")
    var loopback = false

    func run() async throws {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.play-there",
            network: self.loopback ? .loopback : .all
        )
        guard let system = try await self.find(configuration) else {
            print("No machine of this account has a player\(self.on.map { " and is called \($0)" } ?? "").")
            throw ExitCode(2)
        }
        let result = try await RemoteLauncher().launchURI(
            self.uri,
            with: .system(system),
            options: RemoteLauncherOptions(preferredApplicationIDs: ["org.example.player"]),
            inputData: ["Second": .integer(Int64(self.second))]
        )
        guard result.status == .success else {
            print("\(system.displayName) does not play it (\(result.status)): \(result.error?.message ?? "")")
            throw ExitCode(1)
        }
        print("\(system.displayName) plays it.")
    }

    /// The first system found that fits, within five seconds.
    private func find(_ configuration: RemoteSystemsConfiguration) async throws -> RemoteSystem? {
        let watcher = RemoteSystemWatcher(configuration, filters: [.application("org.example.player")])
        let events = watcher.events
        try await watcher.start()
        let limit = Task {
            try await Task.sleep(for: .seconds(5))
            await watcher.stop()
        }
        defer { limit.cancel() }
        for await case .added(let system) in events where self.on == nil || system.displayName == self.on {
            return system
        }
        return nil
    }
}
