// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

@Suite struct AccountStoreRootsTests {
    let temporary: TemporaryDirectory
    let store: AccountStore
    let identity: SystemIdentity
    let first: AccountAuthority

    init() throws {
        self.temporary = try TemporaryDirectory()
        self.store = self.temporary.store
        self.identity = try self.store.identity(now: noon)
        self.first = try self.store.authority()
    }

    private func file(_ name: String) throws -> String {
        try String(contentsOfFile: self.store.directory + "/account/" + name, encoding: .utf8)
    }

    @Test func `a store keeps newer root keys, reports them and never returns to older ones`() throws {
        let second = try self.first.successor(retiring: noon.addingTimeInterval(90 * day), now: noon)
        let third = try second.successor(retiring: noon.addingTimeInterval(90 * day), now: noon)
        let before = self.store.version()
        #expect(try self.store.install(roots: third.roots))
        #expect(self.store.version() != before)
        #expect(try self.store.identity(now: noon).roots == third.roots)
        #expect(try self.store.identity(now: noon).systemID == self.identity.systemID)
        #expect(try self.file("root-certificate.pem").components(separatedBy: "BEGIN CERTIFICATE").count == 4)
        #expect(try !self.store.install(roots: second.roots))
        #expect(try !self.store.install(roots: self.first.roots))
        #expect(try self.store.identity(now: noon).roots.count == 3)
    }

    @Test func `an account with one root key is stored as before`() throws {
        #expect(try self.file("root-certificate.pem").components(separatedBy: "BEGIN CERTIFICATE").count == 2)
    }

    @Test func `a second successor, and the root keys of another account, are refused`() throws {
        let second = try self.first.successor(retiring: noon, now: noon)
        let rival = try self.first.successor(retiring: noon, now: noon)
        _ = try self.store.install(roots: second.roots)
        #expect(code { () throws(IdentityError) in try self.store.install(roots: rival.roots) } == .conflictingRoots)
        let other = try AccountAuthority(creatingAt: noon)
        #expect(code { () throws(IdentityError) in try self.store.install(roots: other.roots) } == .wrongAccount)
        #expect(try self.store.identity(now: noon).roots == second.roots)
    }

    @Test func `a system with a replaced root key signs nothing any more`() throws {
        let second = try self.first.successor(retiring: noon.addingTimeInterval(90 * day), now: noon)
        #expect(try self.store.identity(now: noon).isAuthority)
        _ = try self.store.install(roots: second.roots)
        let identity = try self.store.identity(now: noon)
        #expect(!identity.isAuthority)
        #expect(code { () throws(IdentityError) in try self.store.authority() } == .notAuthority)
        let system = SystemID.any()
        #expect(code { () throws(IdentityError) in try self.store.revoke(system, now: noon) } == .notAuthority)
        // The system's own certificate is due for renewal, and one by the newer root key replaces it.
        #expect(identity.root == 1 && identity.isRenewalDue(at: noon))
        let der = try second.issueCertificate(for: identity.systemKey.publicKey, now: noon)
        let renewed = try self.store.install(renewedCertificate: der, now: noon)
        #expect(renewed.root == 2 && !renewed.isRenewalDue(at: noon))
    }

    @Test func `a revocation list of a newer root key replaces one with a greater number`() throws {
        let system = SystemID.any()
        let second = try self.first.successor(retiring: noon, now: noon)
        let stolen = try RevocationList(
            number: UInt64(Int64.max),
            [system],
            of: self.first.accountID,
            signing: self.first.rootKey
        )
        let member = try TemporaryDirectory()
        _ = try member.store.adopt(SystemIdentity.member(of: self.first), now: noon)
        #expect(try member.store.install(revocations: stolen.bytes, now: noon) == stolen)
        let new = try second.revocationList(of: [], after: stolen, now: noon)
        #expect(
            code { () throws(IdentityError) in try member.store.install(revocations: new.bytes, now: noon) }
                == .rejectedCertificate
        )
        _ = try member.store.install(roots: second.roots)
        // The stored list stays valid although its root key is retired, until a newer one arrives.
        #expect(try member.store.revocations() == stolen)
        #expect(try member.store.install(revocations: new.bytes, now: noon) == new)
        #expect(
            code { () throws(IdentityError) in try member.store.install(revocations: stolen.bytes, now: noon) }
                == .rejectedCertificate
        )
        #expect(try member.store.revocations()?.systems == [])
    }

    @Test func `root certificates that were altered on the disk are an error that names the file`() throws {
        let second = try self.first.successor(retiring: noon, now: noon)
        let rival = try AccountAuthority(creatingAt: noon).successor(retiring: noon, now: noon)
        let good = Array(StoredAccount.rootsFile(second.roots))
        let mixed =
            StoredAccount.rootsFile(self.first.roots)
            + StoredAccount.certificateFile(rival.roots.certificates[1])
        for bytes in [mixed, Array(good.dropLast(40)), [], StoredAccount.rootsFile(self.first.roots) + good] {
            try Data(bytes).write(to: URL(filePath: self.store.directory + "/account/root-certificate.pem"))
            let error = #expect(throws: IdentityError.self) { try self.store.identity(now: noon) }
            #expect(error?.code == .damaged)
            #expect(error?.path?.hasSuffix("root-certificate.pem") == true)
        }
    }
}
