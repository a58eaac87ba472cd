// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import Testing

/// Opening a connection to an app service, over loopback with TLS.
@Suite struct ConnectionOpeningTests {
    @Test func `a service that the application does not offer has status 3`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([Loopback.echo]) { host in
                let (connection, status) = try await Loopback.connect(
                    loopbackSystem,
                    host,
                    AppServiceDescription(name: "missing")
                )
                #expect(status == .appServiceUnavailable)
                #expect(status.rawValue == 3)
                #expect(connection.openError?.message.contains("missing") == true)
                #expect(connection.openError?.side == .remote)
            }
        }
    }

    @Test func `connecting to an application that is not installed has status 1 (R-29, R-30)`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([Loopback.echo]) { host in
                let description = AppServiceDescription(name: "test.echo", applicationID: "test.other")
                let (_, status) = try await Loopback.connect(loopbackSystem, host, description)
                #expect(status == .appNotInstalled)
            }
        }
    }

    @Test func `an address without a listener has status 5, and the error suggests a retry`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
            let nowhere = RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: 1,
                configuration: loopbackSystem.configuration("test.caller")
            )
            let status = try await connection.open(nowhere)
            #expect(status == .remoteSystemUnavailable)
            let error = try #require(connection.openError)
            #expect(error.code == .unreachable)
            #expect(error.side == .network)
            #expect(error.canRetry)
            #expect(error.outcome == .notExecuted)
        }
    }

    @Test func `a connection that could not be opened can be opened later`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
            let configuration = loopbackSystem.configuration("test.caller")
            let nowhere = RemoteSystemConnectionRequest(host: "127.0.0.1", port: 1, configuration: configuration)
            let status = try await connection.open(nowhere)
            #expect(status == .remoteSystemUnavailable)
            try await loopbackSystem.withHost([Loopback.echo]) { host in
                let there = RemoteSystemConnectionRequest(
                    host: "127.0.0.1",
                    port: try await host.port,
                    configuration: configuration
                )
                let value3 = try await connection.open(there)
                #expect(value3 == .success)
                #expect(connection.openError == nil)
            }
        }
    }

    @Test func `a system of another account is refused with status 7`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await LoopbackSystem.with { strangers in
                try await loopbackSystem.withHost([Loopback.echo]) { host in
                    let (connection, status) = try await Loopback.connect(
                        loopbackSystem,
                        host,
                        configuration: strangers.configuration("test.stranger")
                    )
                    #expect(status == .notAuthorized)
                    #expect(connection.openError?.code == .notTrusted)
                }
            }
        }
    }

    @Test func `no connection is opened to a system other than the expected one`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([Loopback.echo]) { host in
                let other = try #require(SystemID(bytes: [UInt8](repeating: 7, count: 32)))
                let (connection, status) = try await Loopback.connect(loopbackSystem, host, systemID: other)
                #expect(status == .notAuthorized)
                #expect(connection.openError?.message.contains("Another system") == true)
            }
        }
    }

    @Test func `opening twice is misuse, and so is sending before opening (R-33)`() async throws {
        try await Loopback.talk(Loopback.echo) { connection in
            let request = RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: 1,
                configuration: RemoteSystemsConfiguration(applicationID: "x")
            )
            let again = await #expect(throws: RemoteSystemError.self) { _ = try await connection.open(request) }
            #expect(again?.code == .misuse)
        }
        let unopened = AppServiceConnection(to: AppServiceDescription(name: "x"))
        let early = await #expect(throws: RemoteSystemError.self) { _ = try await unopened.send([:]) }
        #expect(early?.code == .misuse)
    }

    @Test func `the connection knows its peer and its limits (X-35)`() async throws {
        try await Loopback.talk(Loopback.echo) { connection in
            let info = try #require(connection.info)
            #expect(info.isProximal)
            #expect(info.peer.isLocal)
            #expect(info.peer.claimedApplicationID == "test.host")
            #expect(info.messageLimit == 1 << 20)
            #expect(info.address == "127.0.0.1")
        }
    }
}
