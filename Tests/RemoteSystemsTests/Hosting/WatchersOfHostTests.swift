// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystemsTransport
import Synchronization
import Testing

@testable import RemoteSystems

/// How a host that ends closes the connections of its watchers, and what watchers that end leave at a host.
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
    /// Opens a presence connection, and ends it.
    ///
    /// - Parameter number: Decides whether it ends before the description arrived, and whether it ends with a close.
    private static func comeAndGo(_ number: Int, to port: Int, _ local: ApplicationContext) async throws {
        let connection = try await local.connector().connect(
            to: [Endpoint(host: "127.0.0.1", port: port)],
            expecting: nil,
            hello: local.hello(service: Presence.service, targetApplication: nil, limits: local.limits)
        ) { _, _ in Response() }
        let subscriber = StateSubscriber(PresenceTopic.schema)
        let following = Task { try await subscriber.follow(over: connection) { _ in } }
        if number % 4 != 0 { try await until { SystemDescription(subscriber.records) != nil } }
        switch number % 3 {
        case 0: await connection.close()
        case 1: connection.abort()
        default: connection.channel.close(promise: nil)
        }
        following.cancel()
        _ = await following.result
    }

    @Test func `hundreds of watchers that come and go leave nothing at a host`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let local = ApplicationContext(loopbackSystem.configuration("test.watcher"))
            try await loopbackSystem.withHost([AppService.ping]) { host in
                let port = try await host.port
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<400 {
                        if number >= 16 { _ = try await group.next() }
                        group.addTask { try await Self.comeAndGo(number, to: port, local) }
                    }
                    try await group.waitForAll()
                }
                let core = host.core
                try await until { host.openConnections == 0 }
                try await until { await core.watchers.isEmpty }
                try await until { await core.publications?.subscriptions == 0 }
                let budget = core.memoryBudget
                try await until { budget.connections == 0 }
                #expect(budget.requests.bytes == 0 && budget.responses.bytes == 0)
                #expect(budget.frames.bytes == 0 && budget.waiting.bytes == 0)
            }
        }
    }
}
