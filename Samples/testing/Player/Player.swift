// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems

/// Example code to test: it knows the reachable speakers, and whether they respond.
public actor Player {
    /// The state of a speaker.
    public enum Speaker: Sendable, Equatable {
        case responses
        case silent
    }

    /// The reachable speakers, by name.
    public private(set) var speakers: [String: Speaker] = [:]
    private let watcher: RemoteSystemWatcher

    /// Creates a player.
    ///
    /// - Parameter configuration: The program's configuration. A test passes that of its stage.
    public init(_ configuration: RemoteSystemsConfiguration) {
        self.watcher = RemoteSystemWatcher(configuration)
    }

    /// Watches for speakers until the task is cancelled.
    public func run() async throws {
        let events = self.watcher.events
        try await self.watcher.start()
        for await event in events {
            switch event {
            case .added(let system):
                let isAlive = await Self.ping(system)
                self.speakers[system.displayName] = isAlive ? .responses : .silent
            case .removed(let system):
                self.speakers[system.displayName] = nil
            default:
                break
            }
        }
        await self.watcher.stop()
    }

    private static func ping(_ system: RemoteSystem) async -> Bool {
        guard let speaker = system.application("com.example.speaker") else { return false }
        let response = try? await speaker.withAppService("com.example.ping") { connection in
            try await connection.send(["Type": "ping"]).get()
        }
        return response?["Type"] == "pong"
    }
}
