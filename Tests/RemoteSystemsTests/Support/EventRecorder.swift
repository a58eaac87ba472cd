// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import Synchronization
import Testing

/// Records every event of a watcher, to inspect and to wait for.
final class EventRecorder: Sendable {
    private let recorded = Mutex<[RemoteSystemEvent]>([])

    init(_ watcher: RemoteSystemWatcher) {
        watcher.onAdded { [weak self] in self?.record(.added($0)) }
        watcher.onUpdated { [weak self] in self?.record(.updated($0)) }
        watcher.onRemoved { [weak self] in self?.record(.removed($0)) }
        watcher.onEnumerationCompleted { [weak self] in self?.record(.enumerationCompleted) }
        watcher.onError { [weak self] in self?.record(.error($0)) }
    }

    var events: [RemoteSystemEvent] { self.recorded.withLock { $0 } }

    private func record(_ event: RemoteSystemEvent) {
        self.recorded.withLock { $0.append(event) }
    }

    /// The first event for which `pick` returns a value. Waits for it for at most thirty seconds.
    func first<Picked>(_ pick: (RemoteSystemEvent) -> Picked?) async throws -> Picked {
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            if let picked = self.events.lazy.compactMap(pick).first { return picked }
            // Polls in real time: events arrive over real sockets.
            try await Task.sleep(for: .milliseconds(2))
        }
        throw NothingHappened(reported: self.events.map { "\($0)" })
    }

    func added() async throws -> RemoteSystem {
        try await self.first { if case .added(let system) = $0 { system } else { nil } }
    }

    func updated() async throws -> RemoteSystem {
        try await self.first { if case .updated(let system) = $0 { system } else { nil } }
    }

    func removed() async throws -> RemoteSystem {
        try await self.first { if case .removed(let system) = $0 { system } else { nil } }
    }

    struct NothingHappened: Error {
        var reported: [String]
    }
}
