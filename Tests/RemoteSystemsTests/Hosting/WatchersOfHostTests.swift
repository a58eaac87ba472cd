// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsTransport
import Synchronization
import Testing

@testable import RemoteSystems

/// How a host that ends closes the connections of its watchers.
@Suite struct WatchersOfHostTests {
    @Test func `a host that ends closes them orderly, and refers watchers nowhere (X-34)`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let connections = Mutex<[Connection]>([])
            let local = ApplicationContext(loopbackSystem.configuration("test.watcher"))
            try await loopbackSystem.withHost([AppService.ping]) { host in
                let connection = try await local.connector().connect(
                    to: [Endpoint(host: "127.0.0.1", port: try await host.port)],
                    expecting: nil,
                    hello: local.hello(service: Presence.service, targetApplication: nil, limits: local.limits)
                ) { _, _ in Response() }
                connections.withLock { $0 = [connection] }
                let subscriber = StateSubscriber(PresenceTopic.schema)
                let following = Task { try await subscriber.follow(over: connection) { _ in } }
                try await until { SystemDescription(subscriber.records) != nil }
                following.cancel()
                _ = await following.result
            }
            for connection in connections.withLock({ $0 }) {
                #expect(await connection.waitUntilClosed() == .completed)
            }
        }
    }
}
