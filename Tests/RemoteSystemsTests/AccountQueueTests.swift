// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import NIOCore
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// The queue on which the account's files are read and its key signs.
@Suite struct AccountQueueTests {
    /// Connects to the host like a watcher.
    private static func watch(_ host: RemoteSystemHost, _ local: ApplicationContext) async throws -> Connection {
        try await local.connector().connect(
            to: [Endpoint(host: "127.0.0.1", port: try await host.port)],
            expecting: nil,
            hello: local.hello(service: Presence.service, targetApplication: nil, limits: local.limits)
        ) { _, _ in Response() }
    }

    @Test func `while the account's queue is blocked a host serves all requests except renewals`()
        async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([AppService.ping]) { host in
                let local = ApplicationContext(loopbackSystem.configuration("test.watcher"))
                let watcher = try await Self.watch(host, local)
                let request = try local.security().identity.makeRenewalRequest()

                let gate = DispatchSemaphore(value: 0)
                let queue = host.context.account.accountQueue
                async let blocked: Void = queue.run { gate.wait() }
                try await until { queue.count == 1 }
                async let renewal = watcher.send(
                    ["Type": "renew", "Request": .data(Data(request))],
                    timeout: .seconds(60)
                )
                try await until { queue.count == 2 }
                // Accepting connections needs the host's actor, too.
                let (connection, status) = try await Loopback.connect(
                    loopbackSystem,
                    host,
                    AppServiceDescription(name: AppService.pingName, requestSchema: .full, responseSchema: .full)
                )
                #expect(status == .success)
                #expect(try await connection.send(["Type": "ping"]).get() == ["Type": "pong"])
                await connection.close()
                #expect(queue.count == 2)

                gate.signal()
                try await blocked
                let response = try await renewal
                #expect(response.status == .success)
                #expect(response.message["Certificate"]?.data != nil)
                await watcher.close()
            }
        }
    }
}
