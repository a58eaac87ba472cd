// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystemsTransport
import Testing
import ValueSets

@Suite struct LoopbackTests {
    @Test func `a request is answered over TLS`() async throws {
        try await LoopbackHost.with { request, _ in
            Reply(message: ["echo": .dictionary(request.message)])
        } _: { host in
            let connection = try await host.connect()
            let reply = try await connection.send(["Type": "ping"], timeout: .seconds(5))
            #expect(reply.status == .success)
            #expect(reply.message == ["echo": ["Type": "ping"]])
            await connection.close()
            #expect(await connection.waitUntilClosed() == .completed)
        }
    }

    @Test func `many requests at once are all answered`() async throws {
        try await LoopbackHost.with { request, _ in
            Reply(message: request.message)
        } _: { host in
            let connection = try await host.connect()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<1000 {
                    group.addTask {
                        let reply = try await connection.send(
                            ["number": .integer(Int64(number))],
                            timeout: .seconds(20)
                        )
                        #expect(reply.message["number"] == .integer(Int64(number)))
                    }
                }
                try await group.waitForAll()
            }
            await connection.close()
        }
    }

    @Test func `an unknown service is refused with the status that says so`() async throws {
        try await LoopbackHost.with { _, _ in
            Reply()
        } _: { host in
            let error = await #expect(throws: TransportError.self) { _ = try await host.connect(service: "nobody") }
            #expect(error?.openStatus == .appServiceUnavailable)
        }
    }
}
