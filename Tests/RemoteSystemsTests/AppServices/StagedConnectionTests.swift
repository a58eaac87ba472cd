// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsTesting
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// Connections by the stage's clock.
@Suite struct StagedConnectionTests {
    @Test func `the next of several addresses is tried 250 ms after one that does not respond`() async throws {
        try await DiscoveryStage.with { stage in
            let services = [AppService("test.echo") { $0.message }]
            let mute = try stage.system("Mute", services: services)
            let speaker = try stage.system("Speaker", services: services)
            try await stage.appears(mute)
            try await stage.appears(speaker)
            let endpoints = [
                Endpoint(transport: .memory, host: mute.address, port: try await mute.port()),
                Endpoint(transport: .memory, host: speaker.address, port: try await speaker.port()),
            ]
            mute.link.drop()
            let token = ConnectionToken(systemID: speaker.id, applicationID: "test.host", endpoints: endpoints)
            let request = try RemoteSystemConnectionRequest(
                connectionToken: token.text,
                configuration: stage.configuration
            )
            let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
            async let status = connection.open(request)
            try await stage.advance(by: .milliseconds(249))
            #expect(connection.info == nil)
            try await stage.advance(by: .milliseconds(1))
            // Without this the next await would wait for the stopped clock.
            let info = try #require(connection.info)
            #expect(info.address == speaker.address)
            #expect(try await status == .success)
            await connection.close()
        }
    }

    @Test func `a handler may take as long as its caller waits: no limit ends it after half a minute`() async throws {
        try await DiscoveryStage.with { stage in
            let clock = stage.clock
            let slow = AppService("test.slow") { _ in
                // By the stage's clock, not in real time.
                try await clock.sleep(for: .seconds(3600))
                return ["done": true]
            }
            let speaker = try stage.system("Speaker", services: [slow])
            try await stage.appears(speaker)
            let connection = AppServiceConnection(to: AppServiceDescription(name: "test.slow"))
            let status = try await connection.open(stage.request(to: speaker))
            #expect(status == .success)
            async let response = connection.send([:], timeout: .seconds(7200))
            try await stage.advance(by: .seconds(3600))
            #expect(try await response.get() == ["done": true])
            await connection.close()
        }
    }
}
