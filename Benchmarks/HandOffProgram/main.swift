// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// A program that uses `UserActivities` as an application does, beside those that use D-Bus (Benchmarks/README.md).
//
// Usage: `hand-off-program STATE-DIRECTORY`. Prints `ready`, then executes the lines of its input:
//
//     offer TITLE       offers an activity with a content of 2900 bytes. Prints `offered TITLE`
//     continue TITLE    waits until another system offers it, and continues it in this process. Prints `continued TITLE
//                       NANOSECONDS`, with the time from the call until the handler has the content

import Foundation
import RemoteSystems
import Synchronization
import UserActivities

guard CommandLine.arguments.count == 2 else {
    FileHandle.standardError.write(Data("Usage: hand-off-program STATE-DIRECTORY\n".utf8))
    exit(64)
}
let type = "org.example.bench-note"
let handled = Mutex<ContinuousClock.Instant?>(nil)
let configuration = RemoteSystemsConfiguration(
    applicationID: "org.example.bench-module",
    network: .loopback,
    stateDirectory: CommandLine.arguments[1]
)
let host = UserActivityHost(
    configuration,
    activityTypes: [type],
    handler: .closure { _ in handled.withLock { $0 = .now } }
)

/// Prints a line unbuffered, since its reader waits for it.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await host.run() }
    _ = try await host.host.port
    let watcher = UserActivityWatcher(configuration)
    try await watcher.start()
    say("ready")
    while let line = readLine() {
        let words = line.split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { break }
        let title = String(words[1])
        if words[0] == "offer" {
            let activity = UserActivity(type: type, title: title)
            activity.userInfo = ["Text": .string(String(repeating: "x", count: 2_900))]
            try await activity.becomeCurrent(at: host)
            say("offered \(title)")
            continue
        }
        for await offers in watcher.changes {
            guard let offer = offers.first(where: { $0.title == title }) else { continue }
            let begun = ContinuousClock.now
            try await host.continue(offer)
            guard let end = handled.withLock({ $0 }) else { break }
            say("continued \(title) \(Int64((end - begun) / .nanoseconds(1)))")
            break
        }
    }
    await watcher.stop()
    group.cancelAll()
}
