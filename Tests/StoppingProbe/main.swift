// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems

// Watches for three seconds after it has found a system, stops, and goes on living without doing anything, for others to
// see what it sends then: `stopping-probe STATE-DIRECTORY stop|leave-loop`.
let arguments = CommandLine.arguments
guard arguments.count == 3 else { fatalError("usage: stopping-probe STATE-DIRECTORY stop|leave-loop") }

func report(_ event: String) {
    if let data = try? JSONEncoder().encode(["event": event]) {
        FileHandle.standardOutput.write(data + Data("\n".utf8))
    }
}

var configuration = RemoteSystemsConfiguration(applicationID: "org.example.probe", stateDirectory: arguments[1])
configuration.deadPeerTime = .seconds(3)

let watcher = RemoteSystemWatcher(configuration)
let events = watcher.events
try await watcher.start()
for await case .added in events {
    report("added")
    try await Task.sleep(for: .seconds(3))
    if arguments[2] == "stop" { await watcher.stop() }
    break
}
report("stopped")
// Ended by a signal; bounded should that not come.
try await Task.sleep(for: .seconds(120))
