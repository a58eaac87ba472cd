// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems

/// Code that is worth testing: knows the speakers of the house and whether they answer.
public actor Player {
    /// What is known of a speaker.
    public enum Speaker: Sendable, Equatable {
        case responses
        case silent
    }

    /// The speakers that are there now, by name.
    public private(set) var speakers: [String: Speaker] = [:]
    private let watcher: RemoteSystemWatcher

    /// A test passes the configuration of its stage; the real program its own.
    public init(_ configuration: RemoteSystemsConfiguration) {
        self.watcher = RemoteSystemWatcher(configuration)
    }

    /// Until cancelled.
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
