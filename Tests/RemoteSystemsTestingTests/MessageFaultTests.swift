// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing

/// Faults that apply to one message, whatever its length.
@Suite struct MessageFaultTests {
    static let echo = AppService("test.echo") { $0.message }

    /// Sends messages that are numbered from 1, and returns their statuses.
    private static func send(_ count: Int, _ pair: ConnectedPair) async throws -> [AppServiceResponseStatus] {
        var statuses: [AppServiceResponseStatus] = []
        for number in 1...count {
            async let response = pair.client.send(["n": .integer(Int64(number))], timeout: .seconds(5))
            try await pair.stage.settle()
            try await pair.stage.advance(by: .seconds(5))
            statuses.append(try await response.status)
        }
        return statuses
    }

    @Test(arguments: [StagedMessageSelector.request(2), .response(2), .request(2, of: "test.echo")])
    func `the dropped message is lost, and the connection continues`(_ selector: StagedMessageSelector)
        async throws
    {
        try await DiscoveryStage.withConnectedPair(Self.echo) { pair in
            pair.link.drop(selector)
            let statuses = try await Self.send(3, pair)
            #expect(statuses == [.success, .unknown, .success])
        }
    }

    @Test func `a message is selected by its content`() async throws {
        try await DiscoveryStage.withConnectedPair(Self.echo) { pair in
            pair.link.drop(.first { $0.kind == .request && $0.direction == .toSystem && $0.content["n"] == 3 })
            let statuses = try await Self.send(4, pair)
            #expect(statuses == [.success, .success, .unknown, .success])
        }
    }

    @Test func `messages of other services and built-in services do not count`() async throws {
        try await DiscoveryStage.withConnectedPair(Self.echo) { pair in
            pair.link.drop(.request(1, of: "test.other"))
            let watcher = pair.stage.watcher()
            pair.link.drop(.request(2))
            try await watcher.start()
            try await pair.stage.settle()
            let statuses = try await Self.send(2, pair)
            #expect(statuses == [.success, .unknown])
        }
    }

    @Test func `a cut-off request never reaches the handler, a cut-off response was produced by it`()
        async throws
    {
        for (selector, handled) in [(StagedMessageSelector.request(), 0), (.response(), 1)] {
            let count = Mutex(0)
            let counting = AppService("test.counting") { _ in
                count.withLock { $0 += 1 }
                return [:]
            }
            try await DiscoveryStage.withConnectedPair(counting) { pair in
                pair.link.cut(at: selector)
                let response = try await pair.client.send([:])
                #expect(response.error?.code == .connectionLost)
                #expect(count.withLock { $0 } == handled)
            }
        }
    }

    @Test func `a damaged message ends the connection`() async throws {
        try await DiscoveryStage.withConnectedPair(Self.echo) { pair in
            pair.link.corrupt(.response(2))
            let first = try await pair.client.send([:])
            #expect(first.status == .success)
            let second = try await pair.client.send([:])
            #expect(second.status == .unknown)
        }
    }

    @Test func `a delayed message delays the following ones, too`() async throws {
        try await DiscoveryStage.withConnectedPair(Self.echo) { pair in
            pair.link.delay(.response(), by: .seconds(3))
            let arrived = Arrived()
            async let first: Void = arrived.note(1, pair)
            async let second: Void = arrived.note(2, pair)
            try await pair.stage.settle()
            try await pair.stage.advance(by: .milliseconds(2999))
            #expect(arrived.numbers == [])
            try await pair.stage.advance(by: .milliseconds(1))
            #expect(arrived.numbers == [1, 2])
            _ = try await (first, second)
        }
    }

    @Test func `a damaged message leaves a delayed one before it intact`() async throws {
        let count = Mutex(0)
        let counting = AppService("test.counting") { _ in
            count.withLock { $0 += 1 }
            return [:]
        }
        try await DiscoveryStage.withConnectedPair(counting) { pair in
            // The first request arrives some time before the second one.
            pair.link.limit(bytesPerSecond: 1000)
            pair.link.delay(.request(1), by: .seconds(1))
            pair.link.corrupt(.request(2))
            async let first = pair.client.send([:], timeout: .seconds(10))
            async let second = pair.client.send([:], timeout: .seconds(10))
            try await pair.stage.settle()
            try await pair.stage.advance(by: .seconds(10))
            _ = try await (first, second)
            #expect(count.withLock { $0 } == 1)
        }
    }

    @Test func `a cut at a message waits for a delayed one before it`() async throws {
        try await DiscoveryStage.withConnectedPair(Self.echo) { pair in
            pair.link.delay(.request(1), by: .seconds(1))
            pair.link.cut(at: .request(2))
            let lost = Lost()
            async let first: Void = lost.send(pair)
            async let second: Void = lost.send(pair)
            try await pair.stage.settle()
            try await pair.stage.advance(by: .milliseconds(999))
            #expect(lost.count == 0)
            try await pair.stage.advance(by: .milliseconds(1))
            #expect(lost.count > 0)
            _ = try await (first, second)
        }
    }

    /// The number of requests that ended with the connection.
    private final class Lost: Sendable {
        private let all = Mutex(0)
        var count: Int { self.all.withLock { $0 } }

        func send(_ pair: ConnectedPair) async throws {
            let response = try await pair.client.send([:], timeout: .seconds(10))
            if response.error?.code == .connectionLost { self.all.withLock { $0 += 1 } }
        }
    }

    /// The requests whose responses have arrived.
    private final class Arrived: Sendable {
        private let all = Mutex<Set<Int64>>([])
        var numbers: Set<Int64> { self.all.withLock { $0 } }

        func note(_ number: Int64, _ pair: ConnectedPair) async throws {
            _ = try await pair.client.send(["n": .integer(number)], timeout: .seconds(10)).get()
            self.all.withLock { _ = $0.insert(number) }
        }
    }
}
