// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

/// How certificates of a linked account are judged. A link carries grants.
@Suite struct LinkedAccountTests {
    let own: AccountAuthority
    let other: AccountAuthority
    let key = P256.Signing.PrivateKey().publicKey
    let certificate: [UInt8]
    let grants = Grants(services: ["test.volume"], end: noon.addingTimeInterval(7 * day))
    var store: TrustStore

    init() throws {
        self.own = try AccountAuthority(creatingAt: noon)
        self.other = try AccountAuthority(creatingAt: noon)
        self.certificate = try self.other.issueCertificate(for: self.key, now: noon)
        self.store = TrustStore(TrustedAccount(roots: self.own.roots))
        self.store.link(LinkedAccount(TrustedAccount(roots: self.other.roots), grants: self.grants))
    }

    static let all = Set(Standing.Kind.allCases)

    private func judged(
        _ der: [UInt8]? = nil,
        now: Date = noon,
        accepting accepted: Set<Standing.Kind> = all,
        store: TrustStore? = nil
    ) -> Result<Standing, TrustError> {
        do throws(TrustError) {
            let store = store ?? self.store
            let peer = try store.authenticate(peerCertificate: der ?? self.certificate, now: now, accepting: accepted)
            return .success(peer.standing)
        } catch {
            return .failure(error)
        }
    }

    @Test func `a system of a linked account has that standing and its grants until the grants end`() throws {
        let peer = try self.store.authenticate(peerCertificate: self.certificate, now: noon, accepting: [.linked])
        #expect(peer.standing == .linked(self.other.accountID, self.grants))
        #expect(peer.systemID == SystemID(of: self.key))
        #expect(peer.expiry == self.grants.end)
        #expect(peer.standing.accountID == self.other.accountID)
    }

    @Test func `the standing depends on the accepted standings, the link and the time`() throws {
        let linked = Standing.linked(self.other.accountID, self.grants)
        let ended = Standing.linked(self.other.accountID, Grants())
        let later = noon.addingTimeInterval(8 * day)
        var unlinked = self.store
        unlinked.unlink(self.other.accountID)
        let cases: [(found: Result<Standing, TrustError>, expected: Standing?)] = [
            (self.judged(accepting: [.sameAccount]), nil),
            (self.judged(accepting: [.sameAccount, .linked]), linked),
            (self.judged(accepting: Self.all), linked),
            (self.judged(accepting: [.sameAccount, .anonymous]), .anonymous),
            (self.judged(now: later, accepting: [.sameAccount, .linked]), ended),
            (self.judged(now: later, accepting: Self.all), ended),
            (self.judged(accepting: [.sameAccount, .linked], store: unlinked), nil),
            (self.judged(accepting: Self.all, store: unlinked), .anonymous),
        ]
        for (index, one) in cases.enumerated() {
            switch one.found {
            case .success(let standing): #expect(standing == one.expected, "case \(index)")
            case .failure(let error): #expect(one.expected == nil && error.code == .notOurAccount, "case \(index)")
            }
        }
    }

    @Test func `where linked accounts are not accepted, the error advises no invitation to a system of one`() throws {
        guard case .failure(let error) = self.judged(accepting: [.sameAccount]) else {
            Issue.record("accepted")
            return
        }
        #expect(error == .linkedAccount && error.code == .notOurAccount)
        for text in [error.message, error.messageToPeer] { #expect(!text.contains("invit") && text.contains("linked")) }
        // Only to a system that proves that it belongs to the linked account.
        var forgery = try CertificateForgery(by: self.other, for: self.key)
        forgery.signer = P256.Signing.PrivateKey()
        guard case .failure(let other) = try self.judged(forgery.der(), accepting: [.sameAccount]) else {
            Issue.record("accepted")
            return
        }
        #expect(other == .notOurAccount)
    }

    @Test func `a system that names a linked account must belong to it, even where anonymous ones are accepted`() throws
    {
        var forgery = try CertificateForgery(by: self.other, for: self.key)
        forgery.signer = P256.Signing.PrivateKey()
        #expect(throws: TrustError.self) { try self.judged(forgery.der()).get() }
        guard case .failure(let error) = try self.judged(forgery.der()) else { return }
        #expect(error.code == .badSignature)
    }

    @Test func `a system that the linked account or this account revoked is refused`() throws {
        let system = SystemID(of: self.key)
        let theirs = try self.other.revocationList(of: [system], after: nil, now: noon)
        var store = TrustStore(TrustedAccount(roots: self.own.roots))
        store.link(
            LinkedAccount(TrustedAccount(roots: self.other.roots, revocations: theirs), grants: self.grants)
        )
        #expect(throws: TrustError.self) { try self.judged(store: store).get() }
        let ours = try self.own.revocationList(of: [system], after: nil, now: noon)
        var other = self.store
        other.update(own: TrustedAccount(roots: self.own.roots, revocations: ours))
        for store in [store, other] {
            guard case .failure(let error) = self.judged(store: store) else {
                Issue.record("It was trusted.")
                continue
            }
            #expect(error.code == .revoked)
            #expect(!store.isTrusted(system, ofLinked: self.other.accountID))
        }
    }

    @Test func `what a system has sent is trusted until it is revoked or its link is withdrawn`() throws {
        let system = SystemID(of: self.key)
        #expect(self.store.isTrusted(system, ofLinked: self.other.accountID))
        #expect(self.store.isTrusted(system, ofLinked: nil))
        var withdrawn = self.store
        withdrawn.unlink(self.other.accountID)
        #expect(!withdrawn.isTrusted(system, ofLinked: self.other.accountID))
        #expect(withdrawn.isTrusted(system, ofLinked: nil))
        let list = try self.own.revocationList(of: [system], after: nil, now: noon)
        var revoked = self.store
        revoked.update(own: TrustedAccount(roots: self.own.roots, revocations: list))
        #expect(!revoked.isTrusted(system, ofLinked: nil))
    }

    @Test func `a connection is not trusted any more when its link is withdrawn, changed or expired`() throws {
        let peer = try self.store.authenticate(peerCertificate: self.certificate, now: noon, accepting: [.linked])
        #expect(self.store.objection(to: peer, now: noon) == nil)
        #expect(self.store.objection(to: peer, now: noon.addingTimeInterval(8 * day))?.code == .grantsChanged)
        var changed = self.store
        changed.link(LinkedAccount(TrustedAccount(roots: self.other.roots), grants: Grants()))
        #expect(changed.objection(to: peer, now: noon)?.code == .grantsChanged)
        var withdrawn = self.store
        withdrawn.unlink(self.other.accountID)
        #expect(withdrawn.objection(to: peer, now: noon)?.code == .linkWithdrawn)
    }

    @Test func `the own account cannot be linked`() {
        var store = self.store
        store.link(LinkedAccount(TrustedAccount(roots: self.own.roots), grants: self.grants))
        #expect(store.linked.keys.sorted() == [self.other.accountID])
    }

    @Test func `a linked account's root key can be replaced, too`() throws {
        let successor = try self.other.successor(retiring: noon, now: noon)
        let der = try successor.issueCertificate(for: self.key, now: noon)
        let verdict = try self.store.judge(
            TrustStore.Presented(der, successions: successor.roots.successions),
            now: noon,
            accepting: [.linked]
        )
        #expect(verdict.peer.standing == .linked(self.other.accountID, self.grants))
        var store = self.store
        #expect(try store.extend(roots: try #require(verdict.learned)))
        guard case .failure(let error) = self.judged(store: store) else { return #expect(Bool(false)) }
        #expect(error.code == .retiredRoot)
    }
}
