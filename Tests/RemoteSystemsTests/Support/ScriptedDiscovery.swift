// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import Synchronization

/// A network segment in memory: each browse sees what is advertised on it.
final class ScriptedDiscovery: DiscoverySource {
    private struct State {
        var hints: [String: DiscoveryHint] = [:]
        var feeds: [Int: DiscoveryEvents.Feed] = [:]
        var lastFeed = 0
    }

    private let state = Mutex(State())

    var name: String { "scripted" }

    /// Whether a browse has begun. Events before that are lost.
    var isBrowsed: Bool { self.state.withLock { !$0.feeds.isEmpty } }

    /// What is advertised.
    var hints: [DiscoveryHint] { self.state.withLock { Array($0.hints.values) } }

    /// The number of active browses.
    var browses: Int { self.state.withLock { $0.feeds.count } }

    /// The number of instances that are advertised now.
    var advertised: Int { self.state.withLock { $0.hints.count } }

    func browse() -> DiscoveryEvents {
        let (events, feed) = DiscoveryEvents.makeStream()
        let id = self.state.withLock { state in
            for hint in state.hints.values { feed.yield(.appeared(hint)) }
            feed.yield(.settled)
            state.lastFeed += 1
            state.feeds[state.lastFeed] = feed
            return state.lastFeed
        }
        feed.onEnd { [weak self] in self?.state.withLock { $0.feeds[id] = nil } }
        return events
    }

    func advertise(_ advertisement: DiscoveryAdvertisement) async throws {
        self.appear(
            DiscoveryHint(
                id: advertisement.instance,
                instance: advertisement.instance,
                endpoints: [DiscoveryEndpoint(address: "127.0.0.1", port: advertisement.port)],
                properties: advertisement.properties
            )
        )
        // Lasts until cancellation, which withdraws the advertisement.
        try? await Task.sleep(for: .seconds(3600))
        self.vanish(advertisement.instance)
    }

    func appear(_ hint: DiscoveryHint) {
        self.state.withLock { state in
            state.hints[hint.id] = hint
            for feed in state.feeds.values { feed.yield(.appeared(hint)) }
        }
    }

    func vanish(_ id: String) {
        self.state.withLock { state in
            state.hints[id] = nil
            for feed in state.feeds.values { feed.yield(.vanished(id)) }
        }
    }

    func emit(_ event: DiscoveryEvent) {
        self.state.withLock { state in
            for feed in state.feeds.values { feed.yield(event) }
        }
    }
}
