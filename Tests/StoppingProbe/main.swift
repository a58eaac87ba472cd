// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import RemoteSystems

// Watches until three seconds after it has found a system, stops watching, and stays idle, so that a test can check
// that it sends nothing. Restarts at SIGUSR1. Usage: `stopping-probe STATE-DIRECTORY stop|leave-loop`.
let arguments = CommandLine.arguments
guard arguments.count == 3 else { fatalError("usage: stopping-probe STATE-DIRECTORY stop|leave-loop") }

func report(_ event: String) {
    if let data = try? JSONEncoder().encode(["event": event]) {
        FileHandle.standardOutput.write(data + Data("\n".utf8))
    }
}

var configuration = RemoteSystemsConfiguration(applicationID: "org.example.probe", stateDirectory: arguments[1])
configuration.transport.deadPeerTime = .seconds(3)

let watcher = RemoteSystemWatcher(configuration)
let events = watcher.events
try await watcher.start()

// A function of its own: in top-level code Swift keeps the iterator of a loop until the program ends.
@MainActor func watch() async throws {
    for await case .added in events {
        report("added")
        // Watches in real time, so that the capture has packets.
        try await Task.sleep(for: .seconds(3))
        if arguments[2] == "stop" { await watcher.stop() }
        break
    }
}

try await watch()

let (signals, signalled) = AsyncStream<Void>.makeStream()
_ = signal(SIGUSR1, SIG_IGN)
let source = DispatchSource.makeSignalSource(signal: SIGUSR1)
let noteSignal: @Sendable () -> Void = { [signalled] in signalled.yield() }
source.setEventHandler(handler: noteSignal)
source.resume()
// Another signal ends this process. The sleep bounds its life if none arrives.
let end = Task {
    try await Task.sleep(for: .seconds(120))
    signalled.finish()
}
report("stopped")
for await _ in signals { break }
let again = watcher.events
try await watcher.start()
for await case .added in again { break }
report("added again")
try await end.value
