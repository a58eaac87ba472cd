// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import NIOCore
import RemoteSystemsIdentity
import RemoteSystemsTransport
import ValueSets

/// A throw-away account and a host on the loopback interface, with TLS and all.
struct LoopbackHost {
    let security: TransportSecurity
    let listener: Listener
    let limits: ConnectionLimits

    /// Runs `body` against a host whose one service answers with `handler`.
    static func with(
        limits: ConnectionLimits = .patient,
        handler: @escaping RequestHandler,
        _ body: (LoopbackHost) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "transport-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let security = try TransportSecurity(identity: AccountStore(directory: directory).identity())
        let listener = try await Listener.start(
            host: "127.0.0.1",
            port: 0,
            security: security,
            limits: limits,
            logger: Logger(label: "host")
        ) { hello, _ in
            guard hello.service == "echo" else {
                return .refuse(Refusal(.appServiceUnavailable, "There is no service \(hello.service) here."))
            }
            return .accept(
                AcceptedConnection(
                    acceptance: Acceptance(application: "test.host", limits: limits.peerLimits, schema: nil),
                    limits: limits,
                    handler: handler,
                    opened: { _ in }
                )
            )
        }
        try await body(LoopbackHost(security: security, listener: listener, limits: limits))
        await listener.stop()
    }

    func connect(
        service: String = "echo",
        handler: @escaping RequestHandler = { _, _ in Reply(status: .failure) }
    ) async throws -> Connection {
        let connector = Connector(
            security: self.security,
            limits: self.limits,
            timeout: .seconds(10),
            logger: Logger(label: "caller")
        )
        return try await connector.connect(
            to: [Endpoint(host: "127.0.0.1", port: self.listener.port)],
            expecting: self.security.identity.systemID,
            hello: Hello(
                service: service,
                package: nil,
                application: "test.caller",
                limits: self.limits.peerLimits
            ),
            handler: handler
        )
    }
}

extension ConnectionLimits {
    /// Handshakes of a debug build on a busy machine may take longer than a second.
    static var patient: ConnectionLimits {
        var limits = ConnectionLimits()
        limits.openingTime = .seconds(10)
        return limits
    }
}
