// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsTransport
internal import Synchronization

/// The advertisements on a stage, for all browses on it.
final class StageDiscovery: Sendable {
    fileprivate struct State {
        var hints: [DiscoveryHint.ID: DiscoveryHint] = [:]
        var troubles: [DiscoveryProblem] = []
        var feeds = ListenerTable<DiscoveryEvents.Feed>()
        /// The silent addresses. A browse that starts now does not see what was advertised there.
        var unheard: Set<String> = []
        var lastRenewal = 0
    }

    private let state = Mutex(State())

    func browse() -> DiscoveryEvents {
        let (events, feed) = DiscoveryEvents.makeStream()
        let id = self.state.withLock { state in
            for trouble in state.troubles { feed.yield(.trouble(trouble)) }
            for hint in state.hints.values.sorted(by: { $0.id < $1.id }) where !state.isUnheard(hint) {
                feed.yield(.appeared(hint))
            }
            feed.yield(.settled)
            return state.feeds.add(feed)
        }
        feed.onEnd { [weak self] in
            self?.state.withLock { _ = $0.feeds.remove(id) }
        }
        return events
    }

    func appear(_ hint: DiscoveryHint) {
        self.state.withLock { $0.appear(hint) }
    }

    func vanish(instance: String) {
        self.state.withLock { state in
            for hint in state.hints.values where hint.instance == instance { state.vanish(hint) }
        }
    }

    /// Marks an address as silent. Existing browses keep what was advertised there.
    func silence(address: String) {
        self.state.withLock { _ = $0.unheard.insert(address) }
    }

    /// Marks an address as reachable again. What was advertised there vanishes and appears again, or only vanishes if
    /// the advertiser is gone.
    func hear(address: String, isGone: Bool) {
        self.state.withLock { state in
            guard state.unheard.remove(address) != nil else { return }
            for hint in state.hints.values where hint.isAt(address) {
                state.vanish(hint)
                guard !isGone else { continue }
                state.lastRenewal += 1
                state.appear(
                    DiscoveryHint(
                        id: "\(hint.instance) \(state.lastRenewal)",
                        instance: hint.instance,
                        endpoints: hint.endpoints,
                        properties: hint.properties
                    )
                )
            }
        }
    }

    func fail(_ trouble: DiscoveryProblem) {
        self.state.withLock { state in
            state.troubles.removeAll { $0.code == trouble.code }
            state.troubles.append(trouble)
            for feed in state.feeds.all { feed.yield(.trouble(trouble)) }
        }
    }

    func recover(_ code: DiscoveryProblem.Code) {
        self.state.withLock { state in
            state.troubles.removeAll { $0.code == code }
            for feed in state.feeds.all { feed.yield(.recovered(code)) }
        }
    }
}

extension StageDiscovery.State {
    fileprivate mutating func appear(_ hint: DiscoveryHint) {
        self.hints[hint.id] = hint
        for feed in self.feeds.all { feed.yield(.appeared(hint)) }
    }

    fileprivate mutating func vanish(_ hint: DiscoveryHint) {
        self.hints[hint.id] = nil
        for feed in self.feeds.all { feed.yield(.vanished(hint.id)) }
    }

    fileprivate func isUnheard(_ hint: DiscoveryHint) -> Bool {
        self.unheard.contains { hint.isAt($0) }
    }
}

extension DiscoveryHint {
    fileprivate func isAt(_ address: String) -> Bool { self.endpoints.first?.address == address }
}

/// A stage's discovery as the source of one of its systems.
struct SiteDiscovery: DiscoverySource {
    let stage: StageDiscovery
    let site: MemorySite

    var name: String { "scripted" }

    func browse() -> DiscoveryEvents { self.stage.browse() }

    func advertise(_ advertisement: DiscoveryAdvertisement) async throws {
        self.stage.appear(
            DiscoveryHint(
                id: advertisement.instance,
                instance: advertisement.instance,
                endpoints: [
                    DiscoveryEndpoint(
                        address: self.site.address,
                        port: advertisement.port,
                        transport: self.site.kind.rawValue
                    )
                ],
                properties: advertisement.properties
            )
        )
        // Waits until the task is cancelled: the stream never yields.
        for await _ in AsyncStream<Never>.makeStream().stream {}
        // A crashed system sends no goodbye.
        if !self.site.isCrashed { self.stage.vanish(instance: advertisement.instance) }
    }
}
