// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import NIOCore
import RemoteSystemsTransport
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystems
@testable import RemoteSystemsIdentity

/// How a host renews its certificate, while some of the systems that it asks do not cooperate.
@Suite(.timeLimit(.minutes(3))) struct CertificateRenewerTests {
    private final class Count: Sendable {
        private let count = Mutex(0)

        var value: Int { self.count.withLock { $0 } }

        func increase() { self.count.withLock { $0 += 1 } }
    }

    /// A running host whose certificate is due, in an account with a link.
    private struct DueHost {
        let accounts: LinkedAccounts
        let store: AccountStore
        let host: RemoteSystemHost
        let log: InMemoryLogHandler

        var isRenewed: Bool { (try? self.store.identity())?.isRenewalDue(at: Date()) == false }

        /// The number of connections over which the host will ask.
        var waiting: Int { self.host.context.account.renewer.waiting }

        /// Another system of the account.
        func member() throws -> SystemIdentity {
            try self.accounts.ourStore.authority().makeSystem(beside: self.accounts.ourStore.identity(), now: Date())
        }

        /// Opens a presence connection.
        func watch(
            as identity: SystemIdentity,
            trusting trust: TrustStore? = nil,
            _ handler: @escaping RequestHandler.Handle
        ) async throws -> Connection {
            var connector = Connector(
                security: try TransportSecurity(identity: identity, trust: trust ?? identity.trustStore()),
                limits: ConnectionLimits(),
                timeout: .seconds(60),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            connector.accepted = [.sameAccount, .linked]
            return try await connector.connect(
                to: [Endpoint(host: "127.0.0.1", port: try await self.host.port)],
                expecting: nil,
                hello: Hello(
                    service: Presence.service,
                    targetApplication: nil,
                    application: "test.watcher",
                    limits: connector.limits.peerLimits
                ),
                handler: handler
            )
        }

        /// Opens a presence connection of the system with the account's root key.
        func watchAsAuthority() async throws -> Connection {
            let authority = try self.accounts.ourStore.authority()
            return try await self.watch(as: self.accounts.ourStore.identity()) { request, connection in
                guard let bytes = request.message["Request"]?.data,
                    let certificate = try? authority.renew(Array(bytes), for: connection.peer, now: Date())
                else { return Response(status: .failure) }
                return Response(message: ["Certificate": .data(Data(certificate))])
            }
        }
    }

    /// Members that do not respond, so that the host waits for them: each for ten seconds, which is long enough for a
    /// busy machine to do the rest.
    private struct SilentMembers {
        private static let count = 6

        let connections: [Connection]
        private let due: DueHost
        private let asked: Count
        private let response: AsyncStream<Void>.Continuation

        init(of due: DueHost) async throws {
            let asked = Count()
            let (responses, response) = AsyncStream.makeStream(of: Void.self)
            var connections: [Connection] = []
            for _ in 0..<Self.count {
                connections.append(
                    try await due.watch(as: due.member()) { _, _ in
                        asked.increase()
                        for await _ in responses {}
                        return Response(status: .failure)
                    }
                )
            }
            (self.connections, self.due, self.asked, self.response) = (connections, due, asked, response)
            try await self.precede(0)
        }

        /// Waits until a number of other connections wait behind these.
        func precede(_ others: Int) async throws {
            try await until { self.asked.value > 0 && self.asked.value + self.due.waiting >= Self.count + others }
            #expect(!self.due.isRenewed)
        }

        /// Lets all of them respond, with a failure.
        func respond() { self.response.finish() }

        func abort() { for connection in self.connections { connection.abort() } }
    }

    /// Stores an identity without the account's root key.
    private static func install(_ identity: SystemIdentity, created: Date, at path: String) throws {
        let state = try SecretDirectory.make(path: path)
        try AccountStore.install(StoredAccount.files(of: identity, rootKey: nil, created: created), in: state)
    }

    private func withDueHost(_ body: (DueHost) async throws -> Void) async throws {
        try await LinkedAccounts.with(granting: Grants(services: ["test.granted"])) { accounts in
            try await LoopbackSystem.with { system in
                let created = Date().addingTimeInterval(CertificateLife.renewalWindow - CertificateLife.system - 3600)
                let identity = try accounts.ourStore.authority()
                    .makeSystem(beside: accounts.ourStore.identity(), now: created)
                try Self.install(identity, created: created, at: system.directory)
                let store = AccountStore(directory: system.directory)
                let links = try #require(try accounts.ourStore.links().list)
                _ = try store.install(links: links.bytes, now: Date())
                let log = InMemoryLogHandler()
                var logged = system
                logged.logger = Logger(label: "test") { _ in log }
                try await logged.withHost([.ping]) { host in
                    let due = DueHost(accounts: accounts, store: store, host: host, log: log)
                    #expect(!due.isRenewed)
                    try await body(due)
                }
            }
        }
    }

    @Test
    func `members that never respond do not keep a certificate from being renewed, and no linked account is asked`()
        async throws
    {
        try await self.withDueHost { due in
            let (linked, silent) = (Count(), Count())
            let friend = try due.accounts.friendsStore.identity()
            var connections = [
                try await due.watch(as: friend, trusting: due.accounts.friendsTrust()) { _, _ in
                    linked.increase()
                    return Response(status: .failure)
                }
            ]
            let member = try due.member()
            for _ in 0..<70 {
                connections.append(
                    try await due.watch(as: member) { _, _ in
                        silent.increase()
                        // No response while the test runs.
                        try? await Task.sleep(for: .seconds(3600))
                        return Response(status: .failure)
                    }
                )
            }
            try await until { silent.value > 0 }
            let before = silent.value
            connections.append(try await due.watchAsAuthority())
            // The host may ask the member once more first.
            try await until { silent.value > before || due.isRenewed }
            try await until { due.isRenewed }
            #expect(silent.value <= before + 2)
            #expect(linked.value == 0)
            for connection in connections { connection.abort() }
        }
    }

    @Test(arguments: [true, false])
    func `a system is asked over a connection that lasts, whether another one that has ended is older or newer`(
        isOlder: Bool
    ) async throws {
        try await self.withDueHost { due in
            let silent = try await SilentMembers(of: due)
            let older = try await due.watchAsAuthority()
            try await silent.precede(1)
            let newer = try await due.watchAsAuthority()
            try await silent.precede(2)
            let (short, lasting) = isOlder ? (older, newer) : (newer, older)
            await short.close()
            try await until { await due.host.core.watchers.count == silent.connections.count + 1 }
            silent.respond()
            try await until { due.isRenewed }
            silent.abort()
            lasting.abort()
        }
    }

    @Test func `a system is asked over its other connection if the first one ends during the request`() async throws {
        try await self.withDueHost { due in
            let silent = try await SilentMembers(of: due)
            let asked = Count()
            let short = try await due.watch(as: due.accounts.ourStore.identity()) { _, _ in
                asked.increase()
                // No response while the test runs.
                try? await Task.sleep(for: .seconds(3600))
                return Response(status: .failure)
            }
            try await silent.precede(1)
            let lasting = try await due.watchAsAuthority()
            try await silent.precede(2)
            silent.respond()
            try await until { asked.value > 0 }
            short.abort()
            try await until { due.isRenewed }
            silent.abort()
            lasting.abort()
        }
    }

    /// Each system has places for two connections: with the others first, the one that lasts would have none.
    @Test func `the connections of a system are asked over in the order of their opening`() async throws {
        try await self.withDueHost { due in
            var (systems, connections) = ([SystemID](), [Connection]())
            for _ in 0..<12 {
                let member = try due.member()
                systems.append(member.systemID)
                connections.append(try await due.watch(as: member) { _, _ in Response(status: .failure) })
                try await until { await due.host.core.watchers.count == systems.count }
            }
            #expect(await due.host.core.watchersByAge.map(\.peer.systemID) == systems)
            for connection in connections { connection.abort() }
        }
    }

    @Test func `many short connections of a system leave the place of the one that lasts`() async throws {
        try await self.withDueHost { due in
            let silent = try await SilentMembers(of: due)
            let lasting = try await due.watchAsAuthority()
            try await silent.precede(1)
            var short: [Connection] = []
            for _ in 0..<8 { short.append(try await due.watchAsAuthority()) }
            try await silent.precede(2)
            for connection in short { await connection.close() }
            try await until { await due.host.core.watchers.count == silent.connections.count + 1 }
            silent.respond()
            try await until { due.isRenewed }
            silent.abort()
            lasting.abort()
        }
    }

    @Test func `a member that fails and connects again is asked a few times, and fills no log`() async throws {
        try await self.withDueHost { due in
            let asked = Count()
            let member = try due.member()
            let attempts = Int(CertificateRenewer.attempts)
            var connections: [Connection] = []
            for number in 1...(attempts + 32) {
                connections.append(
                    try await due.watch(as: member) { _, _ in
                        asked.increase()
                        return Response(status: .failure)
                    }
                )
                if number <= attempts { try await until { asked.value >= number } }
            }
            connections.append(try await due.watchAsAuthority())
            try await until { due.isRenewed }
            // One more for each minute that a slow machine takes, and three log entries.
            #expect((attempts...attempts + 3).contains(asked.value))
            #expect(due.log.entries.count { "\($0.message)" == "The system's certificate could not be renewed" } <= 12)
            for connection in connections { connection.abort() }
        }
    }
}
