// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Player
import RemoteSystems
import RemoteSystemsTesting
import XCTest

/// The same with XCTest.
final class PlayerXCTests: XCTestCase {
    func testASpeakerWhoseAnswerIsDamagedCountsAsSilent() async throws {
        try await DiscoveryStage.with { stage in
            let ping = AppService("com.example.ping") { _ in ["Type": "pong"] }
            let speaker = try stage.system("Living room", application: "com.example.speaker", services: [ping])
            let player = Player(stage.configuration)
            async let running: Void = player.run()
            speaker.link.delay(.milliseconds(100))

            try await stage.appears(speaker)
            speaker.link.corrupt(afterBytes: 5_000)
            try await stage.advance(by: .seconds(2))
            let speakers = await player.speakers
            XCTAssertEqual(speakers.keys.sorted(), ["Living room"])
        }
    }
}
