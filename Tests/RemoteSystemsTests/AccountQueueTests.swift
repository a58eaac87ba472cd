// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Logging
import NIOCore
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Synchronization
import Testing

@testable import RemoteSystems

/// The queue on which the account's files are read and its key signs.
@Suite struct AccountQueueTests {
    private final class Collected<Element: Sendable>: Sendable {
        let all = Mutex<[Element]>([])
    }

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
                defer { gate.signal() }
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
                await blocked
                let response = try await renewal
                #expect(response.status == .success)
                #expect(response.message["Certificate"]?.data != nil)
                await watcher.close()
            }
        }
    }

    /// Opens a presence connection of another system of the account.
    private static func watch(_ host: RemoteSystemHost, as identity: SystemIdentity) async throws -> Connection {
        let connector = Connector(
            security: try TransportSecurity(identity: identity),
            limits: ConnectionLimits(),
            timeout: .seconds(60),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        return try await connector.connect(
            to: [Endpoint(host: "127.0.0.1", port: try await host.port)],
            expecting: nil,
            hello: Hello(
                service: Presence.service,
                targetApplication: nil,
                application: "test.watcher",
                limits: connector.limits.peerLimits
            )
        ) { _, _ in Response() }
    }

    private static func renew(_ identity: SystemIdentity, over connection: Connection) async throws -> Response {
        let request = try identity.makeRenewalRequest()
        return try await connection.send(["Type": "renew", "Request": .data(Data(request))], timeout: .seconds(60))
    }

    /// The machine with the root key, to which a member sends as many requests as it can while the queue is blocked.
    @Test func `a member that asks for renewals without a pause delays no revocation, renewal or invitation`()
        async throws
    {
        try await LoopbackSystem.with { system in
            try await system.withHost([AppService.ping]) { host in
                _ = try await host.port
                let store = AccountStore(directory: system.directory)
                let members = try (0..<2).map { _ in
                    try store.authority().makeSystem(beside: store.identity(), now: Date())
                }
                let (greedy, honest) = (members[0], members[1])
                var connections: [Connection] = []
                for _ in 0..<4 { connections.append(try await Self.watch(host, as: greedy)) }
                let other = try await Self.watch(host, as: honest)

                let account = host.context.account
                let queue = account.accountQueue
                let gate = Gate()
                async let blocked: Void = queue.run { gate.hold() }
                defer { gate.open() }
                try await until { gate.isHeld }
                let refusals = Collected<WireFailure?>()
                let requests = 8 * connections.count
                let attack = Task { [connections] in
                    await withTaskGroup(of: Void.self) { group in
                        for number in 0..<requests {
                            group.addTask {
                                let response = try? await Self.renew(
                                    greedy,
                                    over: connections[number % connections.count]
                                )
                                guard let response, response.status != .success else { return }
                                refusals.all.withLock { $0.append(response.failure) }
                            }
                        }
                    }
                }
                try await until { refusals.all.withLock { $0.count } >= requests - AccountQueue.maxOfPeer }
                #expect(queue.count >= 1 + AccountQueue.maxOfPeer)
                #expect(refusals.all.withLock { $0.allSatisfy { $0?.code == "busy" && $0?.canRetry == true } })

                // Revokes the member like the command, in the files only.
                try RemoteSystemsAccount(system.configuration("test.account")).revoke(greedy.systemID)
                async let reloaded: Void = account.reloadIdentityInBackground()
                async let renewal = Self.renew(honest, over: other)
                let (invitations, shown) = AsyncStream<Invitation>.makeStream()
                let inviting = Task {
                    defer { shown.finish() }
                    return try await RemoteSystemsAccount(system.configuration("test.account"))
                        .invite { shown.yield($0) }
                }
                defer { inviting.cancel() }
                try await until { queue.count >= 1 + AccountQueue.maxOfPeer + 3 }
                gate.open()
                await blocked
                await reloaded
                #expect(account.revocations?.contains(greedy.systemID) == true)
                let response = try await renewal
                #expect(response.status == .success)
                var iterator = invitations.makeAsyncIterator()
                let invitation = await iterator.next()
                #expect(invitation != nil)
                inviting.cancel()
                _ = await inviting.result
                await attack.value
                for connection in connections + [other] { connection.abort() }
            }
        }
    }

    @Test func `a certificate that is kept is given again while the queue is blocked`() async throws {
        try await LoopbackSystem.with { system in
            try await system.withHost([AppService.ping]) { host in
                let identity = try host.context.security().identity
                let connection = try await Self.watch(host, as: identity)
                let first = try await Self.renew(identity, over: connection)
                #expect(first.status == .success)
                let gate = Gate()
                async let blocked: Void = host.context.account.accountQueue.run { gate.hold() }
                defer { gate.open() }
                try await until { gate.isHeld }
                let second = try await Self.renew(identity, over: connection)
                #expect(second.message == first.message)
                gate.open()
                await blocked
                connection.abort()
            }
        }
    }

    @Test func `at most one change of a peer runs before a change of this process`() async throws {
        let queue = AccountQueue()
        let holder = QuotaHolder.system(try #require(SystemID(bytes: [UInt8](repeating: 1, count: 32))))
        let order = Collected<String>()
        let gate = Gate()
        async let blocked: Void = queue.run { gate.hold() }
        defer { gate.open() }
        try await until { gate.isHeld }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<AccountQueue.maxOfPeer {
                group.addTask { try await queue.run(for: holder) { order.all.withLock { $0.append("peer") } } }
            }
            try await until { queue.count == 1 + AccountQueue.maxOfPeer }
            let error = await #expect(throws: RemoteSystemError.self) { try await queue.run(for: holder) {} }
            #expect(error?.canRetry == true)
            // A process has no limit.
            for number in 0..<AccountQueue.maxOfPeers {
                group.addTask { await queue.run { order.all.withLock { $0.append("own") } } }
                try await until { queue.count == 2 + AccountQueue.maxOfPeer + number }
            }
            gate.open()
            try await group.waitForAll()
        }
        await blocked
        let changes = order.all.withLock { $0 }
        #expect(changes.filter { $0 == "own" }.count == AccountQueue.maxOfPeers)
        #expect(changes.filter { $0 == "peer" }.count == AccountQueue.maxOfPeer)
        #expect((changes.lastIndex(of: "own") ?? 0) <= AccountQueue.maxOfPeers)
    }
}

/// A change that holds the queue until it is opened.
private final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let held = Mutex(false)

    var isHeld: Bool { self.held.withLock { $0 } }

    func hold() {
        self.held.withLock { $0 = true }
        self.semaphore.wait()
    }

    func open() { self.semaphore.signal() }
}
