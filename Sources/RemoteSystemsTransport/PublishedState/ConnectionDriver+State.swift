// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The published state of a connection, in both directions.
struct ConnectionState {
    /// The publisher of this side. Created on the peer's first subscription if none was set.
    var publisher: StatePublisher?
    /// The publisher's id of this connection, from the peer's first subscription on.
    var link: StatePublisher.LinkID?
    /// The current subscriptions of this side, by topic.
    var subscribers: [String: StateSubscriber] = [:]
    /// The subscriptions to a topic that already has one on this connection. Each begins when the current one has
    /// ended.
    var waiting: [StateSubscriber] = []
    /// The timers of postponed grants of credit, by topic. None outlasts its subscription: the subscriber may be on
    /// another connection afterwards, to which it grants other credit.
    var grants: [String: Scheduled<Void>] = [:]
}

/// State frames of a connection, in both directions. Called on the event loop.
extension ConnectionDriver {
    /// The maximum number of bytes that a connection sends in one turn of the event loop, before others get their turn.
    private static var maxStateBytesPerTurn: Int { 256 << 10 }

    func received(_ message: StateMessage, bytes: Int) throws(TransportError) {
        switch message {
        case .subscribe, .credit, .unsubscribe:
            guard let (publisher, link) = self.publisherLink(), let peer = self.connection?.peer else { return }
            try publisher.received(message, from: link, peer: peer)
            self.serveState()
        case .part(let part):
            let subscriber = try self.subscriber(of: part.topic)
            if let message = subscriber.received(part, frameBytes: bytes) { self.write(.state(message)) }
            self.grantState(to: subscriber)
        case .end(let topic, let reason):
            let subscriber = try self.subscriber(of: topic)
            self.state.subscribers[topic] = nil
            self.state.grants.removeValue(forKey: topic)?.cancel()
            subscriber.ended(reason)
            self.subscribeWaiting(to: topic)
        }
    }

    private func subscriber(of topic: String) throws(TransportError) -> StateSubscriber {
        guard let subscriber = self.state.subscribers[topic] else {
            throw .violation("state came for a topic without a subscription", .stateUnexpected)
        }
        return subscriber
    }

    // MARK: Publishing

    private func publisherLink() -> (StatePublisher, StatePublisher.LinkID)? {
        if let publisher = self.state.publisher, let link = self.state.link { return (publisher, link) }
        guard let connection = self.connection else { return nil }
        let publisher = self.state.publisher ?? StatePublisher()
        let link = publisher.connect(
            connection.driver,
            peer: connection.peer,
            limit: self.remote.messageBytes,
            on: self.channel.eventLoop
        )
        self.state.publisher = publisher
        self.state.link = link
        return (publisher, link)
    }

    func publish(_ publisher: StatePublisher) {
        guard self.state.link == nil else { return }
        self.state.publisher = publisher
    }

    /// Writes the pending frames to subscribers while the channel is writable.
    func serveState() {
        guard let publisher = self.state.publisher, let link = self.state.link else { return }
        var left = Self.maxStateBytesPerTurn
        while !self.hasEnded {
            guard self.channel.isWritable else {
                publisher.pause(link)
                break
            }
            guard left > 0 else {
                self.serveStateLater()
                break
            }
            guard let frame = publisher.nextFrame(for: link) else { break }
            left -= frame.readableBytes
            self.append(frame)
        }
        // Frames that are written during a read are flushed at its end.
        if !self.isBatching { self.flush() }
    }

    func resumeState() {
        guard let publisher = self.state.publisher, let link = self.state.link else { return }
        publisher.resume(link)
        self.serveState()
    }

    // MARK: Subscribing

    func subscribe(_ subscriber: StateSubscriber) {
        guard !self.hasEnded, self.connection != nil else { return subscriber.connectionEnded() }
        guard self.state.subscribers[subscriber.schema.name] == nil else {
            return self.state.waiting.append(subscriber)
        }
        guard let message = subscriber.begin(with: self.holder) else { return }
        self.state.subscribers[subscriber.schema.name] = subscriber
        self.write(.state(message))
    }

    private func subscribeWaiting(to topic: String) {
        guard let index = self.state.waiting.firstIndex(where: { $0.schema.name == topic }) else { return }
        self.subscribe(self.state.waiting.remove(at: index))
    }

    func unsubscribe(_ subscriber: StateSubscriber) {
        self.state.waiting.removeAll { $0 === subscriber }
        guard self.state.subscribers[subscriber.schema.name] === subscriber, !self.hasEnded,
            let message = subscriber.leave()
        else { return }
        self.write(.state(message))
    }

    func grantState(to subscriber: StateSubscriber) {
        guard self.state.subscribers[subscriber.schema.name] === subscriber, !self.hasEnded else { return }
        switch subscriber.grant() {
        case nil: break
        case .message(let message): self.write(.state(message))
        case .later(let delay):
            let topic = subscriber.schema.name
            guard self.state.grants[topic] == nil else { return }
            let loop = self.channel.eventLoop.assumeIsolated()
            self.state.grants[topic] = loop.scheduleTask(in: TimeAmount(delay)) {
                self.state.grants[topic] = nil
                self.grantState(to: subscriber)
            }
        }
    }

    // MARK: Ending

    func endState() {
        let state = self.state
        self.state = ConnectionState()
        if let link = state.link { state.publisher?.disconnect(link) }
        for timer in state.grants.values { timer.cancel() }
        for subscriber in state.subscribers.values { subscriber.connectionEnded() }
        for subscriber in state.waiting { subscriber.connectionEnded() }
    }
}
