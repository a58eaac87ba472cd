// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import RemoteSystemsTransport
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystems

/// Streams and the limits of a host, over loopback with TLS.
@Suite(.timeLimit(.minutes(1))) struct HostStreamTests {
    private static let service = AppService("test.echo") { request in
        let offer = try request.connection.offerStream()
        Task {
            let stream = try await offer.opened()
            for try await bytes in stream { try await stream.write(bytes) }
            try await stream.finish()
            try await stream.waitUntilFinished()
        }
        return ["Stream": offer.ticket]
    }

    @Test func `a stream counts as a connection of its system until it ends`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            var configuration = loopbackSystem.configuration("test.host")
            configuration.limits.connections = 2
            let host = RemoteSystemHost(configuration, services: [Self.service])
            let running = Task { try await host.run() }
            let (caller, status) = try await Loopback.connect(loopbackSystem, host)
            #expect(status == .success)
            let stream = try await caller.openStream(caller.send([:]).message["Stream"])
            try await until { host.openConnections == 2 }
            let ticket = try await caller.send([:]).message["Stream"]
            do {
                _ = try await caller.openStream(ticket)
                Issue.record("There was room for a third connection.")
            } catch let error as RemoteSystemError {
                #expect(error.code == .refused)
                #expect(error.canRetry)
            }
            try await stream.write([1, 2, 3])
            #expect(try await stream.read() == [1, 2, 3])
            try await stream.finish()
            #expect(try await stream.read() == nil)
            try await stream.waitUntilFinished()
            try await until { host.openConnections == 1 }
            // The refusal has not used up the ticket.
            let again = try await caller.openStream(ticket)
            try await again.finish()
            running.cancel()
            _ = await running.result
        }
    }

    @Test func `a host that ends aborts its streams, and their peers get the reason`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            var configuration = loopbackSystem.configuration("test.host")
            configuration.transport.drainTimeout = .milliseconds(200)
            let host = RemoteSystemHost(configuration, services: [Self.service])
            let running = Task { try await host.run() }
            let (caller, _) = try await Loopback.connect(loopbackSystem, host)
            let stream = try await caller.openStream(caller.send([:]).message["Stream"])
            try await stream.write([1])
            #expect(try await stream.read() == [1])
            running.cancel()
            do {
                _ = try await stream.read()
                Issue.record("The stream came to an end.")
            } catch let error as RemoteSystemError {
                #expect(error.code == .streamAborted)
            }
            _ = await running.result
            #expect(host.openConnections == 0)
        }
    }
}
