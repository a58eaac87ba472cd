// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems

// Listeners, and the same events as a sequence.
// snippet.watch
let watcher = RemoteSystemWatcher(filters: [.service("com.example.volume")])
watcher.onAdded { print("+", $0.displayName) }
watcher.onUpdated { print("~", $0.displayName) }
watcher.onRemoved { print("-", $0.displayName) }
watcher.onError { print("!", $0.message) }
try await watcher.start()

for await event in watcher.events {
    if case .enumerationCompleted = event { print(watcher.systems.count, "systems") }
}
// snippet.end

// The first system that offers a service.
// snippet.first
func first(_ service: String) async throws -> RemoteSystem? {
    let watcher = RemoteSystemWatcher(filters: [.service(service)])
    try await watcher.start()
    for await case .added(let system) in watcher.events { return system }  // stops the watcher
    return nil
}
// snippet.end
