// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import RemoteSystemsIdentity
import Testing

@testable import RemoteSystems

/// What the log records of an account's systems and keys.
@Suite struct MembershipEventTests {
    private static let id = SystemID(bytes: [UInt8](repeating: 2, count: 32))
    private static let other = SystemID(bytes: [UInt8](repeating: 3, count: 32))

    private static func withStore(_ body: (AccountStore) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "m-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(AccountStore(directory: directory))
    }

    private static func membership(of store: AccountStore) throws -> AccountMembership {
        AccountMembership(
            roots: try store.identity().roots,
            revocations: try store.revocations(),
            joined: Set(try store.joinedSystems())
        )
    }

    private static func texts(_ events: [AuditEvent]) -> [[String: String]] {
        events.map { event in
            event.metadata.mapValues { "\($0)" }.merging(["event": event.name.rawValue]) { $1 }
        }
    }

    @Test func `the systems that join and are revoked, and new root keys, are audit events`() throws {
        try Self.withStore { store in
            let account = "\(try store.identity().accountID)"
            let (system, other) = (try #require(Self.id), try #require(Self.other))
            var before = try Self.membership(of: store)
            func changes() throws -> [[String: String]] {
                let now = try Self.membership(of: store)
                defer { before = now }
                return Self.texts(now.events(since: before))
            }
            let none = try changes()
            #expect(none.isEmpty)
            try store.recordJoined(system)
            let joined = try changes()
            #expect(joined == [["event": "system.joined", "account": account, "system": "\(system)"]])
            let list = try store.revoke(system, now: Date())
            let revoked = try changes()
            #expect(
                revoked == [
                    [
                        "event": "system.revoked", "account": account, "system": "\(system)",
                        "list": "\(list.number)", "root-key": "1",
                    ]
                ]
            )
            // Each once, although the list names all.
            let next = try store.revoke(other, now: Date())
            let second = try changes()
            #expect(second.map { $0["system"] } == ["\(other)"])
            #expect(second.map { $0["list"] } == ["\(next.number)"])
            _ = try store.rotateRootKey(isStolen: false, now: Date())
            let replaced = try changes()
            let key = ["event": "root-key.replaced", "account": account]
            #expect(replaced == [key.merging(["root-key": "2", "reason": "replaced"]) { $1 }])
            _ = try store.rotateRootKey(isStolen: true, now: Date())
            let stolen = try changes()
            #expect(stolen == [key.merging(["root-key": "3", "reason": "stolen"]) { $1 }])
        }
    }
}
