// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity
internal import Synchronization
package import ValueSets

/// Publishes topics on connections.
///
/// One publisher serves any number of connections; ``Connection/publish(_:)`` offers it on one. A connection asks for
/// frames while it is writable, and changes in between are coalesced, so a subscriber that does not read costs no
/// memory. A change is encoded once for all subscribers with the same view and version.
package final class StatePublisher: Sendable {
    typealias LinkID = StatePublisherStateMachine.LinkID

    private struct Link {
        let peer: PeerIdentity
        let eventLoop: any EventLoop
        let driver: NIOLoopBound<ConnectionDriver>
    }

    private struct State {
        var machine: StatePublisherStateMachine
        var links: [LinkID: Link] = [:]
        var audiences: [String: TopicAudience] = [:]
        var lastLink: LinkID = 0
        /// The number of changes that may alter the result of an audience.
        var reviews: UInt64 = 0
    }

    private let state: Mutex<State>

    package init(limits: StateLimits = StateLimits()) {
        self.state = Mutex(State(machine: StatePublisherStateMachine(limits: limits)))
    }

    /// The number of subscriptions.
    package var subscriptions: Int { self.state.withLock { $0.machine.subscriptions } }

    // MARK: Topics

    /// Starts publishing a topic, without records.
    ///
    /// - Throws: ``TransportError`` if the name is malformed or in use, or the publisher has its maximum number of
    ///   topics.
    package func open(_ schema: TopicSchema, for audience: TopicAudience) throws(TransportError) -> PublishedTopic {
        let seed = UInt64.random(in: .min ... .max)
        try self.state.withLock { state throws(TransportError) in
            try state.machine.open(schema, includes: audience.includes, seed: seed)
            state.audiences[schema.name] = audience
            state.reviews += 1
        }
        return PublishedTopic(publisher: self, name: schema.name, seed: seed)
    }

    func close(_ topic: String, seed: UInt64) {
        let ready = self.state.withLock { state in
            guard state.machine.isOpen(topic, seed: seed) else { return [Link]() }
            state.audiences[topic] = nil
            state.reviews += 1
            return state.machine.close(topic, seed: seed).compactMap { state.links[$0] }
        }
        Self.serve(ready)
    }

    func commit(_ topic: String, seed: UInt64, put: [StateKey: ValueSet], drop: [StateKey]) throws(TransportError) {
        let ready = try self.state.withLock { state throws(TransportError) in
            try state.machine.commit(topic, seed: seed, put: put, drop: drop).compactMap { state.links[$0] }
        }
        Self.serve(ready)
    }

    func replace(_ topic: String, seed: UInt64, by records: [StateKey: ValueSet]) throws(TransportError) {
        let ready = try self.state.withLock { state throws(TransportError) in
            let drop = state.machine.keys(of: topic).filter { records[$0] == nil }
            return try state.machine.commit(topic, seed: seed, put: records, drop: drop)
                .compactMap { state.links[$0] }
        }
        Self.serve(ready)
    }

    func version(of topic: String, seed: UInt64) -> UInt64? {
        self.state.withLock { $0.machine.version(of: topic, seed: seed) }
    }

    /// Lets the connections ask for frames, in one turn of each event loop.
    private static func serve(_ links: [Link]) {
        var left = links[...]
        while let first = left.first {
            let here = left.filter { $0.eventLoop === first.eventLoop }.map(\.driver)
            left = left.filter { $0.eventLoop !== first.eventLoop }[...]
            first.eventLoop.execute {
                for driver in here { driver.value.serveState() }
            }
        }
    }

    // MARK: Trust

    /// Evaluates the audiences of all topics again, after the trust in a system changed. Subscriptions of systems that
    /// may no longer subscribe end. Subscribers with another view than before receive a snapshot.
    package func reviewRights() {
        let (subscriptions, review) = self.state.withLock { state in
            state.reviews += 1
            let all = state.machine.allSubscriptions.compactMap { id, topic in
                state.links[id].map { (id: id, topic: topic, peer: $0.peer, audience: state.audiences[topic]) }
            }
            return (all, state.reviews)
        }
        var ready: [Link] = []
        for (id, topic, peer, audience) in subscriptions {
            let view = audience?.view(peer)
            let isCurrent = self.state.withLock { state in
                guard state.reviews == review else { return false }
                if state.machine.review(id, topic: topic, view: view), let link = state.links[id] { ready.append(link) }
                return true
            }
            // A later review has started, which covers all subscriptions.
            guard isCurrent else { break }
        }
        Self.serve(ready)
    }

    // MARK: Connections

    /// Called on the connection's event loop.
    func connect(_ driver: NIOLoopBound<ConnectionDriver>, peer: PeerIdentity, limit: Int, on loop: any EventLoop)
        -> LinkID
    {
        self.state.withLock { state in
            state.lastLink += 1
            state.links[state.lastLink] = Link(peer: peer, eventLoop: loop, driver: driver)
            state.machine.connect(state.lastLink, peer: "\(peer.systemID)", limit: limit)
            return state.lastLink
        }
    }

    func disconnect(_ id: LinkID) {
        self.state.withLock { state in
            state.links[id] = nil
            state.machine.disconnect(id)
        }
    }

    func received(_ message: StateMessage, from id: LinkID, peer: PeerIdentity) throws(TransportError) {
        switch message {
        case .subscribe(let topic, let schema, let credit, let position):
            var isDone = false
            while !isDone {
                let (audience, review) = self.state.withLock { ($0.audiences[topic], $0.reviews) }
                let view = audience?.view(peer)
                isDone = try self.state.withLock { state throws(TransportError) in
                    // The rights may have changed while the audience was evaluated.
                    guard state.reviews == review else { return false }
                    try state.machine.subscribe(
                        id,
                        topic: topic,
                        schema: schema,
                        credit: credit,
                        resuming: position,
                        view: view
                    )
                    return true
                }
            }
        case .credit(let topic, let bytes):
            self.state.withLock { $0.machine.credit(id, topic: topic, bytes: bytes) }
        case .unsubscribe(let topic, _):
            self.state.withLock { $0.machine.unsubscribe(id, topic: topic) }
        case .part, .end:
            break
        }
    }

    func nextFrame(for id: LinkID) -> ByteBuffer? {
        self.state.withLock { $0.machine.nextFrame(id) }
    }

    func pause(_ id: LinkID) {
        self.state.withLock { $0.machine.pause(id) }
    }

    func resume(_ id: LinkID) {
        self.state.withLock { $0.machine.resume(id) }
    }
}

/// A topic that this process publishes. It is closed when its last reference is released.
package final class PublishedTopic: Sendable {
    package let name: String
    private let publisher: StatePublisher
    private let seed: UInt64

    fileprivate init(publisher: StatePublisher, name: String, seed: UInt64) {
        self.publisher = publisher
        self.name = name
        self.seed = seed
    }

    deinit {
        self.close()
    }

    /// The number of commits that changed something; `nil` after the topic was closed.
    package var version: UInt64? { self.publisher.version(of: self.name, seed: self.seed) }

    /// Changes several records as one version: subscribers receive all changes or none. Unchanged records cost nothing.
    ///
    /// - Throws: ``TransportError`` if the schema or the bounds of a topic do not allow the change, or the topic is
    ///   closed. Nothing is changed then.
    package func commit(put: [StateKey: ValueSet] = [:], drop: [StateKey] = []) throws(TransportError) {
        try self.publisher.commit(self.name, seed: self.seed, put: put, drop: drop)
    }

    /// Replaces all records of the topic, as one version. Subscribers receive the difference.
    ///
    /// - Throws: as ``commit(put:drop:)``.
    package func replace(by records: [StateKey: ValueSet]) throws(TransportError) {
        try self.publisher.replace(self.name, seed: self.seed, by: records)
    }

    /// Ends all subscriptions with ``StateEndReason/topicClosed``. Further calls have no effect.
    package func close() {
        self.publisher.close(self.name, seed: self.seed)
    }
}
