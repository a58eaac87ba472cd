// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Player
import RemoteSystems
import RemoteSystemsTesting
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
            let slow = AppService("com.example.ping") { _ in
                try await stage.clock.sleep(for: .seconds(2))
                return ["Type": "pong"]
            }
            let speaker = try stage.system("Living room", application: "com.example.speaker", services: [slow])
            let player = Player(stage.configuration)
            async let _: Void = player.run()

            try await stage.appears(speaker)
            try await stage.vanishes(speaker, .silent, after: .seconds(1))
            try await stage.advance(by: .seconds(20))
            let speakers = await player.speakers
            #expect(speakers == [:])
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
