// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems

/// Prints which systems of the account are there, and every change, until it is stopped (R-06, R-10).
@main
struct WatchAndPrint {
    static func main() async throws {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "org.example.watch-and-print",
            network: CommandLine.arguments.contains("--loopback") ? .loopback : .all
        )
        let watcher = RemoteSystemWatcher(configuration)
        // Asked for before the start, so that nothing is missed.
        let events = watcher.events
        try await watcher.start()
        for await event in events {
            switch event {
            case .added(let system): say("+ \(line(system))")
            case .updated(let system): say("~ \(line(system))")
            case .removed(let system): say("- \(system.displayName)")
            case .enumerationCompleted:
                // From here on an empty list is an answer: nobody was there.
                say("= \(watcher.systems.count) there; watching for changes, Ctrl-C to stop")
            case .error(let error): say("! \(error.message)")
            }
        }
    }

    /// Names are for people and need not be unique; the id is what tells systems apart.
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

    /// Without a buffer, so that a line is there as soon as it is told, for a pipe too.
    static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
