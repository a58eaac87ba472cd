// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import Testing

/// Connections to app services through the public API, over loopback with TLS.
enum Loopback {
    static let echo = AppService("test.echo") { $0.message }

    /// A connection to a service by the host's address.
    static func connect(
        _ loopbackSystem: LoopbackSystem,
        _ host: RemoteSystemHost,
        _ service: AppServiceDescription = AppServiceDescription(name: "test.echo"),
        configuration: RemoteSystemsConfiguration? = nil,
        systemID: SystemID? = nil,
        onRequest: AppServiceConnection.RequestHandler? = nil
    ) async throws -> (AppServiceConnection, AppServiceConnectionStatus) {
        let connection = AppServiceConnection(to: service, onRequest: onRequest)
        let request = RemoteSystemConnectionRequest(
            host: "127.0.0.1",
            port: try await host.port,
            systemID: systemID,
            configuration: configuration ?? loopbackSystem.configuration("test.caller")
        )
        return (connection, try await connection.open(request))
    }

    /// Runs a host with the services and a connection to the first of them.
    static func talk(
        _ services: AppService...,
        responseSchema: AllowedValueSchema? = nil,
        onRequest: AppServiceConnection.RequestHandler? = nil,
        _ body: (AppServiceConnection) async throws -> Void
    ) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost(services) { host in
                let (connection, status) = try await Self.connect(
                    loopbackSystem,
                    host,
                    AppServiceDescription(name: services[0].name, responseSchema: responseSchema),
                    onRequest: onRequest
                )
                #expect(status == .success)
                try await body(connection)
                await connection.close()
            }
        }
    }
}
