// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Player
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing

@Suite struct PlayerTests {
    @Test func `a speaker that appears is pinged, and forgotten when it goes`() async throws {
        try await DiscoveryStage.with { stage in
            let ping = AppService("com.example.ping") { _ in ["Type": "pong"] }
            let speaker = try stage.system("Living room", application: "com.example.speaker", services: [ping])
            let player = Player(stage.configuration)
            async let _: Void = player.run()

            try await stage.appears(speaker)
            let whenThere = await player.speakers
            #expect(whenThere == ["Living room": .responses])

            try await stage.vanishes(speaker)
            let whenGone = await player.speakers
            #expect(whenGone == [:])
        }
    }

    @Test func `a speaker that vanishes half-way through a ping is given up`() async throws {
        try await DiscoveryStage.with { stage in
            let pings = Atomic(0)
            let slow = AppService("com.example.ping") { _ in
                pings.add(1, ordering: .relaxed)
                try await stage.clock.sleep(for: .seconds(2))
                return ["Type": "pong"]
            }
            let speaker = try stage.system("Living room", application: "com.example.speaker", services: [slow])
            let player = Player(stage.configuration)
            async let _: Void = player.run()

            try await stage.appears(speaker)
            // Without this the test would pass if the player saw nothing at all.
            #expect(pings.load(ordering: .relaxed) == 1)
            try await stage.vanishes(speaker, .silent, after: .seconds(1))
            try await stage.advance(by: .seconds(20))
            let speakers = await player.speakers
            #expect(speakers == [:])
        }
    }

    @Test func `a speaker whose response is lost is silent`() async throws {
        try await DiscoveryStage.with { stage in
            let ping = AppService("com.example.ping") { _ in ["Type": "pong"] }
            let speaker = try stage.system("Living room", application: "com.example.speaker", services: [ping])
            let player = Player(stage.configuration)
            async let _: Void = player.run()

            speaker.link.drop(.response(of: "com.example.ping"))
            try await stage.appears(speaker)
            try await stage.advance(by: .seconds(60))
            let speakers = await player.speakers
            #expect(speakers == ["Living room": .silent])
        }
    }

    @Test func `the second ping is lost, and the third cut off`() async throws {
        try await DiscoveryStage.with { stage in
            let ping = AppService("com.example.ping") { _ in ["Type": "pong"] }
            let speaker = try stage.system("Living room", services: [ping])
            try await stage.appears(speaker)
            let connection = try await stage.connect(to: speaker, service: "com.example.ping")

            speaker.link.drop(.request(2))
            speaker.link.cut(at: .response(2, of: "com.example.ping"))
            speaker.link.delay(.first { $0.content["Type"] == "pong" }, by: .seconds(1))
            async let first = connection.send(["Type": "ping"])
            try await stage.settle()
            try await stage.advance(by: .seconds(1))
            let pong = try await first.get()
            #expect(pong == ["Type": "pong"])

            async let second = connection.send(["Type": "ping"], timeout: .seconds(5))
            try await stage.settle()
            try await stage.advance(by: .seconds(5))
            let status = try await second.status
            #expect(status == .unknown)

            let third = try await connection.send(["Type": "ping"])
            #expect(third.error?.code == .connectionLost)
        }
    }

    @Test func `a ping is answered, and nothing else is`() async throws {
        let ping = AppService("com.example.ping") { request in
            guard request.message["Type"] == "ping" else { throw AppServiceFailure("This is no ping.") }
            return ["Type": "pong"]
        }
        let response = try await ping.respond(to: .staged(["Type": "ping"]))
        #expect(response == ["Type": "pong"])
        await #expect(throws: AppServiceFailure.self) { try await ping.respond(to: .staged(["Type": "pang"])) }
    }
}
