// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import Logging

/// A source of systems at known places, for networks without multicast. It advertises nothing.
///
/// Names are resolved when a browse starts and again at an interval, so a change of a host's address is noticed. A name
/// that cannot be resolved is tried again after at most 5 s.
public struct StaticPeers: DiscoverySource {
    /// The maximum time from the start until *settled* is emitted.
    private static let settling: Duration = .seconds(5)

    private let peers: [StaticPeer]
    private let interval: Duration
    private let logger: Logger
    /// The identity of the source. It is equal for sources of the same peers and the same interval.
    public let identity: DiscoverySourceIdentity?
    private let resolve: @Sendable (StaticPeer) async throws(NameResolver.Failure) -> [DiscoveryEndpoint]

    /// Creates a source of these peers.
    ///
    /// - Parameters:
    ///   - peers: The peers. At most ``DiscoveryLimits/hints`` of them are reported.
    ///   - interval: The interval at which names are resolved again. Defaults to 60 s. Valid range: 1 s–24 h.
    ///   - logger: Receives names that cannot be resolved, at level *debug*.
    /// - Throws: ``DiscoveryError`` with ``DiscoveryError/Code/invalidInterval`` if the interval is out of range.
    public init(
        _ peers: [StaticPeer],
        interval: Duration = .seconds(60),
        logger: Logger
    ) throws(DiscoveryError) {
        guard (.seconds(1) ... .seconds(24 * 3600)).contains(interval) else {
            throw DiscoveryError(
                code: .invalidInterval,
                message: "The interval of static peers is \(interval / .seconds(1)) s. Valid range: 1–86400 s."
            )
        }
        let places = peers.map { "\($0)" }.sorted().joined(separator: " ")
        self.init(
            peers,
            interval: interval,
            logger: logger,
            identity: DiscoverySourceIdentity("static \(interval) \(places)"),
            resolve: NameResolver.resolve
        )
    }

    package init(
        _ peers: [StaticPeer],
        interval: Duration,
        logger: Logger,
        identity: DiscoverySourceIdentity? = nil,
        resolve: @escaping @Sendable (StaticPeer) async throws(NameResolver.Failure) -> [DiscoveryEndpoint]
    ) {
        self.identity = identity
        var seen: Set<StaticPeer> = []
        self.peers = peers.filter { seen.insert($0).inserted }
        self.interval = interval
        self.logger = logger
        self.resolve = resolve
    }

    /// The name of the source: `static`.
    public var name: String { "static" }

    /// The type ``DiscoveryType/cloud``, because the list does not state whether a peer is on the same network.
    public var discoveryType: DiscoveryType { .cloud }

    /// The origin ``DiscoveryOrigin/configured``, because this machine's owner wrote the list.
    public var origin: DiscoveryOrigin { .configured }

    /// Starts a browse. It reports each peer whose name can be resolved, then ``DiscoveryEvent/settled``.
    ///
    /// - Returns: The events of the browse. The browse ends when the iterating task is cancelled, or when the sequence
    ///   and its iterators are released.
    public func browse() -> DiscoveryEvents {
        let (events, feed) = DiscoveryEvents.makeStream()
        let task = Task { await run(feed) }
        feed.onEnd { task.cancel() }
        return events
    }

    /// Advertises nothing and reports `false`. Returns when the surrounding task is cancelled.
    ///
    /// - Parameters:
    ///   - advertisement: The advertisement, which is only checked.
    ///   - report: Called once with `false`, before the method suspends.
    /// - Throws: ``DiscoveryError`` if the advertisement is not valid.
    public func advertise(
        _ advertisement: DiscoveryAdvertisement,
        reporting report: @escaping @Sendable (_ isInEffect: Bool) -> Void
    ) async throws {
        report(false)
        try await self.advertise(advertisement)
    }

    /// Advertises nothing. Returns when the surrounding task is cancelled.
    ///
    /// - Throws: ``DiscoveryError`` if the advertisement is not valid.
    public func advertise(_ advertisement: DiscoveryAdvertisement) async throws {
        try advertisement.validate()
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(3600))
        }
    }

    @concurrent
    private func run(_ feed: DiscoveryEvents.Feed) async {
        var known: [StaticPeer: DiscoveryHint] = [:]
        var problem: DiscoveryProblem?
        // Resolving a name may take long. *Settled* waits for it no longer than this.
        let settling = Task {
            guard (try? await Task.sleep(for: Self.settling)) != nil else { return false }
            feed.yield(.settled)
            return true
        }
        while !Task.isCancelled {
            var failures = Set(peers)
            await resolveAll { peer, endpoints in
                // A peer that cannot be resolved now keeps its last addresses: they are probably still right.
                guard !endpoints.isEmpty else { return }
                failures.remove(peer)
                let hint = DiscoveryHint(id: peer.description, instance: peer.description, endpoints: endpoints)
                if let before = known.updateValue(hint, forKey: peer) {
                    if before != hint { feed.yield(.changed(hint)) }
                } else {
                    feed.yield(.appeared(hint))
                }
            }
            let before = problem
            problem = failures.isEmpty ? nil : .nameNotResolved(peers.filter(failures.contains))
            if let problem {
                if problem != before { feed.yield(.trouble(problem)) }
            } else if before != nil {
                feed.yield(.recovered(.nameNotResolved))
            }
            if !settling.isCancelled {
                settling.cancel()
                if await !settling.value { feed.yield(.settled) }
            }
            // No name server reports that an address has changed.
            try? await Task.sleep(for: problem == nil ? interval : min(interval, .seconds(5)))
        }
    }

    /// Resolves up to eight names at a time, because each blocks a thread. Addresses come first: they need no name
    /// server, which may be slow.
    ///
    /// - Parameter report: Called for each peer as soon as it is resolved, without endpoints if it cannot be.
    private func resolveAll(reporting report: (StaticPeer, [DiscoveryEndpoint]) -> Void) async {
        await withTaskGroup(of: (StaticPeer, [DiscoveryEndpoint]).self) { group in
            for (index, peer) in (peers.filter(\.isAddress) + peers.filter { !$0.isAddress }).enumerated() {
                if index >= 8, let (peer, endpoints) = await group.next() { report(peer, endpoints) }
                group.addTask {
                    do throws(NameResolver.Failure) {
                        return (peer, try await resolve(peer))
                    } catch {
                        logger.debug("a static peer was not resolved", metadata: ["reason": "\(error.reason)"])
                        return (peer, [])
                    }
                }
            }
            for await (peer, endpoints) in group { report(peer, endpoints) }
        }
    }
}

extension DiscoveryProblem {
    static func nameNotResolved(_ peers: [StaticPeer]) -> DiscoveryProblem {
        let names = peers.prefix(3).map(\.description).joined(separator: ", ")
        return DiscoveryProblem(
            code: .nameNotResolved,
            message: "\(peers.count) static peer(s) could not be resolved to an address: \(names).",
            advice: "Check the names and the DNS server. Discovery retries automatically.",
            recoversByItself: true
        )
    }
}
