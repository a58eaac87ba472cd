// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing
import ValueSets

@testable import RemoteSystemsTransport

@Suite struct StatePublisherTests {
    // MARK: Snapshot and deltas

    @Test func `a subscriber first receives all records, then only changes`() throws {
        var publisher = try TestPublisher()
        try publisher.commit("test", ["system": ["name": "a"], "attribute/x": .text("1")])
        publisher.connect()
        try publisher.subscribe()
        let snapshot = try publisher.part()
        #expect(snapshot.from == nil)
        #expect(snapshot.to == 1)
        #expect(snapshot.put == ["system": ["name": "a"], "attribute/x": .text("1")])

        #expect(try publisher.commit("test", ["attribute/x": .text("2")]) == [1])
        let delta = try publisher.part()
        #expect(delta.epoch == snapshot.epoch)
        #expect((delta.from, delta.to) == (1, 2))
        #expect(delta.put == ["attribute/x": .text("2")])

        try publisher.commit("test", drop: ["system"])
        #expect(try publisher.part().drop == ["system"])
        #expect(try publisher.messages().isEmpty)
    }

    @Test func `a snapshot is sent even if the topic is empty`() throws {
        var publisher = try TestPublisher()
        publisher.connect()
        try publisher.subscribe()
        let part = try publisher.part()
        #expect((part.to, part.put.isEmpty, part.drop.isEmpty) == (0, true, true))
    }

    @Test func `a commit that changes nothing is no version`() throws {
        var publisher = try TestPublisher()
        try publisher.commit("test", ["system": ["name": "a"]])
        #expect(try publisher.commit("test", ["system": ["name": "a"]], drop: ["attribute/none"]) == [])
        #expect(publisher.version() == 1)
    }

    @Test func `subscribers with the same view and version receive the same bytes`() throws {
        var publisher = try TestPublisher()
        for link in UInt64(1)...3 {
            publisher.connect(link, peer: "\(link)")
            try publisher.subscribe(link)
            _ = try publisher.part(link)
        }
        #expect(try Set(publisher.commit("test", ["system": ["name": "a"]])) == [1, 2, 3])
        let frames = (UInt64(1)...3).compactMap { publisher.machine.nextFrame($0) }
        #expect(frames.count == 3)
        #expect(Set(frames).count == 1)
    }

    // MARK: Coalescing

    @Test func `without credit only the newest value of each key is sent later`() throws {
        var publisher = try TestPublisher()
        publisher.connect()
        try publisher.subscribe(credit: StateLimits.minCredit)
        var sent = try publisher.frames().reduce(0) { $0 + $1.bytes }
        for byte in UInt8(1)...20 {
            try publisher.commit("test", ["blob/a": .blob(16_000, filledWith: byte)])
            sent += try publisher.frames().reduce(0) { $0 + $1.bytes }
        }
        #expect(sent <= StateLimits.minCredit)
        try publisher.commit("test", ["attribute/x": .text("1")], drop: ["blob/a"])
        try publisher.commit("test", ["blob/a": .blob(16_000, filledWith: 99)])
        #expect(try publisher.messages().isEmpty)
        publisher.machine.credit(1, topic: "test", bytes: UInt64(sent))
        let delta = try publisher.part()
        #expect(delta.put == ["attribute/x": .text("1"), "blob/a": .blob(16_000, filledWith: 99)])
        #expect(delta.to == publisher.version())
    }

    @Test func `a key that appeared and vanished in a pause is dropped, in one delta with the other changes`() throws {
        var publisher = try TestPublisher()
        publisher.connect()
        try publisher.subscribe()
        _ = try publisher.part()
        publisher.machine.pause(1)
        #expect(try publisher.commit("test", ["attribute/x": .text("1"), "attribute/y": .text("1")]) == [])
        try publisher.commit("test", ["attribute/y": .text("2")], drop: ["attribute/x"])
        publisher.machine.resume(1)
        let delta = try publisher.part()
        #expect((delta.from, delta.to) == (0, 2))
        #expect(delta.put == ["attribute/y": .text("2")])
        #expect(delta.drop == ["attribute/x"])
    }

    // MARK: Resuming

    @Test func `a subscriber resumes from its version`() throws {
        var publisher = try TestPublisher()
        try publisher.commit("test", ["system": ["name": "a"], "attribute/x": .text("1")])
        publisher.connect()
        try publisher.subscribe()
        let epoch = try publisher.part().epoch
        publisher.machine.disconnect(1)
        try publisher.commit("test", ["attribute/x": .text("2")])
        try publisher.commit("test", drop: ["system"])
        publisher.connect(2)
        try publisher.subscribe(2, resuming: .init(epoch: epoch, version: 1))
        let delta = try publisher.part(2)
        #expect((delta.from, delta.to) == (1, 3))
        #expect(delta.put == ["attribute/x": .text("2")])
        #expect(delta.drop == ["system"])
    }

    @Test func `a subscriber that missed nothing gets a delta without changes`() throws {
        var publisher = try TestPublisher()
        try publisher.commit("test", ["system": ["name": "a"]])
        publisher.connect()
        try publisher.subscribe()
        let epoch = try publisher.part().epoch
        publisher.connect(2)
        try publisher.subscribe(2, resuming: .init(epoch: epoch, version: 1))
        let delta = try publisher.part(2)
        #expect((delta.from, delta.to, delta.put.isEmpty) == (1, 1, true))
    }

    @Test(arguments: [(true, 7), (false, 1), (true, .max)] as [(Bool, UInt64)])
    func `another epoch or a future version gets a snapshot`(isEpochRight: Bool, version: UInt64)
        throws
    {
        var publisher = try TestPublisher()
        try publisher.commit("test", ["system": ["name": "a"]])
        publisher.connect()
        try publisher.subscribe()
        let epoch = try publisher.part().epoch
        publisher.connect(2)
        try publisher.subscribe(2, resuming: .init(epoch: isEpochRight ? epoch : epoch &+ 1, version: version))
        #expect(try publisher.part(2).from == nil)
    }

    @Test func `if drops were forgotten meanwhile, a resuming subscriber gets a snapshot`() throws {
        var limits = StateLimits()
        limits.tombstones = 4
        var publisher = try TestPublisher(limits: limits)
        try publisher.commit("test", Dictionary(uniqueKeysWithValues: (0..<8).map { ("attribute/\($0)", .text("")) }))
        publisher.connect()
        try publisher.subscribe()
        let epoch = try publisher.part().epoch
        for number in 0..<4 { try publisher.commit("test", drop: ["attribute/\(number)"]) }
        publisher.connect(2)
        try publisher.subscribe(2, resuming: .init(epoch: epoch, version: 1))
        #expect(try publisher.part(2).from == 1, "all drops are remembered")
        try publisher.commit("test", drop: ["attribute/4"])
        publisher.connect(3)
        try publisher.subscribe(3, resuming: .init(epoch: epoch, version: 1))
        let snapshot = try publisher.part(3)
        #expect(snapshot.from == nil)
        #expect(snapshot.put.count == 3)
        // The same holds for a subscriber that was connected all the time and was not served.
        #expect(try publisher.part(1).from == nil)
    }

    @Test func `drops are forgotten for good, even if no other change of that time is left`() throws {
        var limits = StateLimits()
        limits.tombstones = 1
        var publisher = try TestPublisher(limits: limits)
        try publisher.commit("test", ["attribute/a": .text(""), "attribute/b": .text("")])
        publisher.connect()
        try publisher.subscribe()
        let epoch = try publisher.part().epoch
        try publisher.commit("test", drop: ["attribute/a", "attribute/b"])
        // Enough changes to compact their order.
        for number in 0..<200 { try publisher.commit("test", ["attribute/c": .text("\(number)")]) }
        publisher.connect(2)
        try publisher.subscribe(2, resuming: .init(epoch: epoch, version: 1))
        #expect(try publisher.part(2).from == nil)
    }

    // MARK: Parts

    @Test func `a large snapshot is sent in parts, the last one with the version`() throws {
        var publisher = try TestPublisher()
        try publisher.commit("test", Dictionary(uniqueKeysWithValues: (0..<10).map { ("blob/\($0)", .blob(16_000)) }))
        publisher.connect()
        try publisher.subscribe()
        let frames = try publisher.frames()
        let parts = try frames.map { try $0.message.part }
        #expect(parts.count == 5)
        #expect(parts.map(\.number) == [0, 1, 2, 3, 4])
        #expect(parts.map(\.to) == [nil, nil, nil, nil, 1])
        #expect(frames.allSatisfy { $0.bytes <= StateLimits.partBytes })
        #expect(Set(parts.flatMap(\.put.keys)).count == 10)
    }

    @Test func `changes between the parts belong to the same version`() throws {
        var publisher = try TestPublisher()
        for number in 0..<6 { try publisher.commit("test", ["blob/\(number)": .blob(16_000)]) }
        publisher.connect()
        try publisher.subscribe()
        let first = try publisher.frames(atMost: 1)[0].message.part
        let sent = try #require(first.put.keys.first)
        try publisher.commit("test", ["blob/5": .blob(1), "attribute/new": .text("x")], drop: [sent])
        let rest = try publisher.parts()
        #expect(rest.last?.to == 7)
        #expect(rest.contains { $0.drop == [sent] })
        #expect(rest.contains { $0.put["attribute/new"] != nil })
        #expect(rest.filter { $0.put["blob/5"] != nil }.count == 1)
    }

    // MARK: Rights

    @Test func `a topic without a right looks like one that does not exist`() throws {
        var publisher = try TestPublisher()
        publisher.connect()
        for _ in 0..<2 {
            // All other fields are invalid, too.
            try publisher.subscribe(to: "test", schema: 9, credit: 1, view: nil)
            try publisher.subscribe(to: "none", schema: 9, credit: 1, view: nil)
            try publisher.subscribe(to: "none", schema: 9, credit: 1, view: "all")
            #expect(
                try publisher.messages() == [
                    .end(.topicUnknown), .end(.topicUnknown, of: "none"), .end(.topicUnknown, of: "none"),
                ]
            )
        }
        #expect(publisher.machine.subscriptions == 0)
    }

    @Test func `records outside the view are not sent, and cost no frame`() throws {
        var publisher = try TestPublisher()
        try publisher.commit("test", ["system": ["name": "a"], "attribute/secret": .text("s")])
        publisher.connect()
        try publisher.subscribe(view: "some")
        #expect(try publisher.part().put.keys.sorted { $0.text < $1.text } == ["system"])
        try publisher.commit("test", ["attribute/secret": .text("t")])
        try publisher.commit("test", drop: ["attribute/secret"])
        #expect(try publisher.messages().isEmpty)
        try publisher.commit("test", ["attribute/x": .text("1")])
        let delta = try publisher.part()
        #expect((delta.from, delta.to) == (1, 4))
        #expect(delta.put.count == 1 && delta.drop.isEmpty)
    }

    @Test func `withdrawn rights cause a snapshot without the records, and no resuming`()
        throws
    {
        var publisher = try TestPublisher()
        try publisher.commit("test", ["system": ["name": "a"], "attribute/secret": .text("s")])
        publisher.connect()
        try publisher.subscribe()
        let before = try publisher.part()
        #expect(publisher.machine.review(1, topic: "test", view: TopicView("all")) == false)
        #expect(publisher.machine.review(1, topic: "test", view: TopicView("some")) == true)
        let after = try publisher.part()
        #expect(after.from == nil)
        #expect(after.put.count == 1)
        #expect(after.epoch != before.epoch)
        publisher.connect(2)
        try publisher.subscribe(2, resuming: .init(epoch: before.epoch, version: 1), view: "some")
        #expect(try publisher.part(2).from == nil)
    }

    @Test func `a topic is unknown once all rights are withdrawn`() throws {
        var publisher = try TestPublisher()
        publisher.connect()
        try publisher.subscribe()
        _ = try publisher.part()
        #expect(publisher.machine.review(1, topic: "test", view: nil) == true)
        #expect(try publisher.messages() == [.end(.topicUnknown)])
        try publisher.commit("test", ["system": ["name": "a"]])
        #expect(try publisher.messages().isEmpty)
        #expect(publisher.machine.subscriptions == 0)
    }

    // MARK: Limits for subscribers

    @Test func `each subscription has one END`() throws {
        var publisher = try TestPublisher()
        publisher.connect()
        try publisher.subscribe()
        _ = try publisher.part()
        publisher.machine.unsubscribe(1, topic: "test")
        publisher.machine.unsubscribe(1, topic: "test")
        #expect(try publisher.messages() == [.end(.unsubscribed)])
        try publisher.subscribe()
        _ = try publisher.part()
        #expect(publisher.close() == [1])
        publisher.machine.unsubscribe(1, topic: "test")
        #expect(try publisher.messages() == [.end(.topicClosed)])
    }

    @Test func `a topic that was replaced is not affected by its predecessor`() throws {
        var publisher = try TestPublisher()
        var old = publisher
        _ = publisher.close()
        try publisher.open(.test)
        old.machine = publisher.machine
        #expect(throws: TransportError.self) { try old.commit("test", ["system": ["name": "a"]]) }
        #expect(old.close() == [])
        #expect(old.version() == nil)
        #expect(publisher.version() == 0)
    }

    @Test func `a second subscription to a topic breaks the protocol`() throws {
        var publisher = try TestPublisher()
        publisher.connect()
        try publisher.subscribe()
        let error = #expect(throws: TransportError.self) { try publisher.subscribe() }
        #expect(error?.failureCode == "state-unexpected")
    }

    @Test func `a peer that subscribes and does not read cannot accumulate ENDs`() throws {
        var publisher = try TestPublisher()
        publisher.connect()
        for number in 0..<16 { try publisher.subscribe(to: "none-\(number)") }
        let error = #expect(throws: TransportError.self) { try publisher.subscribe(to: "one-more") }
        #expect(error?.failureCode == "subscriptions-exceeded")
        #expect(error?.closeStatus == .resourceLimitsExceeded)
    }

    @Test(
        arguments: [
            (2, 1 << 20, 1 << 20, .schemaUnsupported), (1, StateLimits.minCredit - 1, 1 << 20, .creditInvalid),
            (1, StateLimits.maxCredit + 1, 1 << 20, .creditInvalid),
            (1, 1 << 20, StateLimits.partBytes - 1, .limitTooSmall),
        ] as [(UInt64, Int, Int, StateEndReason)]
    )
    func `a subscription that cannot be served ends with the reason`(
        schema: UInt64,
        credit: Int,
        limit: Int,
        reason: StateEndReason
    ) throws {
        var publisher = try TestPublisher()
        publisher.connect(limit: limit)
        try publisher.subscribe(schema: schema, credit: credit)
        #expect(try publisher.messages() == [.end(reason)])
    }

    @Test(arguments: [UInt64.max, UInt64(StateLimits.maxCredit)])
    func `credit without bounds ends the subscription`(bytes: UInt64) throws {
        var publisher = try TestPublisher()
        publisher.connect()
        try publisher.subscribe()
        _ = try publisher.part()
        publisher.machine.credit(1, topic: "test", bytes: bytes)
        #expect(try publisher.messages() == [.end(.creditInvalid)])
        // Sent before the END arrived.
        publisher.machine.credit(1, topic: "test", bytes: 1)
        #expect(try publisher.messages().isEmpty)
    }

    /// A rendezvous server kept registrations under any number of names (CVE-2026-35405).
    @Test func `subscriptions are limited for each system and in total`() throws {
        var limits = StateLimits()
        limits.subscriptionsPerPeer = 2
        limits.subscriptions = 3
        var publisher = try TestPublisher(limits: limits)
        var answers: [Bool] = []
        for (link, peer) in [(1, "a"), (2, "a"), (3, "a"), (4, "b"), (5, "c")] as [(UInt64, String)] {
            publisher.connect(link, peer: peer)
            try publisher.subscribe(link)
            answers.append(try publisher.messages(link) == [.end(.busy)])
        }
        #expect(answers == [false, false, true, false, true])
        publisher.machine.disconnect(1)
        publisher.machine.unsubscribe(4, topic: "test")
        #expect(publisher.machine.subscriptions == 1)
        try publisher.subscribe(5)
        #expect(try publisher.part(5).to == 0)
    }

    // MARK: Limits for features

    @Test func `records and topics are bounded, and a commit that exceeds a bound changes nothing`() throws {
        var limits = StateLimits()
        limits.publisherBytes = 1_500_000
        var publisher = try TestPublisher([.test, .test("other")], limits: limits)
        func refused(_ put: [StateKey: ValueSet], _ topic: String = "test") {
            let error = #expect(throws: TransportError.self) { try publisher.commit(topic, put) }
            #expect(error?.side == .local)
        }
        refused(["blob/a": .blob(StateLimits.recordBytes)])
        refused(["system": ["name": 1]])
        refused(["system": [:]])
        refused(["nothing": [:]])
        refused(["attribute/": [:]])
        refused([StateKey("attribute/" + String(repeating: "x", count: StateLimits.keyBytes)): [:]])
        func blobs(_ count: Int) -> [StateKey: ValueSet] {
            Dictionary(uniqueKeysWithValues: (0..<count).map { ("blob/\($0)", .blob(16_000)) })
        }
        refused(blobs(66))
        refused(Dictionary(uniqueKeysWithValues: (0...StateLimits.topicRecords).map { ("attribute/\($0)", [:]) }))
        try publisher.commit("test", blobs(60))
        refused(blobs(60), "other")
        #expect(throws: TransportError.self) {
            try publisher.commit("test", ["system": ["name": "a"]], drop: ["system"])
        }
        #expect(publisher.version() == 1)
        try publisher.commit("test", drop: (0..<60).map { "blob/\($0)" })
        #expect(publisher.machine.bytes == 0)
        try publisher.commit("other", blobs(60))
    }

    // MARK: Priorities

    @Test func `a topic of higher priority comes next, and no topic starves`() throws {
        let topics = TopicPriority.allCases.map { TopicSchema.test("\($0)", priority: $0) }
        var publisher = try TestPublisher(topics)
        publisher.connect()
        for topic in topics {
            try publisher.commit(
                topic.name,
                Dictionary(uniqueKeysWithValues: (0..<32).map { ("blob/\($0)", .blob(16_000)) })
            )
            try publisher.subscribe(to: topic.name, credit: 1 << 20)
        }
        let order = try publisher.parts().map(\.topic)
        #expect(order.count == 64)
        #expect(order[0] == "trust")
        // Its 16 parts take about as many turns of the others as their weights require.
        let whileTrust = order[..<(try #require(order.lastIndex(of: "trust")))]
        #expect(whileTrust.count { $0 == "presence" } == 8)
        #expect(whileTrust.count { $0 == "activities" } == 4)
        #expect(whileTrust.count { $0 == "notifications" } == 2)
    }

    @Test func `a change of trust does not wait for a long snapshot`() throws {
        var publisher = try TestPublisher([
            .test("trust", priority: .trust), .test("notifications", priority: .notifications),
        ])
        try publisher.commit(
            "notifications",
            Dictionary(uniqueKeysWithValues: (0..<32).map { ("blob/\($0)", .blob(16_000)) })
        )
        publisher.connect()
        try publisher.subscribe(to: "trust")
        _ = try publisher.part()
        try publisher.subscribe(to: "notifications")
        _ = try publisher.frames(atMost: 3)
        try publisher.commit("trust", ["system": ["name": "a"]])
        #expect(try publisher.frames(atMost: 1)[0].message.part.topic == "trust")
    }

    @Test func `a subscription ends if its topic changes faster than it is read`() throws {
        var publisher = try TestPublisher()
        func blobs(_ byte: UInt8) -> [StateKey: ValueSet] {
            Dictionary(uniqueKeysWithValues: (0..<60).map { ("blob/\($0)", .blob(16_000, filledWith: byte)) })
        }
        try publisher.commit("test", blobs(0))
        publisher.connect()
        try publisher.subscribe(credit: StateLimits.maxCredit)
        var last: StateMessage?
        for byte in UInt8(1)...20 {
            for frame in try publisher.frames(atMost: 20) { last = frame.message }
            try publisher.commit("test", blobs(byte))
        }
        #expect(last == .end(.tooSlow))
    }

    @Test func `no state is left of an ended connection`() throws {
        var publisher = try TestPublisher()
        publisher.connect()
        try publisher.subscribe()
        _ = try publisher.part()
        publisher.machine.disconnect(1)
        #expect(publisher.machine.subscriptions == 0)
        #expect(publisher.machine.allSubscriptions.isEmpty)
        #expect(try publisher.commit("test", ["system": ["name": "a"]]) == [])
    }
}
