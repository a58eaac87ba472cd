// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems

/// Prints events as lines of JSON.
enum Output {
    static func report(_ event: String, _ message: String) {
        let time = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        let line = ["event": event, "message": message, "time": time]
        if let data = try? JSONEncoder().encode(line) { FileHandle.standardOutput.write(data + Data("\n".utf8)) }
    }
}

// Keeps a long-lived connection to the ping service of a system, sends pings over it until it is stopped, and prints
// events. Usage: `long-lived-probe STATE-DIRECTORY DISPLAY-NAME`.
let arguments = CommandLine.arguments
guard arguments.count == 3 else { fatalError("usage: long-lived-probe STATE-DIRECTORY DISPLAY-NAME") }

var configuration = RemoteSystemsConfiguration(applicationID: "org.example.probe", stateDirectory: arguments[1])
configuration.transport.deadPeerTime = .seconds(3)
configuration.transport.connectTimeout = .seconds(2)
var policy = ReconnectionPolicy()
policy.longestDelay = .seconds(2)

let watcher = RemoteSystemWatcher(configuration)
let events = watcher.events
try await watcher.start()
var found: RemoteSystem?
for await case .added(let system) in events where system.displayName == arguments[2] {
    found = system
    break
}
await watcher.stop()
guard let found else { fatalError("the watcher ended") }

let connection = LongLivedConnection(
    to: AppServiceDescription(name: AppService.pingName, requestSchema: .full, responseSchema: .full),
    RemoteSystemConnectionRequest(system: found),
    policy: policy
)
connection.onStateChanged { state in
    if case .connected(let info) = state {
        Output.report("connected", info.address)
    } else {
        Output.report("state", "\(state)")
    }
}
try connection.start()
// A signal ends this loop. The count bounds it if no signal arrives.
for number in 0..<3000 {
    let request: ValueSet = ["Type": "ping", "Number": .integer(Int64(number))]
    let response = try await connection.send(request, timeout: .seconds(60), retry: .idempotent)
    if response.status != .success { Output.report("failed", "\(response.status)") }
    // The interval between two pings.
    try await Task.sleep(for: .milliseconds(50))
}
