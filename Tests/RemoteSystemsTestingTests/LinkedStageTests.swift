// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Testing

/// A staged account that is linked with the account of the code under test.
@Suite struct LinkedStageTests {
    private static let echo = AppService("test.echo") { $0.message }

    @Test func `a staged linked system is listed, and called as far as it grants`() async throws {
        try await DiscoveryStage.with { stage in
            stage.link(granting: Grants(), receiving: Grants(services: ["test.echo"]))
            let system = try stage.system(
                "Kitchen",
                account: .linked,
                services: [Self.echo, AppService("test.secret") { $0.message }]
            )
            let plain = stage.watcher()
            let linked = stage.watcher(filters: [.authorizationKind(.linked)])
            try await plain.start()
            let recorder = stage.record(linked)
            try await linked.start()
            try await stage.appears(system)
            #expect(plain.systems.isEmpty)
            let listed = try #require(linked.systems.first)
            #expect(listed.id == system.id && listed.accountName == "Linked account")
            #expect(listed.applications.flatMap(\.services).map(\.name) == ["test.echo"])
            let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
            #expect(try await connection.open(.system(listed)) == .success)
            #expect(try await connection.send(["a": 1]).message == ["a": 1])
            await connection.close()
            let application = try #require(listed.applications.first)
            let refused = AppServiceConnection(to: AppServiceDescription(name: "test.secret"))
            #expect(try await refused.open(.application(application)) == .notAuthorized)
            _ = recorder
            await plain.stop()
            await linked.stop()
        }
    }
}
