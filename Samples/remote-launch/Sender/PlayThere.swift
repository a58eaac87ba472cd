// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import RemoteSystems

/// Continues playback on another machine, from the given position (R-24).
@main
struct PlayThere: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "play-there",
        abstract: "Play a title on another machine of the account."
    )

    @Argument(help: "The URI to play, such as player:album/42.")
    var uri: String

    @Option(help: "The machine's name. Defaults to the first machine with a player.")
    var on: String?

    @Option(help: "The start position, in seconds.")
    var second = 0

    @Flag(help: "Use only the loopback interface.")
    var loopback = false

    func run() async throws {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.play-there",
            network: self.loopback ? .loopback : .all
        )
        guard let system = try await self.find(configuration) else {
            print("No machine\(self.on.map { " called \($0)" } ?? "") of this account with a player was found.")
            throw ExitCode(2)
        }
        let result = try await RemoteLauncher().launchURI(
            self.uri,
            with: .system(system),
            options: RemoteLauncherOptions(preferredApplicationIDs: ["org.example.player"]),
            inputData: ["Second": .integer(Int64(self.second))]
        )
        guard result.status == .success else {
            let name = system.displayName
            let isUnknown = result.error?.outcome == .unknown
            let what = isUnknown ? "It is unknown whether \(name) plays it" : "\(name) does not play it"
            print("\(what) (\(result.status)): \(result.error?.message ?? "")")
            throw ExitCode(1)
        }
        print("\(system.displayName) plays it.")
    }

    /// Returns the only system with the name, or the first one if there is no name; nil if none is found within 5 s.
    private func find(_ configuration: RemoteSystemsConfiguration) async throws -> RemoteSystem? {
        let watcher = RemoteSystemWatcher(configuration, filters: [.application("org.example.player")])
        let events = watcher.events
        try await watcher.start()
        let limit = Task {
            try await Task.sleep(for: .seconds(5))
            await watcher.stop()
        }
        defer { limit.cancel() }
        var matching: [RemoteSystem] = []
        var isComplete = self.on == nil
        for await event in events {
            switch event {
            case .added(let system) where self.on == nil || system.displayName == self.on: matching.append(system)
            case .enumerationCompleted: isComplete = true
            default: break
            }
            guard isComplete, let system = matching.first else { continue }
            // Each machine chooses its own name.
            guard matching.count == 1 || self.on == nil else {
                print("Several machines are called \(system.displayName). Rename one of them.")
                throw ExitCode(2)
            }
            return system
        }
        return nil
    }
}
