// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import IntegrationSupport
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing
import ValueSets

@testable import RemoteSystems

/// The records `linked/M/N` of the topic `trust`: what systems of an account know of linked accounts.
@Suite(.timeLimit(.minutes(2))) struct LinkedRecordsTests {
    private static func record(_ bytes: [UInt8]) -> ValueSet { ["Bytes": .data(Data(bytes))] }

    // MARK: Reading

    @Test(arguments: try WireVectors.list("linked-records"))
    func `records of linked accounts are read, or ignored, as their vector states`(vector: WireVectors.Vector) throws {
        let account = try #require(WireVectors.all()["account"])
        let own = try RootChain(try #require(account["root-certificate"]?.bytes))
        var records: [StateKey: ValueSet] = [:]
        for entry in try vector.required("records", \.array) {
            let key = StateKey(try #require(entry["key"]?.string))
            let record = try ValueSet(encoded: try #require(entry["hex"]?.bytes))
            // As a subscriber does.
            guard TrustTopic.schema.accepts(record, for: key) else { continue }
            records[key] = record
        }
        let read = TrustTopic.linked(in: records).compactMap { try? LearnedLink(encoded: $0, of: own) }
        guard vector.isValid else {
            #expect(read.isEmpty)
            return
        }
        let accounts = vector["json"]?["accounts"]?.array?.compactMap(\.string)
        #expect(read.map(\.account.description) == accounts)
    }

    @Test func `an account whose records are too long together is left out, and the others are read`() {
        let (before, after): ([UInt8], [UInt8]) = ([1, 2, 3], [4, 5])
        var records: [StateKey: ValueSet] = [
            "linked/0/0": Self.record(before), "linked/2/0": Self.record(after),
        ]
        for piece in 0...12 { records["linked/1/\(piece)"] = Self.record([UInt8](repeating: 0, count: 16_000)) }
        #expect(TrustTopic.linked(in: records) == [before, after])
        records["linked/1/12"] = nil
        #expect(TrustTopic.linked(in: records).map(\.count) == [3, 192_000, 2])
    }

    // MARK: From another system

    /// Another account, which ours has linked, and which has revoked a lost system since.
    private struct Other {
        let id: AccountID
        let lost: SystemID
        /// What the records say of it.
        let learned: ValueSet

        init(_ name: String, of machines: TwoMachines, linkedBy ours: AccountStore?) throws {
            let store = AccountStore(directory: "\(machines.directory)/\(name)")
            let now = Date()
            let identity = try store.identity()
            self.id = identity.accountID
            self.lost = SystemID(of: P256.Signing.PrivateKey().publicKey)
            if let ours {
                let own = try ours.linkOffer(name: "Ada", granting: Grants(services: ["test.volume"]), now: now)
                let offer = try store.linkOffer(name: "Bo", granting: Grants(), now: now)
                try ours.link(own, with: offer, now: now)
            }
            let list = try store.revoke(self.lost, now: now)
            self.learned = [
                "roots": .data(Data(identity.roots.bytes)), "revocations": .data(Data(list.bytes)),
            ]
        }

        /// The same with a changed signature.
        var forged: ValueSet {
            get throws {
                var list = try #require(self.learned["revocations"]?.data)
                list[list.endIndex - 1] ^= 1
                var learned = self.learned
                learned["revocations"] = .data(list)
                return learned
            }
        }
    }

    @Test func `records that are refused do not keep those of other accounts from being adopted`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join("second")
            let ours = AccountStore(directory: "\(machines.directory)/first")
            let forged = try Other("forged", of: machines, linkedBy: ours)
            let good = try Other("good", of: machines, linkedBy: ours)
            let last = try Other("last", of: machines, linkedBy: ours)
            let stranger = try Other("stranger", of: machines, linkedBy: nil)
            // The records are read in this order, so all have been read when the last one is adopted.
            var unknownField = Self.record(try good.learned.encoded())
            unknownField["requires"] = ["Later"]
            let records: [StateKey: ValueSet] = [
                // A list of revoked systems, and one of links, that the account's key did not sign.
                "list/0": Self.record([UInt8](repeating: 0, count: 72)),
                "links/0": Self.record([0xff, 0, 1]),
                "linked/0/0": Self.record(try forged.forged.encoded()),
                "linked/1/0": ["Bytes": "text"],
                "linked/2/0": Self.record(try good.learned.encoded()),
                "linked/3/0": unknownField,
                "linked/4/0": Self.record([0xff, 0, 1]),
                "linked/5/0": Self.record(try stranger.learned.encoded()),
                "linked/6/0": Self.record(try last.learned.encoded()),
            ]
            let host = RemoteSystemHost(machines.configuration("first", application: "test.host"), services: [.ping])
            try await host.whileRunning {
                try await self.publish(records, by: machines.configuration("second"), to: host) {
                    try await until { (try? ours.links()[last.id]?.revocations?.contains(last.lost)) == true }
                }
            }
            let links = try ours.links()
            #expect(links[good.id]?.revocations?.contains(good.lost) == true)
            #expect(links[forged.id]?.state == .active && links[forged.id]?.revocations == nil)
            #expect(links[stranger.id] == nil && links.links.count == 3)
        }
    }

    /// Publishes records in the topic `trust` as they are, also those that its schema does not allow, while the body
    /// runs. The subscription lasts until then.
    private func publish(
        _ records: [StateKey: ValueSet],
        by configuration: RemoteSystemsConfiguration,
        to host: RemoteSystemHost,
        _ body: () async throws -> Void
    ) async throws {
        let local = ApplicationContext(configuration)
        let publisher = StatePublisher()
        let schema = TopicSchema(
            TrustTopic.schema.name,
            version: TrustTopic.schema.version,
            priority: .trust,
            records: ["list/", "linked/", "links/"].map { TopicSchema.Records($0, fields: []) }
        )
        let topic = try publisher.open(schema, for: .sameAccount)
        try topic.replace(by: records)
        var connector = try await local.connector()
        connector.opened = { ($0 as? Connection)?.publish(publisher) }
        let connection = try await connector.connect(
            to: [Endpoint(host: "127.0.0.1", port: try await host.port)],
            expecting: nil,
            hello: local.hello(service: Presence.service, targetApplication: nil, limits: local.limits)
        ) { _, _ in Response() }
        try await until { publisher.subscriptions == 1 }
        try await body()
        #expect(publisher.subscriptions == 1)
        await connection.close()
    }
}
