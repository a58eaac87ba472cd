// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems

/// Prints the reachable systems of the account, and every change, until it is stopped (R-06).
@main
struct WatchAndPrint {
    static func main() async throws {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.watch-and-print",
            network: CommandLine.arguments.contains("--loopback") ? .loopback : .all
        )
        let watcher = RemoteSystemWatcher(configuration)
        // The sequence is created before the start, so that no event is missed.
        let events = watcher.events
        try await watcher.start()
        for await event in events {
            switch event {
            case .added(let system): say("+ \(line(system))")
            case .updated(let system): say("~ \(line(system))")
            case .removed(let system): say("- \(system.displayName)")
            case .enumerationCompleted:
                // The enumeration is complete. An empty list now means that no system was found.
                say("= \(watcher.systems.count) found; watching for changes, Ctrl-C to stop")
            case .error(let error): say("! \(error.message)")
            }
        }
    }

    /// Describes a system.
    ///
    /// Names need not be unique. Only the id distinguishes systems.
    static func line(_ system: RemoteSystem) -> String {
        let applications = system.applications.map { application in
            let attributes = application.attributes.sorted { $0.key < $1.key }.map { " \($0): \($1)" }.joined(
                separator: ","
            )
            return "\(application.id) [\(application.services.map(\.name).joined(separator: " "))]\(attributes)"
        }
        return "\(system.displayName) (\(system.id.short), \(system.kind.rawValue))"
            + "\(system.isLocal ? ", this machine" : ""): \(applications.joined(separator: ", "))"
    }

    /// Prints a line unbuffered, so that a reader of a pipe gets it at once.
    static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
