// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// A publisher and a subscriber exchange messages over two in-memory pipes, with events in random order: commits, slow
/// reading, late credit, lost connections, republished topics, changed rights. A plain history of all versions is the
/// reference.
///
/// The invariants: at any time the subscriber's state equals the publisher's at the version that the subscriber claims,
/// within its view; the changes reported to its owner add up to the same state; in the end both agree.
@Suite struct StateModelTests {
    @Test(arguments: 1...60)
    func `the subscriber's state equals the publisher's at its version, for any order of events`(
        seed: Int
    ) throws {
        var random = SplitMix64(state: UInt64(seed))
        var world = try World(random: &random)
        for _ in 0..<400 { try world.step(&random) }
        try world.finish()
        #expect(world.completed > 0)
    }
}

private struct World {
    struct Writer {
        var generation: Int
        var view: String
    }

    var publisher: TestPublisher
    var subscriber: StateSubscriberStateMachine
    var toSubscriber: [(message: StateMessage, bytes: Int)] = []
    var toPublisher: [StateMessage] = []
    var isConnected = false
    var view = "all"
    var current: [StateKey: ValueSet] = [:]
    /// By the topic's generation and version.
    var history: [[UInt64: [StateKey: ValueSet]]] = [[0: [:]]]
    /// The writer of each epoch.
    var writers: [UInt64: Writer] = [:]
    /// The owner's state, from the reported changes.
    var owned: [StateKey: ValueSet] = [:]
    var completed = 0

    init(random: inout SplitMix64) throws {
        var limits = StateLimits()
        limits.tombstones = Int.random(in: 1...12, using: &random)
        self.publisher = try TestPublisher(limits: limits)
        self.subscriber = StateSubscriberStateMachine(.test, window: StateLimits.minCredit)
    }

    mutating func step(_ random: inout SplitMix64) throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<30: try self.commit(&random)
        case 30..<55: try self.serve(Int.random(in: 1...4, using: &random))
        case 55..<75: try self.deliverToSubscriber()
        case 75..<85: try self.deliverToPublisher()
        case 85..<93: self.take()
        case 93..<95: self.grant()
        case 95..<96: self.disconnect()
        case 96..<97:
            self.view = self.view == "all" ? "some" : "all"
            _ = self.publisher.machine.review(1, topic: "test", view: TopicView(self.view))
        case 97..<98: try self.publishAnew()
        case 98..<99: if let message = self.subscriber.unsubscribe() { self.toPublisher.append(message) }
        default: self.publisher.machine.pause(1)
        }
        self.connect()
    }

    private mutating func commit(_ random: inout SplitMix64) throws {
        var put: [StateKey: ValueSet] = [:]
        var drop: Set<StateKey> = []
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let number = Int.random(in: 0..<16, using: &random)
            let key: StateKey =
                number < 6 ? "blob/\(number)" : number < 9 ? "attribute/secret\(number)" : "attribute/\(number)"
            if Bool.random(using: &random) {
                drop.insert(key)
                put[key] = nil
            } else {
                drop.remove(key)
                let byte = UInt8.random(in: 0...255, using: &random)
                put[key] =
                    number < 6 ? .blob(Int.random(in: 0...16_000, using: &random), filledWith: byte) : .text("\(byte)")
            }
        }
        try self.publisher.commit("test", put, drop: Array(drop))
        for (key, value) in put { self.current[key] = value }
        for key in drop { self.current[key] = nil }
        let version = try #require(self.publisher.version())
        self.history[self.history.count - 1][version] = self.current
    }

    private mutating func publishAnew() throws {
        _ = self.publisher.close()
        try self.publisher.open(.test)
        self.current = [:]
        self.history.append([0: [:]])
    }

    private mutating func connect() {
        if !self.isConnected {
            self.isConnected = true
            self.publisher.connect()
        }
        if self.subscriber.isIdle, let message = self.subscriber.subscribe() { self.toPublisher.append(message) }
    }

    private mutating func disconnect() {
        self.isConnected = false
        self.publisher.machine.disconnect(1)
        _ = self.subscriber.connectionEnded()
        self.toSubscriber = []
        self.toPublisher = []
    }

    private mutating func serve(_ count: Int) throws {
        self.publisher.machine.resume(1)
        for (message, bytes) in try self.publisher.frames(atMost: count) {
            if case .part(let part) = message {
                let writer = Writer(generation: self.history.count - 1, view: self.view)
                if let known = self.writers[part.epoch] {
                    try #require(known.generation == writer.generation && known.view == writer.view)
                }
                self.writers[part.epoch] = writer
            }
            self.toSubscriber.append((message, bytes))
        }
    }

    private mutating func deliverToPublisher() throws {
        guard !self.toPublisher.isEmpty else { return }
        switch self.toPublisher.removeFirst() {
        case .subscribe(let topic, let schema, let credit, let position):
            try self.publisher.subscribe(
                to: topic,
                schema: schema,
                credit: Int(credit),
                resuming: position,
                view: self.view
            )
        case .credit(let topic, let bytes): self.publisher.machine.credit(1, topic: topic, bytes: bytes)
        case .unsubscribe(let topic, let reason):
            try #require(reason == nil, "the subscriber objects: \(reason ?? "")")
            self.publisher.machine.unsubscribe(1, topic: topic)
        case .part, .end: break
        }
    }

    private mutating func deliverToSubscriber() throws {
        guard !self.toSubscriber.isEmpty else { return }
        let (message, bytes) = self.toSubscriber.removeFirst()
        switch message {
        case .part(let part):
            let before = self.subscriber.position
            if let answer = self.subscriber.received(part, frameBytes: bytes) { self.toPublisher.append(answer) }
            if self.subscriber.position != before { self.completed += 1 }
        case .end(_, let reason):
            // A slow reader must start again. All other events are caused by the test.
            _ = self.subscriber.ended(reason)
        case .subscribe, .credit, .unsubscribe: break
        }
        try self.check()
    }

    private func check() throws {
        guard let position = self.subscriber.position else { return }
        let writer = try #require(self.writers[position.epoch])
        let then = try #require(self.history[writer.generation][position.version])
        let visible = then.filter { writer.view == "all" || !$0.key.text.hasPrefix("attribute/secret") }
        try #require(self.subscriber.records.mapValues(\.value) == visible)
    }

    private mutating func take() {
        guard let change = self.subscriber.takeChange() else { return }
        for (key, value) in change.put { self.owned[key] = value }
        for key in change.drop { self.owned[key] = nil }
        #expect(self.owned == self.subscriber.records.mapValues(\.value))
        self.grant()
    }

    private mutating func grant() {
        if let message = self.subscriber.grant() { self.toPublisher.append(message) }
    }

    /// Delivers everything in transit, without further commits.
    mutating func finish() throws {
        for _ in 0..<10_000 {
            self.connect()
            try self.serve(4)
            let isQuiet = self.toSubscriber.isEmpty && self.toPublisher.isEmpty && !self.subscriber.hasChange
            if isQuiet, self.subscriber.position?.version == self.publisher.version() { break }
            try self.deliverToPublisher()
            try self.deliverToSubscriber()
            self.take()
        }
        let visible = self.current.filter { self.view == "all" || !$0.key.text.hasPrefix("attribute/secret") }
        #expect(self.subscriber.records.mapValues(\.value) == visible)
        #expect(self.owned == visible)
    }
}
