// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

/// The revocation list: signed by the account's key, never replaced by an older one (issue 2, part 3).
@Suite struct AccountStoreRevokingTests {
    let temporary: TemporaryDirectory
    let store: AccountStore
    /// The system with the account's key.
    let identity: SystemIdentity

    init() throws {
        self.temporary = try TemporaryDirectory()
        self.store = self.temporary.store
        self.identity = try self.store.identity(now: noon)
    }

    /// A member of the account without its key.
    private func member() throws -> TemporaryDirectory {
        let joined = try SystemIdentity.member(of: self.store.authority(), self.identity.discoveryKey)
        let directory = try TemporaryDirectory()
        _ = try directory.store.adopt(joined, now: noon)
        return directory
    }

    private func list(_ systems: Set<SystemID>, after number: UInt64) throws -> RevocationList {
        let authority = try self.store.authority()
        return try RevocationList(number: number + 1, systems, of: authority.accountID, signing: authority.rootKey)
    }

    @Test func `a new account has revoked no system`() throws {
        #expect(try self.store.revocations() == nil)
    }

    @Test func `a revoked system is on a stored list`() throws {
        let (one, other) = (SystemID.any(), SystemID.any())
        let first = try self.store.revoke(one, now: noon)
        let second = try self.store.revoke(other, now: noon)
        #expect(first.systems == [one])
        #expect(Set(second.systems) == [one, other])
        #expect(second.number > first.number)
        #expect(try AccountStore(directory: self.store.directory).revocations() == second)
    }

    @Test func `revoking twice changes nothing`() throws {
        let system = SystemID.any()
        let first = try self.store.revoke(system, now: noon)
        #expect(try self.store.revoke(system, now: noon.addingTimeInterval(day)) == first)
    }

    @Test func `the system that holds the key cannot revoke itself`() throws {
        #expect(
            code { () throws(IdentityError) in try self.store.revoke(self.identity.systemID, now: noon) }
                == .accountInUse
        )
    }

    @Test func `a system without the key cannot revoke`() throws {
        let member = try self.member()
        #expect(
            code { () throws(IdentityError) in try member.store.revoke(SystemID.any(), now: noon) } == .notAuthority
        )
    }

    @Test func `the length of a list is bounded`() throws {
        let systems = (0..<RevocationList.maxSystems).compactMap { number in
            SystemID(bytes: (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8)) })
        }
        let largest = try self.list(Set(systems), after: 0)
        #expect(largest.bytes.count == RevocationList.maxBytes)
        _ = try self.store.install(revocations: largest.bytes, now: noon)
        #expect(
            code { () throws(IdentityError) in try self.store.revoke(SystemID.any(), now: noon) } == .tooManySystems
        )
        #expect(try self.store.revocations() == largest)
    }

    // MARK: Lists from other systems

    @Test func `a member installs a newer list and keeps it when an older one arrives`() throws {
        let member = try self.member()
        let first = try self.store.revoke(SystemID.any(), now: noon)
        let second = try self.store.revoke(SystemID.any(), now: noon)
        #expect(try member.store.install(revocations: second.bytes, now: noon) == second)
        #expect(try member.store.install(revocations: first.bytes, now: noon) == second)
        #expect(try member.store.revocations() == second)
    }

    @Test func `a list that the account's key did not sign is refused`() throws {
        let member = try self.member()
        let good = try self.store.revoke(SystemID.any(), now: noon)
        let foreign = try AccountAuthority(creatingAt: noon)
            .revocationList(of: [SystemID.any()], after: good, now: noon)
        var changed = good.bytes
        changed[10] ^= 1
        var renumbered = good.bytes
        renumbered[0] ^= 1
        for bytes in [foreign.bytes, changed, renumbered, Array(good.bytes.dropLast(32)), good.bytes + [0], []] {
            #expect(
                code { () throws(IdentityError) in try member.store.install(revocations: bytes, now: noon) }
                    == .rejectedCertificate
            )
        }
        #expect(try member.store.revocations() == nil)
    }

    @Test func `a list that was altered on the disk readmits no system`() throws {
        _ = try self.store.revoke(SystemID.any(), now: noon)
        let path = self.store.directory + "/account/revoked-systems.pem"
        let foreign = try AccountAuthority(creatingAt: noon).revocationList(of: [], after: nil, now: noon)
        try Data(StoredAccount.revocationsFile(foreign)).write(to: URL(filePath: path))
        #expect(code { () throws(IdentityError) in try self.store.revocations() } == .damaged)
    }

    // MARK: Two systems with the key

    @Test(arguments: [0, 1_000_000_000_000_000]) func `two systems with the key merge their lists`(number: UInt64)
        throws
    {
        let (here, there) = (SystemID.any(), SystemID.any())
        let own = try self.store.revoke(here, now: noon)
        let others = try self.list([there], after: number)
        let merged = try self.store.install(revocations: others.bytes, now: noon)
        #expect(Set(merged.systems) == [here, there])
        #expect(merged.number > max(own.number, others.number))
        // The merged list contains both, so that installing either again changes nothing.
        #expect(try self.store.install(revocations: others.bytes, now: noon) == merged)
        #expect(try self.store.install(revocations: own.bytes, now: noon) == merged)
    }

    @Test func `a system with the key installs a newer list with the same content unchanged`() throws {
        let system = SystemID.any()
        let own = try self.store.revoke(system, now: noon)
        let newer = try self.list([system, SystemID.any()], after: own.number)
        #expect(try self.store.install(revocations: newer.bytes, now: noon) == newer)
    }

    // MARK: Noticing changes

    @Test func `a change of the stored list is noticed`() throws {
        let before = self.store.version()
        #expect(self.store.version() == before)
        _ = try self.store.revoke(SystemID.any(), now: noon)
        let revoked = self.store.version()
        #expect(revoked != before)
        _ = try self.store.renewIfDue(now: noon.addingTimeInterval(70 * day))
        #expect(self.store.version() != revoked)
    }
}
