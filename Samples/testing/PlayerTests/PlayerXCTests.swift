// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Player
import RemoteSystems
import RemoteSystemsTesting
import XCTest

/// A test with XCTest.
final class PlayerXCTests: XCTestCase {
    func testASpeakerThatCrashesIsForgottenWithinASecond() async throws {
        try await DiscoveryStage.with { stage in
            let ping = AppService("com.example.ping") { _ in ["Type": "pong"] }
            let speaker = try stage.system("Living room", application: "com.example.speaker", services: [ping])
            let player = Player(stage.configuration)
            async let _: Void = player.run()

            try await stage.appears(speaker)
            let whenThere = await player.speakers
            XCTAssertEqual(whenThere, ["Living room": .responses])

            try await stage.vanishes(speaker, .crash)
            try await stage.advance(by: .seconds(1))
            let whenGone = await player.speakers
            XCTAssertEqual(whenGone, [:])
        }
    }
}
