// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystemsIdentity
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// Published state over real connections.
@Suite(.timeLimit(.minutes(2))) struct StateLoopbackTests {
    /// Accumulates the changes that a follower gets.
    private final class Mirror: Sendable {
        private let state = Mutex((records: [StateKey: ValueSet](), changes: [StateChange]()))

        func apply(_ change: StateChange) {
            self.state.withLock { state in
                for (key, value) in change.put { state.records[key] = value }
                for key in change.drop { state.records[key] = nil }
                state.changes.append(change)
            }
        }

        var records: [StateKey: ValueSet] { self.state.withLock { $0.records } }
        var changes: [StateChange] { self.state.withLock { $0.changes } }
        var last: StateChange? { self.changes.last }
    }

    /// Runs a host that publishes on every connection.
    private func withHost(
        _ publisher: StatePublisher,
        _ body: (LoopbackHost) async throws -> Void
    ) async throws {
        try await LoopbackHost.with(opened: { $0.publish(publisher) }, body)
    }

    private func follow(_ subscriber: StateSubscriber, over connection: Connection, _ mirror: Mirror) -> Task<
        StateEnd, any Error
    > {
        Task { try await subscriber.follow(over: connection) { mirror.apply($0) } }
    }

    @Test func `a subscriber follows the commits, and resumes over another connection`() async throws {
        let publisher = StatePublisher()
        let topic = try publisher.open(.test, for: .sameAccount)
        try topic.commit(put: ["system": ["name": "a"], "attribute/x": .text("1")])
        try await self.withHost(publisher) { host in
            let budget = StateBudget()
            let subscriber = StateSubscriber(.test, budget: budget)
            let mirror = Mirror()
            let connection = try await host.connect()
            let first = self.follow(subscriber, over: connection, mirror)
            try await eventually("the snapshot") { mirror.records.count == 2 }
            #expect(mirror.last?.isSnapshot == true)
            try topic.commit(put: ["attribute/x": .text("2")], drop: ["system"])
            try await eventually("the delta") { mirror.records == ["attribute/x": .text("2")] }
            #expect(
                mirror.last
                    == StateChange(put: ["attribute/x": .text("2")], drop: ["system"], version: 2, isSnapshot: false)
            )
            #expect(budget.bytes > 0)

            connection.abort()
            #expect(try await first.value == .connectionEnded)
            try await eventually("the end of the subscription") { publisher.subscriptions == 0 }
            try topic.commit(put: ["attribute/y": .text("1")])
            let again = try await host.connect()
            let second = self.follow(subscriber, over: again, mirror)
            try await eventually("what was missed") { mirror.records.count == 2 }
            #expect(
                mirror.last == StateChange(put: ["attribute/y": .text("1")], drop: [], version: 3, isSnapshot: false)
            )

            try topic.replace(by: ["attribute/x": .text("2"), "system": ["name": "b"]])
            try await eventually("what was replaced") { mirror.last?.version == 4 }
            #expect(mirror.last?.put == ["system": ["name": "b"]])
            #expect(mirror.last?.drop == ["attribute/y"])

            topic.close()
            #expect(try await second.value == .publisher(.topicClosed))
            #expect(mirror.records.isEmpty)
            #expect(budget.bytes == 0)
            #expect(publisher.subscriptions == 0)
            #expect(try await again.ask { $0.state.subscribers.isEmpty && $0.state.waiting.isEmpty })
            again.abort()
        }
    }

    @Test func `a megabyte arrives with little credit, and so do changes in the meantime`() async throws {
        let publisher = StatePublisher()
        let topic = try publisher.open(.test, for: .sameAccount)
        try topic.commit(put: Dictionary(uniqueKeysWithValues: (0..<62).map { ("blob/\($0)", .blob(16_000)) }))
        try await self.withHost(publisher) { host in
            let subscriber = StateSubscriber(.test, window: StateLimits.minCredit)
            let mirror = Mirror()
            let connection = try await host.connect()
            let following = self.follow(subscriber, over: connection, mirror)
            for byte in UInt8(1)...5 { try topic.commit(put: ["blob/\(byte)": .blob(10, filledWith: byte)]) }
            try await eventually("everything") { mirror.records.count == 62 && mirror.last?.version == 6 }
            #expect(mirror.records["blob/5"] == .blob(10, filledWith: 5))
            following.cancel()
            #expect(try await following.value == .unsubscribed)
            try await eventually("the end of the subscription") { publisher.subscriptions == 0 }
            connection.abort()
        }
    }

    @Test func `a busy owner gets few updates, and then the newest`() async throws {
        let publisher = StatePublisher()
        let topic = try publisher.open(.test, for: .sameAccount)
        try await self.withHost(publisher) { host in
            let subscriber = StateSubscriber(.test, window: StateLimits.minCredit)
            let mirror = Mirror()
            let gate = Gate()
            let connection = try await host.connect()
            let following = Task {
                try await subscriber.follow(over: connection) { change in
                    mirror.apply(change)
                    await gate.wait()
                }
            }
            try await eventually("the first change") { mirror.changes.count == 1 }
            for byte in UInt8(1)...100 { try topic.commit(put: ["blob/a": .blob(15_000, filledWith: byte)]) }
            let version = try #require(topic.version)
            gate.open()
            try await eventually("the newest") { mirror.last?.version == version }
            #expect(mirror.records == ["blob/a": .blob(15_000, filledWith: 100)])
            #expect(mirror.changes.count < 20)
            following.cancel()
            _ = try await following.value
            connection.abort()
        }
    }

    @Test func `both sides of one connection publish the same topic`() async throws {
        let ours = StatePublisher()
        let theirs = StatePublisher()
        let here = try ours.open(.test, for: .sameAccount)
        let there = try theirs.open(.test, for: .sameAccount)
        try here.commit(put: ["system": ["name": "caller"]])
        try there.commit(put: ["system": ["name": "host"]])
        try await self.withHost(theirs) { host in
            let connection = try await host.connect()
            // Awaited: the event loop may read the host's subscription before it runs tasks of other threads.
            try await connection.ask { $0.publish(ours) }
            let (atCaller, atHost) = (Mirror(), Mirror())
            let other = try await host.connections.first()
            let one = self.follow(StateSubscriber(.test), over: connection, atCaller)
            let two = self.follow(StateSubscriber(.test), over: other, atHost)
            try await eventually("both") { atCaller.records.count == 1 && atHost.records.count == 1 }
            #expect(atCaller.records == ["system": ["name": "host"]])
            #expect(atHost.records == ["system": ["name": "caller"]])
            await connection.close()
            #expect(try await one.value == .connectionEnded)
            #expect(try await two.value == .connectionEnded)
            try await eventually("no subscription") { ours.subscriptions == 0 && theirs.subscriptions == 0 }
        }
    }

    @Test func `a caller without the right, or whose right is withdrawn, sees no topic`() async throws {
        let publisher = StatePublisher()
        let mayRead = Mutex(false)
        let audience = TopicAudience(view: { _ in mayRead.withLock { $0 } ? .account : nil })
        let topic = try publisher.open(.test, for: audience)
        try topic.commit(put: ["system": ["name": "a"]])
        try await self.withHost(publisher) { host in
            let connection = try await host.connect()
            let mirror = Mirror()
            let subscriber = StateSubscriber(.test)
            #expect(try await self.follow(subscriber, over: connection, mirror).value == .publisher(.topicUnknown))
            #expect(mirror.changes.isEmpty)
            mayRead.withLock { $0 = true }
            let following = self.follow(subscriber, over: connection, mirror)
            try await eventually("the snapshot") { mirror.records.count == 1 }
            publisher.reviewRights()
            try topic.commit(put: ["attribute/x": .text("1")])
            try await eventually("the delta") { mirror.records.count == 2 }
            #expect(mirror.last?.isSnapshot == false, "nothing changed for it")
            mayRead.withLock { $0 = false }
            publisher.reviewRights()
            #expect(try await following.value == .publisher(.topicUnknown))
            #expect(mirror.records.isEmpty)
            #expect(subscriber.records.isEmpty)
            connection.abort()
        }
    }

    @Test func `two subscriptions to one topic on one connection are served one after the other`() async throws {
        let publisher = StatePublisher()
        let topic = try publisher.open(.test, for: .sameAccount)
        try topic.commit(put: ["system": ["name": "a"]])
        try await self.withHost(publisher) { host in
            let connection = try await host.connect()
            let (one, two) = (Mirror(), Mirror())
            let subscriber = StateSubscriber(.test)
            let first = self.follow(subscriber, over: connection, one)
            try await eventually("the snapshot") { one.records.count == 1 }
            await #expect(throws: TransportError.self) { try await subscriber.follow(over: connection) { _ in } }
            let second = self.follow(StateSubscriber(.test), over: connection, two)
            first.cancel()
            #expect(try await first.value == .unsubscribed)
            try await eventually("the other's snapshot") { two.records.count == 1 }
            #expect(publisher.subscriptions == 1)
            second.cancel()
            _ = try await second.value
            connection.abort()
        }
    }

    @Test func `a subscriber may subscribe again before its last subscription has ended`() async throws {
        let publisher = StatePublisher()
        let topic = try publisher.open(.test, for: .sameAccount)
        try topic.commit(put: ["system": ["name": "a"]])
        try await self.withHost(publisher) { host in
            let connection = try await host.connect()
            let subscriber = StateSubscriber(.test)
            for _ in 0..<20 {
                let mirror = Mirror()
                let following = self.follow(subscriber, over: connection, mirror)
                try await eventually("the state is current") { !mirror.changes.isEmpty }
                following.cancel()
                #expect(try await following.value == .unsubscribed)
            }
            connection.abort()
            #expect(try await self.follow(subscriber, over: connection, Mirror()).value == .connectionEnded)
        }
    }

    @Test func `a grant that was postponed on one connection takes none of the next one's credit`() async throws {
        let publisher = StatePublisher()
        let topic = try publisher.open(.test, for: .sameAccount)
        try topic.commit(put: Dictionary(uniqueKeysWithValues: (0..<10).map { ("blob/\($0)", .blob(16_000)) }))
        try await self.withHost(publisher) { host in
            let (first, second) = (try await host.connect(), try await host.connect())
            let pace = StatePace()
            // Postpones the first grant by a quarter of a second.
            _ = pace.delay(granting: StatePace.burstOfHolder + 64 << 10, to: try await first.ask { $0.holder })
            let subscriber = StateSubscriber(.test, window: StateLimits.minCredit, pace: pace)
            let mirror = Mirror()
            let former = self.follow(subscriber, over: first, mirror)
            try await eventually("a postponed grant") { try await first.ask { $0.state.grants.count } == 1 }
            first.abort()
            let formerEnd = try await former.value
            #expect(formerEnd == .connectionEnded)
            let following = self.follow(subscriber, over: second, mirror)
            try await eventually("everything") { mirror.records.count == 10 }
            following.cancel()
            let end = try await following.value
            #expect(end == .unsubscribed)
            second.abort()
        }
    }

    @Test func `an error of the owner ends the subscription`() async throws {
        struct Refused: Error {}
        let publisher = StatePublisher()
        let topic = try publisher.open(.test, for: .sameAccount)
        try await self.withHost(publisher) { host in
            let connection = try await host.connect()
            await #expect(throws: Refused.self) {
                try await StateSubscriber(.test).follow(over: connection) { _ in throw Refused() }
            }
            try await eventually("no subscription") { publisher.subscriptions == 0 }
            #expect(topic.version == 0)
            connection.abort()
        }
    }

    @Test func `state beyond the budget ends the subscription`() async throws {
        let publisher = StatePublisher()
        let topic = try publisher.open(.test, for: .sameAccount)
        try topic.commit(put: ["blob/a": .blob(10_000)])
        try await self.withHost(publisher) { host in
            let budget = StateBudget(perHolder: 9_000)
            let connection = try await host.connect()
            let mirror = Mirror()
            let end = try await self.follow(StateSubscriber(.test, budget: budget), over: connection, mirror).value
            #expect(end == .rulesBroken(.budgetExceeded))
            try await eventually("nothing is counted any more") { budget.bytes == 0 }
            connection.abort()
        }
    }

    @Test func `a topic ends with its last reference`() async throws {
        let publisher = StatePublisher()
        var topic: PublishedTopic? = try publisher.open(.test, for: .sameAccount)
        #expect(throws: TransportError.self) { try publisher.open(.test, for: .sameAccount) }
        #expect(topic?.name == "test")
        topic = nil
        topic = try publisher.open(.test, for: .sameAccount)
        topic?.close()
        #expect(topic?.version == nil)
    }

    // MARK: Peers that break the rules

    @Test func `without a publisher every topic is unknown`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.openRaw()
            try peer.send(.state(.subscribe(topic: "test", schema: 1, credit: 1 << 20, resuming: nil)))
            #expect(try await peer.nextFrame() == .state(.end(topic: "test", .topicUnknown)))
            try peer.send(
                .state(.credit(topic: "test", bytes: 1)),
                .state(.unsubscribe(topic: "test", reason: nil)),
                .ping(token: 1)
            )
            #expect(try await peer.nextFrame() == .pong(token: 1))
            peer.close()
        }
    }

    @Test(
        arguments: [.part(StateMessage.Part(topic: "test", epoch: 1, from: nil)), .end(topic: "test", .busy)]
            as [StateMessage]
    )
    func `state without a subscription breaks the protocol`(message: StateMessage) async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.openRaw()
            try peer.send(.state(message))
            guard case .close(.unknown, let failure)? = try await peer.nextFrame() else {
                return #expect(Bool(false), "another frame")
            }
            #expect(failure?.code == "state-unexpected")
        }
    }

    @Test func `a peer that does not read costs bounded memory, and gets the newest state when it reads`() async throws
    {
        let publisher = StatePublisher()
        let topic = try publisher.open(.test, for: .sameAccount)
        try await self.withHost(publisher) { host in
            let peer = try await host.openRaw()
            try peer.send(
                .state(.subscribe(topic: "test", schema: 1, credit: UInt64(StateLimits.maxCredit), resuming: nil))
            )
            guard case .state? = try await peer.nextFrame() else { return #expect(Bool(false), "no snapshot") }
            try await peer.stopReading()
            let blobs = { (byte: UInt8) in
                Dictionary(
                    uniqueKeysWithValues: (0..<10).map {
                        (StateKey("blob/\($0)"), ValueSet.blob(16_000, filledWith: byte))
                    }
                )
            }
            // Far more than the sockets can hold.
            for byte in UInt8(1)...100 {
                try topic.commit(put: blobs(byte))
                // One event-loop tick, in which the connection sends as much as it can.
                _ = try await host.connections.first().ask { _ in }
            }
            try await peer.channel.setOption(.autoRead, value: true).get()
            var newest: [StateKey: ValueSet] = [:]
            var bytes = 0
            while let frame = try await peer.nextFrame() {
                // On a slow machine the host asks whether the peer is alive.
                guard case .state(.part(let part)) = frame else { continue }
                newest.merge(part.put) { $1 }
                bytes += part.put.values.reduce(0) { $0 + ($1["bytes"]?.data?.count ?? 0) }
                if part.to == 100 { break }
            }
            #expect(newest == blobs(100))
            // Not a hundred times 160 kB: unsent values were replaced.
            #expect(bytes < 100 * 160_000)
            peer.close()
        }
    }
}
