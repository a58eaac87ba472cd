// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import NIOCore
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// Two linked accounts on one network segment: ours, and a friend's.
struct LinkedAccounts {
    let ours: LoopbackSystem
    let friends: LoopbackSystem

    /// Links two temporary accounts, and runs a body with them.
    ///
    /// - Parameters:
    ///   - granted: what our account grants to the friend's.
    ///   - received: what the friend's account grants to ours.
    static func with(
        granting granted: Grants,
        receiving received: Grants = Grants(),
        _ body: (LinkedAccounts) async throws -> Void
    ) async throws {
        try await LoopbackSystem.with { ours in
            try await LoopbackSystem.with { friends in
                var friends = friends
                friends.segment = ours.segment
                let accounts = LinkedAccounts(ours: ours, friends: friends)
                _ = try accounts.ourStore.identity()
                _ = try accounts.friendsStore.identity()
                try accounts.link(granting: granted, receiving: received)
                try await body(accounts)
            }
        }
    }

    var ourStore: AccountStore { AccountStore(directory: self.ours.directory) }
    var friendsStore: AccountStore { AccountStore(directory: self.friends.directory) }
    var ourAccount: RemoteSystemsAccount { RemoteSystemsAccount(self.ours.configuration("test.account")) }

    var ourID: AccountID { get throws { try self.ourStore.identity().accountID } }
    var friendsID: AccountID { get throws { try self.friendsStore.identity().accountID } }

    func link(granting granted: Grants, receiving received: Grants = Grants()) throws {
        let now = Date()
        let own = try self.ourStore.linkOffer(name: "Ada", granting: granted, now: now)
        let other = try self.friendsStore.linkOffer(name: "Bo", granting: received, now: now)
        try self.ourStore.link(own, with: other, now: now)
        try self.friendsStore.link(other, with: own, now: now)
    }

    /// Runs a body with a temporary third account on the same segment, which the friend's account is linked with, too.
    ///
    /// - Parameter granted: what the third account grants to the friend's.
    func withThird(
        granting granted: Grants,
        _ body: (_ third: LoopbackSystem, _ id: AccountID) async throws -> Void
    ) async throws {
        try await LoopbackSystem.with { third in
            var third = third
            third.segment = self.ours.segment
            let store = AccountStore(directory: third.directory)
            let id = try store.identity().accountID
            let now = Date()
            let own = try store.linkOffer(name: "Cy", granting: granted, now: now)
            let other = try self.friendsStore.linkOffer(name: "Bo", granting: Grants(), now: now)
            try store.link(own, with: other, now: now)
            try self.friendsStore.link(other, with: own, now: now)
            try await body(third, id)
        }
    }

    /// A watcher of the friend's that also lists linked systems.
    func friendsWatcher(_ filters: [RemoteSystemFilter] = [.authorizationKind(.linked)]) -> RemoteSystemWatcher {
        self.friends.watcher(filters: filters)
    }

    /// Runs a body with our system as a watcher of the friend's lists it, or with what another watcher lists.
    func withListed(
        by other: RemoteSystemWatcher? = nil,
        _ body: (RemoteSystem, EventRecorder) async throws -> Void
    ) async throws {
        let watcher = other ?? self.friendsWatcher()
        let recorder = EventRecorder(watcher)
        try await watcher.start()
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(try await recorder.added(), recorder))
        } catch {
            outcome = .failure(error)
        }
        await watcher.stop()
        try outcome.get()
    }

    /// A connection of the friend's to a service of our system.
    func open(_ service: String, on system: RemoteSystem) async throws
        -> (AppServiceConnection, AppServiceConnectionStatus)
    {
        let connection = AppServiceConnection(to: AppServiceDescription(name: service))
        return (connection, try await connection.open(.system(system)))
    }

    // MARK: Below the public API

    /// The trust store that the programs of our system use now.
    func ourTrust() throws -> TrustStore {
        try ApplicationContext(self.ours.configuration("test.account")).security().trust
    }

    /// Presents revocation lists of the friend's account to our system, as a system of that account does.
    func presentToOurs(_ lists: [[UInt8]]) async throws {
        let context = ApplicationContext(self.ours.configuration("test.account"))
        try await context.account.learn(of: self.friendsID, revocations: lists, roots: nil)
    }

    /// A trust store of a system of the friend's account.
    func friendsTrust() throws -> TrustStore {
        var trust = try self.friendsStore.identity().trustStore()
        trust.update(links: try self.friendsStore.links().links)
        return trust
    }

    private func connector(_ security: TransportSecurity) -> Connector {
        var connector = Connector(
            security: security,
            limits: ConnectionLimits(),
            timeout: .seconds(10),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        connector.accepted = [.linked]
        return connector
    }

    private func connect(
        _ security: TransportSecurity,
        to host: RemoteSystemHost,
        _ service: String,
        of application: String? = nil,
        publishing publisher: StatePublisher? = nil
    ) async throws -> Connection {
        var connector = self.connector(security)
        // The host subscribes as soon as the connection is open.
        connector.opened = { [opened = connector.opened] connection in
            opened(connection)
            if let publisher { (connection as? Connection)?.publish(publisher) }
        }
        return try await connector.connect(
            to: [Endpoint(transport: .ip, host: "127.0.0.1", port: try await host.port)],
            expecting: nil,
            hello: Hello(
                service: service,
                targetApplication: application,
                application: "test.caller",
                limits: connector.limits.peerLimits
            )
        ) { _, _ in .requestUnknown }
    }

    /// Whether our host accepts a system with this identity: `accepted`, or the code of the failure.
    func outcome(
        of security: TransportSecurity,
        at host: RemoteSystemHost,
        _ service: String = "test.granted",
        of application: String? = nil
    ) async -> String {
        do {
            let connection = try await self.connect(security, to: host, service, of: application)
            await connection.close()
            return "accepted"
        } catch {
            return (error as? TransportError)?.failureCode ?? "\(error)"
        }
    }

    /// Asks our host for a certificate, over a presence connection, and returns the codes of its failures.
    func failuresOfRenewal(
        of security: TransportSecurity,
        at host: RemoteSystemHost,
        times: Int = 1
    ) async throws -> [String?] {
        let connection = try await self.connect(security, to: host, Presence.service)
        let request = try security.identity.makeRenewalRequest()
        var codes: [String?] = []
        for _ in 0..<times {
            let response = try await connection.send(
                ["Type": "renew", "Request": .data(Data(request))],
                timeout: .seconds(60)
            )
            codes.append(response.failure?.code)
        }
        await connection.close()
        return codes
    }

    /// The keys of what our host publishes as `trust` to a system that itself publishes these lists. Returns when each
    /// side has the other's list of revoked systems, so our account must have one.
    func trustRecords(
        _ security: TransportSecurity,
        at host: RemoteSystemHost,
        publishing list: LinkList,
        _ revocations: RevocationList
    ) async throws -> [String] {
        let publisher = StatePublisher()
        let topic = try publisher.open(TrustTopic.schema, for: TopicAudience(view: { _ in .account }))
        defer { topic.close() }
        let account = TrustedAccount(roots: security.trust.own.roots, revocations: revocations)
        try topic.replace(by: TrustTopic.records(of: account, links: list))
        let connection = try await self.connect(security, to: host, Presence.service, publishing: publisher)
        let subscriber = StateSubscriber(TrustTopic.schema)
        let following = Task { _ = try? await subscriber.follow(over: connection) { _ in } }
        try await until { subscriber.records.keys.contains { "\($0)".hasPrefix("list/") } }
        try await until { (try? self.ourStore.links().links.first?.revocations) == revocations }
        following.cancel()
        await connection.close()
        return subscriber.records.keys.map { "\($0)" }
    }
}
