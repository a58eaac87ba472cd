// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOCore

@testable import RemoteSystemsTransport
@testable import ValueSets

extension TopicSchema {
    /// Small and large records.
    static let notes = TopicSchema(
        "notes",
        priority: .presence,
        records: [
            Records("note/", fields: [.optional("text", .string), .optional("number", .integer)]),
            Records("blob/", fields: [.required("bytes", .data)]),
        ]
    )
}

/// Runs a publisher and a subscriber, over two queues of messages, in the order of the input. The input may also send
/// messages of its own to each side.
func fuzzPublishedState(_ input: [UInt8]) {
    let script = Script(input)
    var exchange = StateExchange(script.head)
    for command in script.commands.prefix(256) { exchange.perform(command) }
    exchange.finish()
}

private struct StateExchange {
    /// Identifies the opening of the topic.
    private var seed: UInt64 = 0
    private var publisher: StatePublisherStateMachine
    private var subscriber: StateSubscriberStateMachine
    private var toSubscriber: [(message: StateMessage, bytes: Int)] = []
    private var toPublisher: [StateMessage] = []
    private var isConnected = false
    private var view = TopicView("all")
    /// The records that the topic should have.
    private var current: [StateKey: ValueSet] = [:]
    /// The records that the subscriber's owner has, from the changes that it took.
    private var owned: [StateKey: ValueSet] = [:]
    /// Whether each side has received only what the other one sent.
    private var isGenuine = true
    /// The bytes that the publisher may still send.
    private var credit = 0

    init(_ head: [UInt8]) {
        var limits = StateLimits()
        limits.tombstones = Int(head[0] % 12) + 1
        limits.subscriptionsPerConnection = Int(head[1] % 3) + 1
        self.publisher = StatePublisherStateMachine(limits: limits)
        self.subscriber = StateSubscriberStateMachine(.notes, window: StateLimits.minCredit)
        self.open()
    }

    private mutating func open() {
        self.seed += 1
        do {
            try self.publisher.open(
                .notes,
                includes: { view, key in view.name == "all" || !key.text.hasPrefix("note/s") },
                seed: self.seed
            )
        } catch {
            broken("a topic cannot be opened: \(error)")
        }
    }

    mutating func perform(_ command: Command) {
        switch command.kind % 13 {
        case 0: self.commit(command)
        case 1:
            let key = Self.key(command.argument)
            if (try? self.publisher.commit("notes", seed: self.seed, put: [:], drop: [key])) != nil {
                self.current[key] = nil
            }
        case 2: self.serve(Int(command.argument % 4) + 1)
        case 3: self.deliverToSubscriber()
        case 4: self.deliverToPublisher()
        case 5: self.take()
        case 6: self.disconnect()
        case 7:
            self.view = TopicView(self.view.name == "all" ? "some" : "all")
            _ = self.publisher.review(1, topic: "notes", view: self.view)
        case 8:
            guard case .state(let message)? = try? Frame(ByteBuffer(bytes: command.payload)) else { return }
            self.isGenuine = false
            self.receive(message, bytes: command.payload.count)
        case 9:
            guard case .state(let message)? = try? Frame(ByteBuffer(bytes: command.payload)) else { return }
            self.isGenuine = false
            self.publish(message)
        case 10: self.publisher.pause(1)
        case 11: if let message = self.subscriber.unsubscribe() { self.toPublisher.append(message) }
        default:
            _ = self.publisher.close("notes", seed: self.seed)
            require(self.publisher.bytes == 0, "a closed topic still counts")
            self.current = [:]
            self.open()
        }
        self.connect()
        self.check()
    }

    private static func key(_ number: UInt8) -> StateKey {
        switch number % 16 {
        case 0..<4: "blob/\(number % 4)"
        case 4..<7: "note/s\(number % 4)"
        default: "note/\(number % 16)"
        }
    }

    private mutating func commit(_ command: Command) {
        let key = Self.key(command.argument)
        let size = command.payload.reduce(0) { $0 &* 31 &+ Int($1) } % 20_000
        let record: ValueSet =
            key.text.hasPrefix("blob/")
            ? ["bytes": .data(Data(repeating: command.argument, count: abs(size)))]
            : ["text": .string(String(decoding: command.payload.prefix(64), as: UTF8.self))]
        let change = try? self.publisher.commit("notes", seed: self.seed, put: [key: record], drop: [])
        if change != nil { self.current[key] = record }
        let fits = ((try? record.encodedSize()) ?? .max) <= StateLimits.recordBytes
        require((change != nil) == fits, "a record is refused that fits, or accepted that does not")
    }

    private mutating func serve(_ count: Int) {
        self.publisher.resume(1)
        for _ in 0..<count {
            guard let frame = self.publisher.nextFrame(1) else { return }
            let bytes = frame.readableBytes - FrameDecoder.lengthBytes
            require(bytes <= StateLimits.partBytes, "a frame of the publisher is too long")
            guard case .state(let message)? = try? Frame(frame.getSlice(at: 4, length: bytes) ?? ByteBuffer()) else {
                broken("the publisher's frame cannot be read")
            }
            if case .part = message {
                self.credit -= bytes
                if self.isGenuine { require(self.credit >= 0, "the publisher sends more than it was granted") }
            }
            self.toSubscriber.append((message, bytes))
        }
    }

    private mutating func deliverToSubscriber() {
        guard !self.toSubscriber.isEmpty else { return }
        let (message, bytes) = self.toSubscriber.removeFirst()
        self.receive(message, bytes: bytes)
    }

    private mutating func receive(_ message: StateMessage, bytes: Int) {
        switch message {
        case .part(let part):
            guard part.topic == "notes" else { return }
            if let reply = self.subscriber.received(part, frameBytes: bytes) {
                if case .unsubscribe(_, let reason?) = reply, self.isGenuine {
                    broken("the subscriber objects: \(reason)")
                }
                self.toPublisher.append(reply)
            }
        case .end(let topic, let reason):
            if topic == "notes" { _ = self.subscriber.ended(reason) }
        case .subscribe, .credit, .unsubscribe: break
        }
    }

    private mutating func deliverToPublisher() {
        guard !self.toPublisher.isEmpty else { return }
        self.publish(self.toPublisher.removeFirst())
    }

    private mutating func publish(_ message: StateMessage) {
        switch message {
        case .subscribe(let topic, let schema, let credit, let position):
            do {
                try self.publisher.subscribe(
                    1,
                    topic: topic,
                    schema: schema,
                    credit: credit,
                    resuming: position,
                    view: self.view
                )
                if topic == "notes" { self.credit = Int(clamping: credit) }
            } catch {
                if self.isGenuine { broken("the publisher refuses a genuine subscription: \(error)") }
                // The connection ends after a violation.
                self.disconnect()
            }
        case .credit(let topic, let bytes):
            self.publisher.credit(1, topic: topic, bytes: bytes)
            if topic == "notes" { self.credit += min(Int(clamping: bytes), 1 << 40) }
        case .unsubscribe(let topic, _): self.publisher.unsubscribe(1, topic: topic)
        case .part, .end: break
        }
    }

    private mutating func take() {
        guard let change = self.subscriber.takeChange() else { return }
        for (key, record) in change.put { self.owned[key] = record }
        for key in change.drop { self.owned[key] = nil }
        require(self.owned == self.subscriber.records.mapValues(\.value), "the owner has other records")
        if let message = self.subscriber.grant() { self.toPublisher.append(message) }
    }

    private mutating func connect() {
        if !self.isConnected {
            self.isConnected = true
            self.publisher.connect(1, peer: "peer", limit: 1 << 20)
        }
        if self.subscriber.isIdle, let message = self.subscriber.subscribe() { self.toPublisher.append(message) }
    }

    private mutating func disconnect() {
        self.isConnected = false
        self.publisher.disconnect(1)
        require(self.publisher.subscriptions == 0, "a subscription outlives its connection")
        _ = self.subscriber.connectionEnded()
        (self.toSubscriber, self.toPublisher, self.credit) = ([], [], 0)
    }

    private func check() {
        let bytes = self.subscriber.records.reduce(0) { $0 + $1.key.text.utf8.count + $1.value.bytes }
        require(bytes <= self.subscriber.bytes, "the subscriber counts too little")
        require(self.subscriber.bytes <= 3 * StateLimits.topicBytes, "the subscriber holds too much")
        require(bytes <= StateLimits.topicBytes, "a topic is too large")
        require(self.subscriber.records.count <= StateLimits.topicRecords, "a topic has too many records")
        require(self.publisher.bytes <= StateLimits.topicBytes, "the publisher holds too much")
    }

    /// Delivers everything. Both sides agree then, unless the input sent messages of its own.
    mutating func finish() {
        self.disconnect()
        if !self.isGenuine {
            // A new subscriber, because the old one may hold what another publisher sent.
            self.subscriber = StateSubscriberStateMachine(.notes, window: StateLimits.minCredit)
            self.owned = [:]
        }
        self.isGenuine = true
        self.connect()
        for _ in 0..<400 {
            self.deliverToPublisher()
            self.serve(1)
            let isQuiet = self.toPublisher.isEmpty && self.toSubscriber.isEmpty
            self.deliverToSubscriber()
            self.take()
            if isQuiet { break }
        }
        require(self.toPublisher.isEmpty && self.toSubscriber.isEmpty, "the exchange does not end")
        let visible = self.current.filter { self.view.name == "all" || !$0.key.text.hasPrefix("note/s") }
        require(self.subscriber.records.mapValues(\.value) == visible, "the subscriber has other records in the end")
        self.check()
        self.disconnect()
    }
}
