// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing
import ValueSets

@testable import RemoteSystemsTransport

extension TopicSchema {
    /// One record `system`, any number of attributes, and data of any length.
    static let test = TopicSchema.test("test")

    static func test(_ name: String, version: UInt64 = 1, priority: TopicPriority = .presence) -> TopicSchema {
        TopicSchema(
            name,
            version: version,
            priority: priority,
            records: [
                Records("system", fields: [.required("name", .string)]),
                Records("attribute/", fields: [.optional("text", .string), .optional("number", .integer)]),
                Records("blob/", fields: [.required("bytes", .data)]),
            ]
        )
    }
}

extension ValueSet {
    static func text(_ text: String) -> ValueSet { ["text": .string(text)] }
    static func blob(_ bytes: Int, filledWith byte: UInt8 = 0) -> ValueSet {
        ["bytes": Value([UInt8](repeating: byte, count: bytes))]
    }
}

/// A publisher's state machine. Only the view "all" of its topics includes keys that begin with `attribute/secret`.
struct TestPublisher {
    var machine: StatePublisherStateMachine
    private var seeds: [String: UInt64] = [:]

    init(_ topics: [TopicSchema] = [.test], limits: StateLimits = StateLimits()) throws {
        self.machine = StatePublisherStateMachine(limits: limits)
        for topic in topics { try self.open(topic) }
    }

    mutating func open(_ topic: TopicSchema) throws {
        let seed = UInt64.random(in: .min ... .max)
        self.seeds[topic.name] = seed
        try self.machine.open(
            topic,
            includes: { view, key in view.name == "all" || !key.text.hasPrefix("attribute/secret") },
            seed: seed
        )
    }

    @discardableResult
    mutating func commit(_ topic: String = "test", _ put: [StateKey: ValueSet] = [:], drop: [StateKey] = []) throws
        -> [UInt64]
    {
        try self.machine.commit(topic, seed: self.seeds[topic] ?? 0, put: put, drop: drop)
    }

    mutating func close(_ topic: String = "test") -> [UInt64] {
        self.machine.close(topic, seed: self.seeds[topic] ?? 0)
    }

    func version(_ topic: String = "test") -> UInt64? {
        self.machine.version(of: topic, seed: self.seeds[topic] ?? 0)
    }

    mutating func connect(_ link: UInt64 = 1, peer: String = "peer", limit: Int = 1 << 20) {
        self.machine.connect(link, peer: peer, limit: limit)
    }

    mutating func subscribe(
        _ link: UInt64 = 1,
        to topic: String = "test",
        schema: UInt64 = 1,
        credit: Int = 1 << 20,
        resuming position: StateMessage.Position? = nil,
        view: String? = "all"
    ) throws {
        try self.machine.subscribe(
            link,
            topic: topic,
            schema: schema,
            credit: UInt64(credit),
            resuming: position,
            view: view.map { TopicView($0) }
        )
    }

    /// Everything that can be sent now, and the length of each frame without its length field.
    mutating func frames(_ link: UInt64 = 1, atMost limit: Int = .max) throws -> [(message: StateMessage, bytes: Int)] {
        var messages: [(StateMessage, Int)] = []
        while messages.count < limit, let frame = self.machine.nextFrame(link) {
            messages.append((try frame.stateMessage, frame.readableBytes - 4))
        }
        return messages
    }

    mutating func messages(_ link: UInt64 = 1) throws -> [StateMessage] { try self.frames(link).map(\.message) }

    mutating func parts(_ link: UInt64 = 1) throws -> [StateMessage.Part] {
        try self.messages(link).map { try $0.part }
    }

    /// The only part that can be sent now.
    mutating func part(_ link: UInt64 = 1) throws -> StateMessage.Part {
        let parts = try self.parts(link)
        try #require(parts.count == 1)
        return parts[0]
    }
}

extension ByteBuffer {
    /// The message of a frame with its length field.
    var stateMessage: StateMessage {
        get throws {
            guard case .state(let message) = try Frame(#require(self.getSlice(at: 4, length: self.readableBytes - 4)))
            else {
                throw NotInTime(what: "a state frame")
            }
            return message
        }
    }
}

extension StateMessage {
    var part: Part {
        get throws {
            guard case .part(let part) = self else { throw NotInTime(what: "a part in place of \(self)") }
            return part
        }
    }

    static func end(_ reason: StateEndReason, of topic: String = "test") -> StateMessage { .end(topic: topic, reason) }
}
