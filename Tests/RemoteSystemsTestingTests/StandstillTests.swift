// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Testing

/// Mistakes in a test's script that would otherwise pass or hang unnoticed.
@Suite struct StandstillTests {
    static let echo = AppService("test.echo") { $0.message }

    @Test func `a test that awaits a timeout of the stopped clock fails, and the error names what is due and when`()
        async throws
    {
        let error = await #expect(throws: StageError.self) {
            try await DiscoveryStage.withConnectedPair(Self.echo, patience: .milliseconds(200)) { pair in
                pair.link.drop()
                _ = try await pair.client.send([:], timeout: .seconds(7))
            }
        }
        #expect(error?.message.contains("advance(by:)") == true)
        #expect(
            error?.message.contains("a deadline or the keep-alive of a connection") == true,
            "\(error?.message ?? "")"
        )
    }

    @Test func `a test that sleeps by the clock that it must advance itself fails`() async throws {
        let error = await #expect(throws: StageError.self) {
            try await DiscoveryStage.with(patience: .milliseconds(200)) { stage in
                try await stage.clock.sleep(for: .seconds(3))
            }
        }
        #expect(
            error?.message.contains("in 3.0 seconds a task that sleeps by the clock") == true,
            "\(error?.message ?? "")"
        )
    }

    @Test func `a test that awaits a connection through a silent link fails`() async throws {
        await #expect(throws: StageError.self) {
            try await DiscoveryStage.with(patience: .milliseconds(200)) { stage in
                let box = try stage.system("Box", services: [Self.echo])
                try await stage.appears(box)
                box.link.drop()
                _ = try await stage.connect(to: box, service: "test.echo")
            }
        }
    }

    @Test func `a test that waits in real time does not fail`() async throws {
        try await DiscoveryStage.with(patience: .seconds(60)) { stage in
            try await stage.appears(try stage.system("Box", services: [Self.echo]))
            try await stage.eventually("it is so") { true }
        }
    }

    @Test func `a test that waits for a thread on a busy machine does not fail`() async throws {
        try await DiscoveryStage.with(patience: .milliseconds(200)) { stage in
            try await stage.appears(try stage.system("Box", services: [Self.echo]))
            // Many more tasks than threads, so that most must wait, longer than the patience. Each alone is short: the
            // pool has more threads than processors where others of its threads have blocked.
            let others = (0..<32 * ProcessInfo.processInfo.activeProcessorCount).map { _ in
                Task.detached {
                    let end = ContinuousClock.now + .milliseconds(20)
                    while ContinuousClock.now < end {}
                }
            }
            for other in others { await other.value }
        }
    }

    @Test func `a system that is not present cannot vanish`() async throws {
        try await DiscoveryStage.with { stage in
            let box = try stage.system("Box")
            let never = await #expect(throws: StageError.self) { try await stage.vanishes(box) }
            #expect(never?.message.contains("Box cannot vanish") == true)
            try await stage.appears(box)
            try await stage.vanishes(box, .silent)
            try await stage.vanishes(box, .crash)
            await #expect(throws: StageError.self) { try await stage.vanishes(box) }
            try await stage.appears(box)
            try await stage.vanishes(box)
        }
    }

    @Test func `a system that still finishes a request cannot appear again`() async throws {
        try await DiscoveryStage.with { stage in
            let slow = AppService("slow") { _ in
                try await stage.clock.sleep(for: .seconds(2))
                return [:]
            }
            let box = try stage.system("Box", services: [slow])
            try await stage.appears(box)
            let client = try await stage.connect(to: box, service: "slow")
            async let response = client.send([:], timeout: .seconds(5))
            try await stage.settle()
            try await stage.vanishes(box)
            let early = await #expect(throws: StageError.self) { try await stage.appears(box) }
            #expect(early?.message.contains("Box cannot appear") == true)
            try await stage.advance(by: .seconds(5))
            _ = try await response
            try await stage.appears(box)
            let port = try await box.port()
            #expect(port > 0)
        }
    }

    @Test func `a system whose host ends with an error does not appear`() async throws {
        try await DiscoveryStage.with { stage in
            let box = try stage.system("Box", services: [Self.echo, Self.echo])
            let error = await #expect(throws: StageError.self) { try await stage.appears(box) }
            #expect(error?.message.contains("Box has ended") == true)
        }
    }

    @Test func `a system with attributes beyond their limits cannot be created`() async throws {
        try await DiscoveryStage.with { stage in
            let error = #expect(throws: RemoteSystemError.self) {
                try stage.system("Box", attributes: ["": "a name without a letter"])
            }
            #expect(error?.code == .misuse)
        }
    }

    @Test func `an application that the system does not have cannot change`() async throws {
        try await DiscoveryStage.with { stage in
            let box = try stage.system("Box")
            try await stage.appears(box)
            let error = await #expect(throws: StageError.self) {
                try await stage.changes(box, application: "test.other", attributes: [:])
            }
            #expect(error?.message.contains("Box has no such application") == true)
        }
    }

    @Test func `a system that is absent when it is to vanish fails the test that advances the clock`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let box = try stage.system("Box")
            try await stage.vanishes(box, after: .seconds(2))
            await #expect(throws: StageError.self) { try await stage.advance(by: .seconds(3)) }
            try await stage.vanishes(box, after: .seconds(2))
            try await stage.appears(box, after: .seconds(1))
            try await stage.advance(by: .seconds(3))
        }
    }
}
