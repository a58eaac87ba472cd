// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing
import ValueSets

@testable import RemoteSystemsTransport

@Suite struct StateMessageTests {
    private static let messages: [StateMessage] = {
        var part = StateMessage.Part(topic: "presence", epoch: .max, from: nil)
        part.put = ["system": ["name": "a"], "attribute/é": [:]]
        var last = part
        last.number = 3
        last.to = 17
        last.drop = ["a", "b"]
        var delta = StateMessage.Part(topic: "presence", epoch: 0, from: 0)
        delta.to = .max
        return [
            .subscribe(topic: "presence", schema: 1, credit: 65_536, resuming: nil),
            .subscribe(topic: "presence", schema: 1, credit: 65_536, resuming: .init(epoch: .max, version: 0)),
            .part(part), .part(last), .part(delta), .credit(topic: "a", bytes: 1), .end(topic: "a", .topicUnknown),
            .end(topic: "a", StateEndReason(rawValue: "of-a-later-version")), .unsubscribe(topic: "a", reason: nil),
            .unsubscribe(topic: "a", reason: "budget-exceeded"),
        ]
    }()

    private static func bytes(_ frame: Frame) throws -> [UInt8] {
        var buffer = ByteBuffer()
        try buffer.writeFrame(frame, limit: 1 << 20)
        return Array(buffer.readableBytesView.dropFirst(4))
    }

    private static func read(_ operation: UInt64, _ body: ValueSet) throws -> Frame {
        try Frame(ByteBuffer(bytes: Value.array([12, Value(operation), .dictionary(body)]).encoded()))
    }

    @Test(arguments: messages) func `a message survives its conversion to bytes`(message: StateMessage) throws {
        #expect(try Frame(ByteBuffer(bytes: Self.bytes(.state(message)))) == .state(message))
    }

    @Test func `keys of a newer version are ignored`() throws {
        #expect(
            try Self.read(4, ["topic": "a", "reason": "busy", "colour": "red"]) == .state(.end(topic: "a", .busy))
        )
    }

    @Test func `an operation of a newer version is ignored`() throws {
        #expect(try Self.read(6, ["anything": 1]) == .unknown(kind: 12))
        #expect(throws: TransportError.self) { try Frame(ByteBuffer(bytes: Value.array([12, 6]).encoded())) }
    }

    @Test(
        arguments: [
            (0, ["schema": 1, "credit": 1]), (0, ["topic": "a", "credit": 1]), (0, ["topic": "a", "schema": 1]),
            (0, ["topic": "a", "schema": 1, "credit": -1]), (0, ["topic": "a", "schema": 1.0, "credit": 1]),
            (0, ["topic": "a", "schema": 1, "credit": 1, "epoch": 1]),
            (0, ["topic": "a", "schema": 1, "credit": 1, "after": 1]),
            (0, ["topic": "", "schema": 1, "credit": 1]), (0, ["topic": "A", "schema": 1, "credit": 1]),
            (0, ["topic": .string(String(repeating: "a", count: 65)), "schema": 1, "credit": 1]),
            (1, ["topic": "a"]), (1, ["topic": "a", "epoch": 1, "put": []]),
            (1, ["topic": "a", "epoch": 1, "put": ["k": 1]]),
            (1, ["topic": "a", "epoch": 1, "drop": "k"]), (1, ["topic": "a", "epoch": 1, "drop": [1]]),
            (1, ["topic": "a", "epoch": 1, "to": .null]), (1, ["topic": "a", "epoch": 1, "part": -1]),
            (2, ["topic": "a", "epoch": 1]), (3, ["topic": "a"]), (3, ["topic": "a", "credit": "1"]),
            (4, ["topic": "a"]),
            (4, ["topic": "a", "reason": "No!"]), (5, ["reason": "a"]), (5, ["topic": "a", "reason": 1]),
        ] as [(UInt64, ValueSet)]
    )
    func `a message that breaks the rule of a key is malformed`(operation: UInt64, body: ValueSet) {
        let error = #expect(throws: TransportError.self) { try Self.read(operation, body) }
        #expect(error?.failureCode == "frame-malformed")
    }

    @Test(arguments: 1...40) func `any bytes are refused, or read as a message with the same encoding`(seed: Int) throws
    {
        var random = SplitMix64(state: UInt64(seed))
        let originals = try Self.messages.map { try Self.bytes(.state($0)) }
        var accepted = 0
        for _ in 0..<500 {
            var bytes = try #require(originals.randomElement(using: &random))
            for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
                }
            }
            guard case .state(let message)? = try? Frame(ByteBuffer(bytes: bytes)) else { continue }
            accepted += 1
            // Ignored keys are left out, so the second reading is what is compared.
            #expect(try Frame(ByteBuffer(bytes: Self.bytes(.state(message)))) == .state(message))
            var publisher = try TestPublisher([.test("presence")])
            publisher.connect()
            try? publisher.subscribe(to: "presence")
            var subscriber = StateSubscriberStateMachine(.test("presence"), window: 0)
            _ = subscriber.subscribe()
            switch message {
            case .subscribe(let topic, let schema, let credit, let position):
                try? publisher.machine.subscribe(
                    1,
                    topic: topic,
                    schema: schema,
                    credit: credit,
                    resuming: position,
                    view: TopicView("all")
                )
            case .credit(let topic, let bytes): publisher.machine.credit(1, topic: topic, bytes: bytes)
            case .unsubscribe(let topic, _): publisher.machine.unsubscribe(1, topic: topic)
            case .part(let part): _ = subscriber.received(part, frameBytes: bytes.count)
            case .end(_, let reason): _ = subscriber.ended(reason)
            }
            _ = try publisher.frames()
            #expect(subscriber.bytes <= bytes.count)
        }
        #expect(accepted > 0)
    }
}
