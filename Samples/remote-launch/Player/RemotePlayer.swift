// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import RemoteSystems
import ServiceLifecycle

/// A player that opens URIs from other systems of the account, such as `player:album/42`.
@main
struct RemotePlayer {
    static func main() async throws {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.player",
            network: CommandLine.arguments.contains("--loopback") ? .loopback : .all
        )
        var options = RemoteSystemHost.Options()
        options.launchURIProvider = LaunchURIHandler(schemes: ["player"]) { request in
            // The result must be true: return "opened" only if the player plays the title.
            guard let title = title(request.uri.afterScheme) else {
                return .unavailable("There is no such album here.")
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

    /// Returns the title of a URI.
    ///
    /// The URI comes from another machine. It is only looked up, and never used in a path or a command.
    static func title(_ path: Substring) -> String? {
        ["album/42": "Forty-Two", "album/7": "Seven Songs"][String(path)]
    }
}

/// Prints a line once the host is listening.
struct Ready: Service {
    let host: RemoteSystemHost

    func run() async throws {
        _ = try await self.host.port
        say("ready: playing URIs of other systems")
        try? await gracefulShutdown()
    }
}

/// Prints a line unbuffered, so that a reader of a pipe gets it at once.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
