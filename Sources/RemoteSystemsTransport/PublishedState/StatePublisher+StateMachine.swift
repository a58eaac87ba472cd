// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import ValueSets

/// The rules of publishing: the topics, the connections that subscribe to them, and the next frame for each connection.
///
/// A value type without I/O or a clock. The driver (``StatePublisher``) asks for one frame at a time while a connection
/// is writable. Nothing is queued for a subscriber that does not read; the changes that it missed are found in the
/// topic's records.
struct StatePublisherStateMachine: Sendable {
    typealias LinkID = UInt64

    let limits: StateLimits
    private var topics: [String: PublishedTopicState] = [:]
    private var links: [LinkID: StateLink] = [:]
    /// The subscriptions by peers.
    private var limiter: KeyedLimiter<String>
    /// The length of all topics, in bytes.
    private(set) var bytes = 0

    init(limits: StateLimits = StateLimits()) {
        self.limits = limits
        self.limiter = KeyedLimiter(total: limits.subscriptions, perKey: limits.subscriptionsPerPeer)
    }

    /// The number of subscriptions.
    var subscriptions: Int { self.limiter.count }

    // MARK: Topics

    /// Opens a topic.
    ///
    /// - Throws: ``TransportError`` if the name is malformed or in use, or if there are too many topics.
    mutating func open(
        _ schema: TopicSchema,
        includes: @escaping @Sendable (TopicView, StateKey) -> Bool,
        seed: UInt64
    ) throws(TransportError) {
        guard StateMessage.isName(schema.name), self.topics[schema.name] == nil, self.topics.count < self.limits.topics
        else {
            throw TransportError(
                .invalidMessage,
                "The topic \(schema.name) cannot be published: the name is malformed or in use, or there are "
                    + "\(self.limits.topics) topics already.",
                side: .local
            )
        }
        self.topics[schema.name] = PublishedTopicState(
            schema: schema,
            includes: includes,
            seed: seed,
            maxTombstones: self.limits.tombstones
        )
    }

    func isOpen(_ name: String, seed: UInt64) -> Bool { self.topics[name]?.seed == seed }

    func keys(of name: String) -> [StateKey] {
        self.topics[name].map { Array($0.records.records.keys) } ?? []
    }

    func version(of name: String, seed: UInt64) -> UInt64? {
        self.isOpen(name, seed: seed) ? self.topics[name]?.records.version : nil
    }

    /// Closes a topic and ends its subscriptions.
    ///
    /// - Parameter seed: identifies the topic, because another one with the same name may have replaced it.
    /// - Returns: the connections to serve.
    mutating func close(_ name: String, seed: UInt64) -> [LinkID] {
        guard let topic = self.topics[name], topic.seed == seed else { return [] }
        self.topics[name] = nil
        self.bytes -= topic.records.bytes
        for id in topic.subscribers { self.end(id, name, .topicClosed) }
        return topic.subscribers.filter { self.schedule($0) }
    }

    /// Changes several records as one version.
    ///
    /// - Returns: the connections to serve.
    /// - Throws: ``TransportError``; nothing is changed then.
    mutating func commit(
        _ name: String,
        seed: UInt64,
        put: [StateKey: ValueSet],
        drop: [StateKey]
    ) throws(TransportError) -> [LinkID] {
        let (measured, growth) = try self.measure(name, seed: seed, put: put, drop: drop)
        guard self.topics[name]?.commit(put: measured, drop: drop) == true else { return [] }
        self.bytes += growth
        var ready: [LinkID] = []
        for id in self.topics[name]?.subscribers ?? [] where self.schedule(id) { ready.append(id) }
        return ready
    }

    /// A separate function, so that no copy of the topic exists while it changes.
    private func measure(
        _ name: String,
        seed: UInt64,
        put: [StateKey: ValueSet],
        drop: [StateKey]
    ) throws(TransportError) -> (put: [(key: StateKey, value: ValueSet, bytes: Int)], growth: Int) {
        guard let topic = self.topics[name], topic.seed == seed else {
            throw TransportError(.connectionClosed, "The topic \(name) was closed.", side: .local)
        }
        guard !drop.contains(where: { put[$0] != nil }) else {
            throw TransportError(
                .invalidMessage,
                "A key of the topic \(name) is both put and dropped.",
                side: .local
            )
        }
        var measured: [(key: StateKey, value: ValueSet, bytes: Int)] = []
        measured.reserveCapacity(put.count)
        for (key, value) in put {
            measured.append((key, value, try topic.schema.measure(value, for: key)))
        }
        let growth = topic.records.growth(put: measured, drop: drop)
        guard topic.records.bytes + growth.bytes <= StateLimits.topicBytes,
            topic.records.records.count + growth.records <= StateLimits.topicRecords,
            self.bytes + growth.bytes <= self.limits.publisherBytes
        else {
            throw TransportError(
                .messageTooLarge,
                "The topic \(name) would become too large. A topic has at most \(StateLimits.topicRecords) records and "
                    + "\(StateLimits.topicBytes) bytes, all topics together \(self.limits.publisherBytes) bytes.",
                side: .local
            )
        }
        return (measured, growth.bytes)
    }

    /// Notes that a connection has something to send.
    ///
    /// - Returns: whether the driver must serve the connection; `false` if it is going to already, or cannot now.
    private mutating func schedule(_ id: LinkID) -> Bool {
        guard let link = self.links[id], !link.isScheduled, !link.isPaused else { return false }
        self.links[id]?.isScheduled = true
        return true
    }

    // MARK: Connections

    mutating func connect(_ id: LinkID, peer: String, limit: Int) {
        self.links[id] = StateLink(peer: peer, limit: limit)
    }

    mutating func disconnect(_ id: LinkID) {
        guard let link = self.links.removeValue(forKey: id) else { return }
        for subscription in link.subscriptions {
            self.topics[subscription.topic]?.subscribers.remove(id)
            self.limiter.leave(link.peer)
        }
    }

    /// Stops serving the connection until ``resume(_:)``, because it is not writable.
    mutating func pause(_ id: LinkID) {
        self.links[id]?.isPaused = true
        self.links[id]?.isScheduled = false
    }

    /// Marks the connection as writable. The driver must serve it afterwards.
    mutating func resume(_ id: LinkID) {
        self.links[id]?.isPaused = false
    }

    /// Returns the next frame for the connection, with its length field; `nil` if there is nothing to send. The
    /// connection is then served again after a commit or a message of the peer.
    mutating func nextFrame(_ id: LinkID) -> ByteBuffer? {
        while true {
            if let end = self.links[id]?.takeEnd() { return Self.frame(.end(topic: end.topic, end.reason)) }
            guard let index = self.links[id]?.next(self.topics) else { break }
            switch self.serve(id, index) {
            case .frame(let frame): return frame
            case .nothing, .blocked: break
            case .end(let reason): self.end(id, at: index, reason)
            }
        }
        self.links[id]?.isScheduled = false
        return nil
    }

    private mutating func serve(_ id: LinkID, _ index: Int) -> PublishedTopicState.Outcome {
        self.links[id]?.serve(index, &self.topics) ?? .nothing
    }

    private static func frame(_ message: StateMessage) -> ByteBuffer {
        var frame = ByteBuffer()
        // The frame always fits, because names are short.
        try? frame.writeFrame(.state(message), limit: StateLimits.partBytes)
        return frame
    }

    // MARK: Messages from subscribers

    /// Handles a subscriber's SUBSCRIBE message.
    ///
    /// - Parameter view: the peer's view of the topic; `nil` if the peer may not subscribe, which is answered as if
    ///   there were no such topic.
    /// - Throws: ``TransportError`` if the peer broke the protocol.
    mutating func subscribe(
        _ id: LinkID,
        topic name: String,
        schema: UInt64,
        credit: UInt64,
        resuming position: StateMessage.Position?,
        view: TopicView?
    ) throws(TransportError) {
        guard let link = self.links[id] else { return }
        guard link.index(of: name) == nil else {
            throw .violation("it subscribed to a topic twice", .stateUnexpected)
        }
        guard link.subscriptions.count + link.ends.count < self.limits.subscriptionsPerConnection else {
            throw .violation(
                "it has more than \(self.limits.subscriptionsPerConnection) subscriptions on a connection",
                .subscriptionsExceeded,
                closing: .resourceLimitsExceeded
            )
        }
        guard let view, let topic = self.topics[name] else { return self.refuse(id, name, .topicUnknown) }
        guard topic.schema.version == schema else { return self.refuse(id, name, .schemaUnsupported) }
        guard link.limit >= StateLimits.minLimit else { return self.refuse(id, name, .limitTooSmall) }
        guard (UInt64(StateLimits.minCredit)...UInt64(StateLimits.maxCredit)).contains(credit) else {
            return self.refuse(id, name, .creditInvalid)
        }
        guard self.limiter.enter(link.peer) else { return self.refuse(id, name, .busy) }
        let epoch = topic.epoch(of: view)
        var resumed: (version: UInt64, sequence: UInt64)?
        if let position, position.epoch == epoch, let sequence = topic.records.sequence(of: position.version) {
            resumed = (position.version, sequence)
        }
        self.links[id]?.subscriptions.append(
            StateSubscription(
                topic: topic.schema,
                view: view,
                epoch: epoch,
                credit: Int(credit),
                resumed: resumed
            )
        )
        self.topics[name]?.subscribers.insert(id)
    }

    private mutating func refuse(_ id: LinkID, _ topic: String, _ reason: StateEndReason) {
        self.links[id]?.ends.append((topic, reason))
    }

    /// Adds credit. Credit for a subscription that has ended is ignored, because the frames may have crossed.
    mutating func credit(_ id: LinkID, topic: String, bytes: UInt64) {
        guard let index = self.links[id]?.index(of: topic), let old = self.links[id]?.subscriptions[index].credit else {
            return
        }
        let (sum, isOver) = old.addingReportingOverflow(Int(clamping: bytes))
        guard !isOver, sum <= StateLimits.maxCredit else { return self.end(id, topic, .creditInvalid) }
        self.links[id]?.subscriptions[index].credit = sum
        self.links[id]?.subscriptions[index].isBlocked = false
    }

    mutating func unsubscribe(_ id: LinkID, topic: String) {
        self.end(id, topic, .unsubscribed)
    }

    private mutating func end(_ id: LinkID, _ topic: String, _ reason: StateEndReason) {
        guard let index = self.links[id]?.index(of: topic) else { return }
        self.end(id, at: index, reason)
    }

    private mutating func end(_ id: LinkID, at index: Int, _ reason: StateEndReason) {
        guard let peer = self.links[id]?.peer, let topic = self.links[id]?.end(at: index, reason) else { return }
        self.topics[topic]?.subscribers.remove(id)
        self.limiter.leave(peer)
    }

    // MARK: Trust

    /// All subscriptions, for a review after a change of trust.
    var allSubscriptions: [(link: LinkID, topic: String)] {
        self.links.flatMap { id, link in link.subscriptions.map { (id, $0.topic) } }
    }

    /// Applies the peer's view again, after it may have changed.
    ///
    /// - Returns: whether the driver must serve the connection.
    mutating func review(_ id: LinkID, topic name: String, view: TopicView?) -> Bool {
        guard let index = self.links[id]?.index(of: name), let topic = self.topics[name] else { return false }
        guard let view else {
            self.end(id, name, .topicUnknown)
            return self.schedule(id)
        }
        guard self.links[id]?.subscriptions[index].view != view else { return false }
        self.links[id]?.subscriptions[index].startAnew(view: view, epoch: topic.epoch(of: view))
        return self.schedule(id)
    }
}
