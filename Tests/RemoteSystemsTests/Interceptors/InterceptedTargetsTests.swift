// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Testing

/// Interceptors of a connection, for every kind of target.
@Suite struct InterceptedTargetsTests {
    @Test func `interceptors surround requests to every kind of target`() async throws {
        try await DiscoveryStage.with { stage in
            let staged = try stage.system("Speaker", services: [AppService("test.echo") { $0.message }])
            try await stage.appears(staged)
            let watcher = stage.watcher()
            try await watcher.start()
            try await stage.eventually("it is listed") { !watcher.systems.isEmpty }
            let system = try #require(watcher.systems.first)
            let application = try #require(system.applications.first)
            // Without an address, the application is searched for first.
            let caller = AppServiceCaller.staged(applicationID: application.id, systemID: system.id)
            let tokens = [application.connectionToken, try #require(caller.connectionToken)]
            let requests =
                [
                    RemoteSystemConnectionRequest(system: system),
                    RemoteSystemConnectionRequest(application: application),
                    try await stage.request(to: staged),
                ]
                + (try tokens.map {
                    try RemoteSystemConnectionRequest(connectionToken: $0, configuration: stage.configuration)
                })
            for (number, request) in requests.enumerated() {
                let diary = Diary()
                let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
                let status = try await connection.open(request.intercepted(by: ClientInterceptor("client", diary)))
                #expect(status == .success)
                #expect(try await connection.send([:]).status == .success)
                await connection.close()
                #expect(diary.entries == ["client: test.echo", "client: success"], "\(number)")
            }
        }
    }
}
