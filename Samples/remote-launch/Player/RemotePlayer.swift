// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import RemoteSystems
import ServiceLifecycle

/// A player that other systems of the account can tell what to play, by URIs such as `player:album/42`.
@main
struct RemotePlayer {
    static func main() async throws {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.player",
            network: CommandLine.arguments.contains("--loopback") ? .loopback : .all
        )
        var options = RemoteSystemHost.Options()
        options.launchURIProvider = LaunchURIHandler(schemes: ["player"]) { request in
            // What is answered is what happened: "opened" only if it plays.
            guard let title = title(request.uri.afterScheme) else {
                return .unavailable("There is no such album in this house.")
            }
            let second = request.inputData?["Second"]?.int ?? 0
            say("playing \(title) from second \(second), for system \(request.caller.systemID.short)")
            return .opened
        }
        let host = RemoteSystemHost(configuration, services: [], options: options)
        try await ServiceGroup(
            services: [host, Ready(host: host)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: configuration.logger
        ).run()
    }

    /// The URI comes from another machine: it is looked up, and never part of a path or a command.
    static func title(_ path: Substring) -> String? {
        ["album/42": "Forty-Two", "album/7": "Seven Songs"][String(path)]
    }
}

/// Says when the host can be reached, for people and for scripts.
struct Ready: Service {
    let host: RemoteSystemHost

    func run() async throws {
        _ = try await self.host.port
        say("ready: playing what others send")
        try? await gracefulShutdown()
    }
}

/// Without a buffer, so that a line is there as soon as it is told, for a pipe too.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
