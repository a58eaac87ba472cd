// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import RemoteSystemsDiscovery
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// A linked account that certifies many systems, at a watcher: real TLS over loopback (issue 10).
@Suite(.timeLimit(.minutes(4))) struct LinkedFloodTests {
    private static let systems = LinkedLimits.perAccount + 6

    @Test func `many systems of a linked account take a limited part of a watcher, and a host of the own is listed`()
        async throws
    {
        try await LinkedAccounts.with(granting: Grants(services: ["test.granted"])) { accounts in
            // Our account attacks, and the friend's watches.
            let members = try await Self.members(of: accounts)
            try members.first?.describe(name: "hostile")
            let trust = try accounts.friendsTrust()
            let key = try #require(trust.linked[try accounts.ourID]?.account.discoveryKey)
            for (number, member) in members.enumerated() {
                let instance = "hostile \(number)"
                accounts.friends.segment.appear(
                    DiscoveryHint(
                        id: instance,
                        instance: instance,
                        endpoints: [DiscoveryEndpoint(address: "127.0.0.1", port: member.port)],
                        properties: [
                            Presence.versionProperty: Array(Presence.version.utf8),
                            Presence.linkTagsProperty: Presence.linkTags(of: [key], instance: instance),
                        ]
                    )
                )
            }
            // The own systems, and the linked ones.
            let watcher = accounts.friendsWatcher([
                .authorizationKind(.sameUser), .authorizationKind(.linked),
            ])
            func listed(_ kind: RemoteSystemAuthorizationKind) -> Int {
                watcher.systems.count { $0.authorizationKind == kind }
            }
            try await watcher.start()
            try await until {
                listed(.linked) >= LinkedLimits.perAccount && watcher.statistics.connectionsOpened >= Self.systems
            }
            try await accounts.friends.withHost([]) { _ in
                try await until { listed(.sameUser) == 1 }
                #expect(listed(.sameUser) == 1)
                #expect(listed(.linked) <= LinkedLimits.perAccount)
            }
            await watcher.stop()
            for member in members { await member.stop() }
        }
    }

    /// Systems that our account has certified, with one description.
    private static func members(of accounts: LinkedAccounts) async throws -> [HostileMember] {
        let own = try accounts.ourStore.identity()
        let authority = try accounts.ourStore.authority()
        let trust = try accounts.ourTrust()
        var members: [HostileMember] = []
        for _ in 0..<Self.systems {
            let systemKey = P256.Signing.PrivateKey()
            let identity = try SystemIdentity(
                rootCertificate: authority.rootCertificate,
                certificate: authority.issueCertificate(for: systemKey.publicKey, now: Date()),
                systemKey: systemKey,
                discoveryKey: own.discoveryKey,
                isAuthority: false
            )
            members.append(try await HostileMember(as: identity, trusting: trust, describedAs: members.first))
        }
        return members
    }
}
