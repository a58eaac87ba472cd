// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

@Suite struct AccountStoreRenewalTests {
    let temporary: TemporaryDirectory
    let store: AccountStore

    init() throws {
        self.temporary = try TemporaryDirectory()
        self.store = self.temporary.store
    }

    @Test func `a certificate is renewed at two thirds of its lifetime and not before`() throws {
        let first = try self.store.identity(now: noon)
        let before = try self.store.renewIfDue(now: noon.addingTimeInterval(60 * day - 1))
        #expect(before.certificate == first.certificate)
        let due = noon.addingTimeInterval(60 * day)
        let after = try self.store.renewIfDue(now: due)
        #expect(after.certificate != first.certificate)
        #expect(after.systemID == first.systemID)
        #expect(after.certificateValidity.upperBound == due.addingTimeInterval(90 * day))
        #expect(try self.store.identity(now: due).certificate == after.certificate)
    }

    @Test func `loading the identity renews a due certificate, even long after its expiry`() throws {
        let first = try self.store.identity(now: noon)
        let later = noon.addingTimeInterval(400 * day)
        let renewed = try self.store.identity(now: later)
        #expect(renewed.systemID == first.systemID)
        #expect(renewed.certificateValidity.contains(later))
    }

    @Test func `a certificate from a clock that ran ahead is replaced when the clock is correct again`() throws {
        _ = try self.store.identity(now: noon.addingTimeInterval(1000 * day))
        let identity = try self.store.identity(now: noon)
        #expect(identity.certificateValidity.contains(noon))
    }

    @Test func `a clock that is not set yet does not prevent loading the identity`() throws {
        let first = try self.store.identity(now: noon)
        #expect(try self.store.identity(now: Date(timeIntervalSince1970: 0)).certificate == first.certificate)
    }

    // MARK: A system that joined

    /// A store of a member of the authority's account, without the account's key.
    private func joined(_ authority: AccountAuthority) throws -> SystemIdentity {
        let identity = try SystemIdentity.member(of: authority)
        let state = try SecretDirectory.make(path: self.store.directory)
        try AccountStore.install(StoredAccount.files(of: identity, rootKey: nil, created: noon), in: state)
        return identity
    }

    private func peer(_ identity: SystemIdentity) throws -> PeerIdentity {
        try identity.trustStore().authenticate(peerCertificate: identity.certificate, now: noon)
    }

    @Test func `a system without the account's key cannot renew its certificate by itself`() throws {
        let identity = try self.joined(AccountAuthority(creatingAt: noon))
        let loaded = try self.store.identity(now: noon.addingTimeInterval(70 * day))
        #expect(loaded.certificate == identity.certificate)
        #expect(!loaded.isAuthority)
        #expect(loaded.isRenewalDue(at: noon.addingTimeInterval(70 * day)))
        #expect(code { () throws(IdentityError) in try self.store.authority() } == .notAuthority)
    }

    @Test func `a member requests a certificate from the authority, verifies the response and installs it`() throws {
        let authority = try AccountAuthority(creatingAt: noon)
        let identity = try self.joined(authority)
        let later = noon.addingTimeInterval(65 * day)
        let request = try identity.makeRenewalRequest()
        let response = try authority.renew(request, for: self.peer(identity), now: later)
        let renewed = try self.store.install(renewedCertificate: response, now: later)
        #expect(renewed.certificateValidity.upperBound == later.addingTimeInterval(90 * day))
        #expect(try self.store.identity(now: later).certificate == response)
    }

    @Test func `the authority renews no certificate in another system's name`() throws {
        let authority = try AccountAuthority(creatingAt: noon)
        let identity = try self.joined(authority)
        let request = try SigningRequest.make(with: P256.Signing.PrivateKey())
        #expect(
            code { () throws(IdentityError) in
                try authority.renew(
                    request,
                    for: PeerIdentity(.sameAccount(identity.accountID), systemID: identity.systemID, expiry: noon),
                    now: noon
                )
            } == .rejectedCertificate
        )
        let own = try identity.makeRenewalRequest()
        let stranger = PeerIdentity(
            .sameAccount(AccountID(of: P256.Signing.PrivateKey().publicKey)),
            systemID: identity.systemID,
            expiry: noon
        )
        #expect(
            code { () throws(IdentityError) in try authority.renew(own, for: stranger, now: noon) }
                == .rejectedCertificate
        )
    }

    @Test func `a certificate that is no improvement is not installed`() throws {
        let authority = try AccountAuthority(creatingAt: noon)
        let identity = try self.joined(authority)
        let before = try self.temporary.snapshot()
        let later = noon.addingTimeInterval(65 * day)
        let key = identity.systemKey.publicKey
        let unsuitable = try [
            // In this order: no longer lifetime, another account, another key, not valid yet, not a certificate.
            authority.issueCertificate(for: key, now: noon),
            AccountAuthority(creatingAt: noon).issueCertificate(for: key, now: later),
            authority.issueCertificate(for: P256.Signing.PrivateKey().publicKey, now: later),
            authority.issueCertificate(for: key, now: later.addingTimeInterval(2 * day)),
            [1, 2, 3],
        ]
        for certificate in unsuitable {
            #expect(
                code { () throws(IdentityError) in
                    try self.store.install(renewedCertificate: certificate, now: later)
                } == .rejectedCertificate
            )
        }
        #expect(try self.temporary.snapshot().filter { $0.key != "state/lock" } == before)
    }
}
