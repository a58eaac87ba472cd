// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import Logging

/// A source of systems whose places are known beforehand. It announces nothing.
///
/// Names are resolved when a browse starts and again every `interval`, so a host that gets another address is followed.
public struct StaticPeers: DiscoverySource {
    /// How long after the start *settled* is told at the latest.
    private static let settling: Duration = .seconds(5)

    private let peers: [StaticPeer]
    private let interval: Duration
    private let logger: Logger
    /// Equal for sources of the same peers that resolve names as often.
    public let identity: DiscoverySourceIdentity?
    private let resolve: @Sendable (StaticPeer) async throws(NameResolver.Failure) -> [DiscoveryEndpoint]

    /// A source of these peers.
    ///
    /// - Parameters:
    ///   - peers: The peers; at most ``DiscoveryLimits/hints`` of them are told.
    ///   - interval: How often names are resolved anew. Defaults to 60 s. Valid range: 1 s–24 h.
    ///   - logger: Told at level *debug* of names that cannot be resolved.
    /// - Throws: ``DiscoveryError`` with code `invalidInterval` when the interval is out of range.
    public init(
        _ peers: [StaticPeer],
        interval: Duration = .seconds(60),
        logger: Logger
    ) throws(DiscoveryError) {
        guard (.seconds(1) ... .seconds(24 * 3600)).contains(interval) else {
            throw DiscoveryError(
                code: .invalidInterval,
                message: "the interval of static peers is \(interval / .seconds(1)) s. Valid range: 1 s to 86400 s."
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

    /// `static`.
    public var name: String { "static" }

    /// ``DiscoveryType/cloud``: the list says nothing of where a peer is.
    public var discoveryType: DiscoveryType { .cloud }

    /// ``DiscoveryOrigin/configured``: the owner wrote the list.
    public var origin: DiscoveryOrigin { .configured }

    /// Tells each peer whose name can be resolved, then *settled*.
    public func browse() -> DiscoveryEvents {
        let (events, feed) = DiscoveryEvents.makeStream()
        let task = Task { await run(feed) }
        feed.onEnd { task.cancel() }
        return events
    }

    /// Announces nothing, for as long as the surrounding task is not cancelled.
    public func advertise(
        _ advertisement: DiscoveryAdvertisement,
        reporting report: @escaping @Sendable (_ isInEffect: Bool) -> Void
    ) async throws {
        report(false)
        try await self.advertise(advertisement)
    }

    /// Waits until the task is cancelled: a static list announces nothing.
    public func advertise(_ advertisement: DiscoveryAdvertisement) async throws {
        try advertisement.validate()
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(3600))
        }
    }

    @concurrent
    private func run(_ feed: DiscoveryEvents.Feed) async {
        var known: [StaticPeer: DiscoveryHint] = [:]
        var hasProblem = false
        // Looking up a name may take long: *settled* does not wait for it longer than this.
        let settling = Task {
            guard (try? await Task.sleep(for: Self.settling)) != nil else { return false }
            feed.yield(.settled)
            return true
        }
        while !Task.isCancelled {
            let answers = await resolveAll()
            var failures: [StaticPeer] = []
            for peer in peers {
                guard let endpoints = answers[peer], !endpoints.isEmpty else {
                    // An address that was right before is more likely right than none: it is kept.
                    failures.append(peer)
                    continue
                }
                let hint = DiscoveryHint(id: peer.description, instance: peer.description, endpoints: endpoints)
                if let before = known[peer] {
                    if before != hint { feed.yield(.changed(hint)) }
                } else {
                    feed.yield(.appeared(hint))
                }
                known[peer] = hint
            }
            if !failures.isEmpty {
                feed.yield(.trouble(.nameNotResolved(failures)))
            } else if hasProblem {
                feed.yield(.recovered(.nameNotResolved))
            }
            hasProblem = !failures.isEmpty
            if !settling.isCancelled {
                settling.cancel()
                if await !settling.value { feed.yield(.settled) }
            }
            try? await Task.sleep(for: hasProblem ? min(interval, .seconds(5)) : interval)
        }
    }

    /// Resolves a few names at a time: each takes a thread while it waits for an answer.
    private func resolveAll() async -> [StaticPeer: [DiscoveryEndpoint]] {
        await withTaskGroup(of: (StaticPeer, [DiscoveryEndpoint]).self) { group in
            var answers: [StaticPeer: [DiscoveryEndpoint]] = [:]
            for (index, peer) in peers.enumerated() {
                if index >= 8, let (peer, endpoints) = await group.next() { answers[peer] = endpoints }
                group.addTask {
                    do throws(NameResolver.Failure) {
                        return (peer, try await resolve(peer))
                    } catch {
                        logger.debug("a static peer was not resolved", metadata: ["reason": "\(error.reason)"])
                        return (peer, [])
                    }
                }
            }
            for await (peer, endpoints) in group { answers[peer] = endpoints }
            return answers
        }
    }
}

extension DiscoveryProblem {
    static func nameNotResolved(_ peers: [StaticPeer]) -> DiscoveryProblem {
        let names = peers.prefix(3).map(\.description).joined(separator: ", ")
        return DiscoveryProblem(
            code: .nameNotResolved,
            message: "\(peers.count) static peer(s) could not be resolved to an address: \(names).",
            advice: "See whether the names are right and DNS answers. It is tried again by itself.",
            recoversByItself: true
        )
    }
}
