// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

/// The discovery key, which each revocation replaces, and the files that must not return to an older state (issue 10,
/// section 1, items 3 and 6).
@Suite struct AccountStoreRotatingTests {
    let temporary: TemporaryDirectory
    let store: AccountStore
    let identity: SystemIdentity

    init() throws {
        self.temporary = try TemporaryDirectory()
        self.store = self.temporary.store
        self.identity = try self.store.identity(now: noon)
    }

    /// A member of the account with its present root keys and discovery key.
    private func member() throws -> TemporaryDirectory {
        let identity = try self.store.identity(now: noon)
        let directory = try TemporaryDirectory()
        _ = try directory.store.adopt(
            SystemIdentity.member(of: self.store.authority(), identity.discoveryKey),
            revocations: self.store.revocations(),
            now: noon
        )
        return directory
    }

    private func signedKey() throws -> [UInt8] {
        try #require(try self.store.identity(now: noon).discoveryKey.signedBytes)
    }

    private func file(_ name: String) -> String { self.store.directory + "/account/" + name }

    // MARK: The discovery key

    @Test func `each revocation replaces the discovery key`() throws {
        let first = self.identity.discoveryKey
        let list = try self.store.revoke(SystemID.any(), now: noon)
        let second = try self.store.identity(now: noon).discoveryKey
        #expect(second.bytes != first.bytes && second.isNewer(than: first))
        #expect(second.position == list.position)
        let tag = second.discoveryTag(instance: "x")
        #expect(!first.matches(tag, instance: "x"))
        _ = try self.store.revoke(SystemID.any(), now: noon)
        let third = try self.store.identity(now: noon).discoveryKey
        #expect(third.isNewer(than: second) && !second.isNewer(than: third))
        // Revoking a system again changes nothing.
        let systems = try #require(try self.store.revocations()).systems
        _ = try self.store.revoke(systems[0], now: noon)
        #expect(try self.store.identity(now: noon).discoveryKey == third)
    }

    @Test func `a member uses a new key only together with the list that was made with it`() throws {
        let member = try self.member()
        let list = try self.store.revoke(SystemID.any(), now: noon)
        let key = try self.signedKey()
        #expect(try !member.store.install(discoveryKey: key, now: noon))
        #expect(try member.store.identity(now: noon).discoveryKey == self.identity.discoveryKey)
        try member.store.install(revocations: list.bytes, now: noon)
        let before = member.store.version()
        #expect(try member.store.install(discoveryKey: key, now: noon))
        #expect(member.store.version() != before)
        #expect(try member.store.identity(now: noon).discoveryKey.signedBytes == key)
    }

    @Test func `a member cannot make others use an older key, or one of its own`() throws {
        let member = try self.member()
        try member.store.install(revocations: self.store.revoke(SystemID.any(), now: noon).bytes, now: noon)
        let older = try self.signedKey()
        try member.store.install(revocations: self.store.revoke(SystemID.any(), now: noon).bytes, now: noon)
        let newest = try self.signedKey()
        #expect(try member.store.install(discoveryKey: newest, now: noon))
        #expect(try !member.store.install(discoveryKey: older, now: noon))
        let foreign = try AccountAuthority(creatingAt: noon)
        let list = try foreign.revocationList(
            of: [],
            after: self.store.revocations(),
            now: noon.addingTimeInterval(day)
        )
        let forged = try #require(try foreign.discoveryKey(with: list).signedBytes)
        var renumbered = newest
        renumbered[0] ^= 1
        var changed = newest
        changed[20] ^= 1
        // A list is signed by the same key, but is not a discovery key.
        let otherStatement = Array(try #require(try self.store.revocations()).bytes.prefix(104))
        for bytes in [forged, renumbered, changed, otherStatement, Array(newest.dropLast()), []] {
            #expect(
                code { () throws(IdentityError) in try member.store.install(discoveryKey: bytes, now: noon) }
                    == .rejectedCertificate
            )
        }
        #expect(try member.store.identity(now: noon).discoveryKey.signedBytes == newest)
    }

    @Test func `a thief of a retired root key cannot sign a discovery key`() throws {
        let member = try self.member()
        let stolen = try self.store.authority()
        _ = try self.store.rotateRootKey(isStolen: true, now: noon)
        try member.store.install(roots: self.store.authority().roots)
        try member.store.install(revocations: #require(try self.store.revocations()).bytes, now: noon)
        let list = try RevocationList(number: .max - 1, [], of: stolen.accountID, signing: stolen.rootKey)
        let forged = try #require(try stolen.discoveryKey(with: list).signedBytes)
        #expect(
            code { () throws(IdentityError) in try member.store.install(discoveryKey: forged, now: noon) }
                == .rejectedCertificate
        )
        #expect(try member.store.install(discoveryKey: self.signedKey(), now: noon))
    }

    @Test func `after a crash between the list and the key, the system is revoked, and a repeated call makes the key`()
        throws
    {
        let member = try self.member()
        let revoked = SystemID.any()
        let present = try String(contentsOfFile: self.file("discovery-key.pem"), encoding: .utf8)
        let first = try self.store.revoke(revoked, now: noon)
        // What the first half of a revocation leaves: a list whose key was not stored.
        try write(present, to: self.file("discovery-key.pem"))
        #expect(try self.store.revocations() == first)
        #expect(try self.store.identity(now: noon).discoveryKey.signedBytes == nil)
        let second = try self.store.revoke(revoked, now: noon.addingTimeInterval(1))
        #expect(second.systems == [revoked] && second.isNewer(than: first))
        try member.store.install(revocations: second.bytes, now: noon)
        #expect(try member.store.install(discoveryKey: self.signedKey(), now: noon))
        #expect(try self.store.revoke(revoked, now: noon.addingTimeInterval(2)) == second)
    }

    // MARK: Files of a backup

    @Test func `a deleted or restored list is an error that names the file, and not an empty list`() throws {
        _ = try self.store.revoke(SystemID.any(), now: noon)
        let older = try String(contentsOfFile: self.file("revoked-systems.pem"), encoding: .utf8)
        let newest = try self.store.revoke(SystemID.any(), now: noon)
        try write(older, to: self.file("revoked-systems.pem"))
        for isDeleted in [false, true] {
            if isDeleted { try remove(self.file("revoked-systems.pem")) }
            let error = #expect(throws: IdentityError.self) { try self.store.revocations() }
            #expect(error?.code == .revocationsLost)
            #expect(error?.path?.hasSuffix("revoked-systems.pem") == true)
            #expect(error?.message.contains("remotesystems account") == true)
            #expect(
                code { () throws(IdentityError) in try self.store.revoke(SystemID.any(), now: noon) }
                    == .revocationsLost
            )
        }
        // The newest list, which other systems and running processes know, repairs it.
        let number = try #require(RevocationList.number(in: newest.bytes))
        #expect(number > 0)
        #expect(try self.store.install(revocations: newest.bytes, now: noon) == newest)
        #expect(try self.store.revocations() == newest)
    }

    @Test func `an older list does not repair a lost one`() throws {
        let member = try self.member()
        let older = try self.store.revoke(SystemID.any(), now: noon)
        let newest = try self.store.revoke(SystemID.any(), now: noon)
        try member.store.install(revocations: newest.bytes, now: noon)
        try remove(member.store.directory + "/account/revoked-systems.pem")
        #expect(
            code { () throws(IdentityError) in try member.store.install(revocations: older.bytes, now: noon) }
                == .revocationsLost
        )
        #expect(try member.store.install(revocations: newest.bytes, now: noon) == newest)
    }

    @Test func `a list that is lost for good is replaced on request, and other systems return what they know`() throws {
        let (one, other, third) = (SystemID.any(), SystemID.any(), SystemID.any())
        let member = try self.member()
        _ = try self.store.revoke(one, now: noon)
        let newest = try self.store.revoke(other, now: noon)
        try member.store.install(revocations: newest.bytes, now: noon)
        try remove(self.file("revoked-systems.pem"))
        let new = try self.store.revoke(third, evenIfListIsLost: true, now: noon)
        #expect(new.systems == [third] && new.position > newest.position)
        // The member keeps the earlier revocations in force, and sends them back.
        let kept = try member.store.install(revocations: new.bytes, now: noon)
        #expect(Set(kept.allSystems) == [one, other, third])
        for bytes in kept.allBytes { try self.store.install(revocations: bytes, now: noon) }
        let merged = try #require(try self.store.revocations())
        #expect(Set(merged.systems) == [one, other, third] && merged.older.isEmpty)
        #expect(try member.store.install(revocations: merged.bytes, now: noon) == merged)
    }

    // MARK: Two machines with the root key

    @Test(arguments: [false, true]) func `competing lists converge, and no revocation is lost meanwhile`(
        isReversed: Bool
    ) throws {
        let (here, there) = (SystemID.any(), SystemID.any())
        let authority = try self.store.authority()
        let own = try self.store.revoke(here, now: noon)
        let others = try RevocationList(
            number: own.number + 5,
            [there],
            of: authority.accountID,
            signing: authority.rootKey
        )
        let member = try self.member()
        for list in isReversed ? [others, own] : [own, others] {
            try member.store.install(revocations: list.bytes, now: noon)
        }
        let kept = try #require(try member.store.revocations())
        #expect(kept.contains(here) && kept.contains(there))
        #expect(kept.alone == others && kept.older == [own])
        // The member brings both together at a machine with the root key.
        var merged: RevocationList?
        for bytes in kept.allBytes { merged = try self.store.install(revocations: bytes, now: noon) }
        #expect(Set(try #require(merged).systems) == [here, there])
        #expect(try self.store.identity(now: noon).discoveryKey.position == merged?.position)
        #expect(try member.store.install(revocations: #require(merged).bytes, now: noon) == merged)
    }

    @Test func `merging lists depends neither on their order nor on repetition`() throws {
        let authority = try self.store.authority()
        let systems = (0..<4).map { _ in SystemID.any() }
        let lists = try systems.enumerated().map { index, system in
            try RevocationList(
                number: UInt64(index + 1),
                [system],
                of: authority.accountID,
                signing: authority.rootKey
            )
        }
        let all = try #require(lists.dropFirst().reduce(lists.first) { $0?.merging($1) })
        #expect(Set(all.allSystems) == Set(systems))
        for order in [lists, lists.reversed(), lists + lists, [lists[2], lists[0], lists[3], lists[1]]] {
            #expect(order.dropFirst().reduce(order[0]) { $0.merging($1) } == all)
        }
        #expect(all.merging(all) == all)
        // A list of a newer root key replaces all of them: a thief of the old key may have made them.
        let successor = try authority.successor(retiring: noon, now: noon)
        let new = try successor.revocationList(of: [], after: all, now: noon)
        #expect(all.merging(new) == new && new.merging(all) == new)
    }

    // MARK: The root key

    @Test(arguments: [false, true]) func `replacing the root key keeps the account, its systems and its revocations`(
        isStolen: Bool
    ) throws {
        let revoked = SystemID.any()
        _ = try self.store.revoke(revoked, now: noon)
        let member = try self.member()
        let old = try self.store.authority()
        let before = try self.store.identity(now: noon)
        let (identity, retirement) = try self.store.rotateRootKey(isStolen: isStolen, now: noon)
        #expect(identity.accountID == before.accountID && identity.systemID == before.systemID)
        #expect(identity.roots.count == 2 && identity.root == 2 && identity.isAuthority)
        #expect(identity.discoveryKey.position?.root == 2)
        #expect(retirement == (isStolen ? noon : noon.addingTimeInterval(90 * day)))
        let list = try #require(try self.store.revocations())
        // After a theft, no certificate is left that a revocation could be about.
        #expect(list.root == 2 && list.systems == (isStolen ? [] : [revoked]))
        #expect(try self.store.authority().rootKey.rawRepresentation != old.rootKey.rawRepresentation)
        #expect(try !self.temporary.contents().contains { $0.hasSuffix("next-root-key.pem") })
        // The member learns the key and gets a certificate by it.
        try member.store.install(roots: identity.roots)
        let behind = try member.store.identity(now: noon)
        #expect(behind.isRenewalDue(at: noon))
        let trusted = code { () throws(IdentityError) in
            do throws(TrustError) {
                _ = try identity.trustStore().authenticate(peerCertificate: behind.certificate, now: noon)
            } catch {
                throw IdentityError(.rejectedCertificate, "\(error.code)")
            }
        }
        #expect(trusted == (isStolen ? .rejectedCertificate : nil))
        let der = try self.store.authority().issueCertificate(for: behind.systemKey.publicKey, now: noon)
        #expect(try member.store.install(renewedCertificate: der, now: noon).root == 2)
    }

    @Test func `a rotation that a crash interrupted is completed by the next use`() throws {
        let revoked = SystemID.any()
        _ = try self.store.revoke(revoked, now: noon)
        let next = try self.store.authority().successor(retiring: noon.addingTimeInterval(90 * day), now: noon)
        let pem = next.rootKey.pemRepresentation + "\n"
        // Before the certificate of the new key is stored, the old key stays in force.
        try write(pem, to: self.file("next-root-key.pem"))
        #expect(try self.store.identity(now: noon).root == 1)
        #expect(try self.store.authority().roots.count == 1)
        // After it, the new key is in force.
        try write(
            String(decoding: StoredAccount.rootsFile(next.roots), as: UTF8.self),
            to: self.file("root-certificate.pem")
        )
        let identity = try self.store.identity(now: noon)
        #expect(identity.isAuthority && identity.root == 2)
        #expect(try self.store.authority().rootKey.rawRepresentation == next.rootKey.rawRepresentation)
        #expect(try self.store.revocations()?.root == 2)
        #expect(try self.store.revocations()?.systems == [revoked])
        #expect(try !self.temporary.contents().contains { $0.hasSuffix("next-root-key.pem") })
    }

    @Test func `a key of a rotation that never took effect is not used later`() throws {
        try write(P256.Signing.PrivateKey().pemRepresentation + "\n", to: self.file("next-root-key.pem"))
        let key = try self.store.authority().rootKey.rawRepresentation
        _ = try self.store.identity(now: noon.addingTimeInterval(80 * day))
        #expect(try self.store.authority().rootKey.rawRepresentation == key)
        _ = try self.store.rotateRootKey(isStolen: false, now: noon)
        #expect(try self.store.identity(now: noon).root == 2)
    }

    @Test func `only the machine with the newest root key can replace it`() throws {
        let member = try self.member()
        #expect(
            code { () throws(IdentityError) in try member.store.rotateRootKey(isStolen: false, now: noon) }
                == .notAuthority
        )
        for _ in 1..<RootChain.maxRoots { _ = try self.store.rotateRootKey(isStolen: false, now: noon) }
        #expect(
            code { () throws(IdentityError) in try self.store.rotateRootKey(isStolen: false, now: noon) }
                == .rootKeysUsedUp
        )
        #expect(try self.store.identity(now: noon).root == RootChain.maxRoots)
    }
}
