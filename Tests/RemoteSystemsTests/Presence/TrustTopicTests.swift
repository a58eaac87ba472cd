// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import NIOCore
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystems

/// How systems exchange revocation lists.
@Suite(.timeLimit(.minutes(1))) struct TrustTopicTests {
    /// An account in memory that has revoked this many systems, and its root keys.
    private static func list(of count: Int) throws -> (RevocationList, RootChain) {
        let authority = try AccountAuthority(creatingAt: Date())
        let systems = (0..<count).map { number in
            SystemID(
                bytes: [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
                    + [UInt8](repeating: 7, count: 30)
            )
        }
        return (
            try authority.revocationList(of: Set(systems.compactMap(\.self)), after: nil, now: Date()), authority.roots
        )
    }

    @Test(arguments: [1, 479, 480, 4096]) func `a list of any length survives its conversion to records`(count: Int)
        throws
    {
        let (list, roots) = try Self.list(of: count)
        let records = TrustTopic.records(of: TrustedAccount(roots: roots, revocations: list))
        #expect(!records.keys.contains(where: TrustTopic.isSecret))
        #expect(records.count == (list.bytes.count + 15_359) / 15_360)
        for (key, record) in records { #expect(TrustTopic.schema.accepts(record, for: key)) }
        let publisher = StatePublisher()
        let topic = try publisher.open(TrustTopic.schema, for: .sameAccount)
        try topic.replace(by: records)
        #expect(TrustTopic.presented(in: records) == PresentedTrust(lists: [list.bytes]))
    }

    @Test func `later root keys are read from the records, too`() throws {
        let authority = try AccountAuthority(creatingAt: Date())
        let successor = try authority.successor(retiring: Date(), now: Date())
        let records = TrustTopic.records(of: TrustedAccount(roots: successor.roots))
        #expect(TrustTopic.presented(in: records) == PresentedTrust(roots: successor.roots.bytes))
    }

    @Test
    func `what is known of linked accounts is read from the records, as far as it fits, and no linked peer sees it`()
        throws
    {
        let account = TrustedAccount(roots: try AccountAuthority(creatingAt: Date()).roots)
        let (short, long) = ([UInt8](repeating: 1, count: 40), [UInt8](repeating: 2, count: 30_000))
        let endless = [UInt8](repeating: 3, count: 192 << 10)
        let records = TrustTopic.records(of: account, learned: [short, long, endless])
        #expect(TrustTopic.linked(in: records) == [short, long])
        for (key, record) in records { #expect(TrustTopic.schema.accepts(record, for: key)) }
        for key in records.keys { #expect(TrustTopic.isSecret(key)) }
    }

    @Test func `empty, incomplete and oversized records contain no list`() throws {
        let account = TrustedAccount(
            roots: try AccountAuthority(creatingAt: Date()).roots,
            discoveryKey: DiscoveryKey()
        )
        #expect(TrustTopic.records(of: account).isEmpty)
        #expect(TrustTopic.presented(in: [:]) == PresentedTrust())
        #expect(TrustTopic.presented(in: ["list/1": ["Bytes": .data(Data([1]))]]) == PresentedTrust())
        let piece: ValueSet = ["Bytes": .data(Data(count: 15 << 10))]
        let many = Dictionary(uniqueKeysWithValues: (0..<4000).map { (StateKey("list/\($0)"), piece) })
        #expect(TrustTopic.presented(in: many) == PresentedTrust())
    }

    @Test func `a linked account's lists that only have greater numbers are not stored, and take nothing of its pace`()
        async throws
    {
        try await LinkedAccounts.with(granting: Grants(services: ["test.volume"])) { accounts in
            let (authority, friends) = (try accounts.friendsStore.authority(), try accounts.friendsID)
            let lost = try authority.makeSystem(beside: accounts.friendsStore.identity(), now: Date()).systemID
            let context = ApplicationContext(accounts.ours.configuration("test.account"))
            let first = try authority.revocationList(of: [lost], after: nil, now: Date())
            try await accounts.presentToOurs([first.bytes])
            var last = first
            for _ in 0..<16 {
                last = try authority.revocationList(of: [lost], after: last, now: Date())
                try await accounts.presentToOurs([last.bytes])
            }
            let stored = try accounts.ourStore.links()[friends]?.revocations
            #expect(stored == first)
            let delay = context.account.trustPace.withLock { $0.delayOfStoring(of: friends, at: .now) }
            #expect(delay == nil)
        }
    }

    private static let rejected = "A list of revoked systems or of links was rejected"

    @Test func `a forged list is ignored, and the connection continues`() async throws {
        try await Self.withForger { topic, connection, host, log, _ in
            try topic.commit(put: ["list/0": ["Bytes": .data(Data(count: 72))]])
            try await until { log.entries.contains { "\($0.message)" == Self.rejected } }
            #expect(try await connection.send([:], timeout: .seconds(20)).status == .failure)
            #expect(host.context.account.revocations == nil)
        }
    }

    @Test func `a member that keeps sending forged lists has to wait, and fills no log`() async throws {
        try await Self.withForger { topic, connection, host, log, member in
            // Each list is another one, so each would be verified.
            let flood = Task {
                var number: UInt64 = 0
                while !Task.isCancelled {
                    number += 1
                    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
                    try topic.commit(put: ["list/0": ["Bytes": .data(Data(count: 64) + bytes)]])
                    await Task.yield()
                }
            }
            defer { flood.cancel() }
            try await until {
                host.context.account.trustPace.withLock { pace in
                    // A copy, so that the question takes no turn.
                    var pace = pace
                    return pace.delay(of: member, nil, at: .now) != nil
                }
            }
            #expect(try await connection.send([:], timeout: .seconds(20)).status == .failure)
            // The first three of a peer are logged, and the others counted.
            #expect(log.entries.count { "\($0.message)" == Self.rejected } == 3)
            #expect(host.context.account.revocations == nil)
        }
    }

    /// Runs a host, and a member that publishes in the topic `trust` what the body wants.
    private static func withForger(
        _ body: (PublishedTopic, Connection, RemoteSystemHost, InMemoryLogHandler, SystemID) async throws -> Void
    ) async throws {
        try await TwoMachines.with { machines in
            try await machines.join("second")
            let second = ApplicationContext(machines.configuration("second"))
            let log = InMemoryLogHandler()
            var configuration = machines.configuration("first", application: "test.host")
            configuration.logger = Logger(label: "test") { _ in log }
            let host = RemoteSystemHost(configuration, services: [.ping])
            try await host.whileRunning {
                let publisher = StatePublisher()
                let topic = try publisher.open(TrustTopic.schema, for: .sameAccount)
                var connector = try await second.connector()
                connector.opened = { ($0 as? Connection)?.publish(publisher) }
                let connection = try await connector.connect(
                    to: [Endpoint(host: "127.0.0.1", port: try await host.port)],
                    expecting: nil,
                    hello: second.hello(service: Presence.service, targetApplication: nil, limits: second.limits)
                ) { _, _ in Response() }
                try await until { publisher.subscriptions == 1 }
                try await body(topic, connection, host, log, second.account.security().systemID)
                await connection.close()
            }
        }
    }
}
