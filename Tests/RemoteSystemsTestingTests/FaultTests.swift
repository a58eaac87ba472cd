// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Testing

/// Faults of the link between two systems.
@Suite struct FaultTests {
    static let echo = AppService("echo") { ["echo": .dictionary($0.message)] }
    /// Larger than a TLS record.
    static let large: ValueSet = ["text": .string(String(repeating: "x", count: 40_000))]

    @Test func `a connected pair communicates without sockets`() async throws {
        try await DiscoveryStage.withConnectedPair(Self.echo) { pair in
            let response = try await pair.client.send(Self.large).get()
            #expect(response["echo"]?.dictionary == Self.large)
            #expect(pair.client.info?.peer.systemID == pair.host.id)
        }
    }

    @Test(arguments: [StagedLink.Direction.toSystem, .fromSystem])
    func `a connection that is cut in the middle of a message leaves the outcome unknown`(
        _ direction: StagedLink.Direction
    ) async throws {
        try await DiscoveryStage.withConnectedPair(Self.echo) { pair in
            pair.link.cut(afterBytes: 20_000, direction)
            let response = try await pair.client.send(Self.large)
            #expect(response.status == .unknown)
            #expect(response.error?.code == .connectionLost)
            let next = try await pair.client.send(["Type": "ping"])
            #expect(next.status == .connectionClosed)
        }
    }

    @Test(arguments: [StagedLink.Direction.toSystem, .fromSystem])
    func `one changed bit ends the connection, and the request's outcome is unknown`(
        _ direction: StagedLink.Direction
    ) async throws {
        try await DiscoveryStage.withConnectedPair(Self.echo) { pair in
            pair.link.corrupt(afterBytes: 10_000, direction)
            let response = try await pair.client.send(Self.large)
            #expect(response.status == .unknown)
        }
    }

    @Test func `a request to a slow system ends at its deadline, by the stage's clock`() async throws {
        try await DiscoveryStage.withConnectedPair(Self.echo) { pair in
            pair.link.limit(bytesPerSecond: 1000)
            async let response = pair.client.send(Self.large, timeout: .seconds(5))
            try await pair.stage.settle()
            let started = pair.stage.clock.elapsed
            try await pair.stage.advance(by: .seconds(5))
            #expect(try await response.status == .unknown)
            #expect(pair.stage.clock.elapsed - started == .seconds(5))
        }
    }

    @Test func `a slow link has the rate that was set`() async throws {
        try await DiscoveryStage.withConnectedPair(Self.echo) { pair in
            pair.link.limit(bytesPerSecond: 10_000)
            async let response = pair.client.send(Self.large, timeout: .seconds(60))
            // 40 kB in each direction take eight seconds, plus a little for TLS and frames.
            try await pair.stage.advance(by: .seconds(7))
            try await pair.stage.advance(by: .seconds(2))
            #expect(try await response.status == .success)
        }
    }

    @Test func `a delayed response arrives at its time`() async throws {
        try await DiscoveryStage.withConnectedPair(Self.echo) { pair in
            pair.link.delay(.milliseconds(300))
            let clock = pair.stage.clock
            async let took: Duration = {
                let start = clock.elapsed
                _ = try await pair.client.send(["Type": "ping"]).get()
                return clock.elapsed - start
            }()
            try await pair.stage.advance(by: .seconds(1))
            let time = try await took
            #expect(time == .milliseconds(600))
        }
    }

    @Test func `a silent peer is detected after the dead-peer timeout, and the request's outcome is unknown`()
        async throws
    {
        try await DiscoveryStage.withConnectedPair(Self.echo) { pair in
            pair.link.drop()
            async let response = pair.client.send(["Type": "ping"], timeout: .seconds(60))
            try await pair.stage.advance(by: .seconds(16))
            let status = try await response.status
            #expect(status == .unknown)
        }
    }

    @Test func `a short silence only delays the response`() async throws {
        try await DiscoveryStage.withConnectedPair(Self.echo) { pair in
            pair.link.drop()
            async let response = pair.client.send(["Type": "ping"], timeout: .seconds(60))
            try await pair.stage.advance(by: .seconds(9))
            pair.link.restore()
            let status = try await response.status
            #expect(status == .success)
        }
    }

    @Test func `connecting to a system that drops all packets times out`() async throws {
        try await DiscoveryStage.with { stage in
            let host = try stage.system("Host", services: [Self.echo])
            try await stage.appears(host)
            host.link.drop()
            async let code: RemoteSystemError.Code? = {
                do {
                    _ = try await stage.connect(to: host, service: "echo")
                    return nil
                } catch let error as RemoteSystemError {
                    return error.code
                }
            }()
            try await stage.advance(by: .seconds(5))
            let failure = try await code
            #expect(failure == .unreachable)
        }
    }
}
