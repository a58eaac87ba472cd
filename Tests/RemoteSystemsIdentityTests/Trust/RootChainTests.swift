// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import SwiftASN1
import Testing
import X509

@testable import RemoteSystemsIdentity

/// An account whose root key was replaced. Tests change each succession in one property.
struct LinkForgery {
    var signer: P256.Signing.PrivateKey
    var key = P256.Signing.PrivateKey().publicKey
    var number: Int
    var names: [GeneralName]?
    var constraints: BasicConstraints? = .isCertificateAuthority(maxPathLength: nil)
    var usage: KeyUsage? = KeyUsage(keyCertSign: true, cRLSign: true)
    var version = Certificate.Version.v3
    var algorithm = Certificate.SignatureAlgorithm.ecdsaWithSHA256
    var more: [Certificate.Extension] = []
    var name: DistinguishedName

    /// The succession that `authority` itself would have made for its successor.
    init(after authority: AccountAuthority) throws {
        self.signer = authority.rootKey
        self.number = authority.roots.count + 1
        self.names = [.uniformResourceIdentifier("remote-systems://\(authority.accountID)")]
        self.name = try DistinguishedName { CommonName("RemoteSystems account") }
    }

    func der() throws -> [UInt8] {
        var extensions = Certificate.Extensions()
        if let constraints { try extensions.append(.init(constraints, critical: true)) }
        if let usage { try extensions.append(.init(usage, critical: true)) }
        if let names { try extensions.append(.init(SubjectAlternativeNames(names), critical: false)) }
        for one in self.more { try extensions.append(one) }
        return try Certificate(
            version: self.version,
            serialNumber: .init(self.number),
            publicKey: .init(self.key),
            notValidBefore: noon,
            notValidAfter: noon.addingTimeInterval(90 * day),
            issuer: self.name,
            subject: self.name,
            signatureAlgorithm: self.algorithm,
            extensions: extensions,
            issuerPrivateKey: .init(self.signer)
        ).der()
    }
}

@Suite struct RootChainTests {
    let first: AccountAuthority
    let second: AccountAuthority
    let third: AccountAuthority
    let key = P256.Signing.PrivateKey().publicKey

    init() throws {
        self.first = try AccountAuthority(creatingAt: noon)
        self.second = try self.first.successor(retiring: noon.addingTimeInterval(90 * day), now: noon)
        self.third = try self.second.successor(retiring: noon.addingTimeInterval(180 * day), now: noon)
    }

    /// The trust store of a system that knows this part of its account's chain.
    /// The id of a root key of the account, from 1.
    private func root(_ number: Int) -> KeyFingerprint? { self.third.roots.id(of: number) }

    private func store(knowing authority: AccountAuthority, revoking list: RevocationList? = nil) -> TrustStore {
        TrustStore(TrustedAccount(roots: authority.roots, revocations: list))
    }

    private func code(_ body: () throws(TrustError) -> Void) -> TrustError.Code? {
        do throws(TrustError) {
            try body()
            return nil
        } catch {
            return error.code
        }
    }

    // MARK: The chain

    @Test func `an account keeps its id when its root key is replaced`() {
        #expect(self.third.accountID == self.first.accountID)
        #expect(self.third.roots.accountID == self.first.accountID)
        #expect(self.third.accountID != AccountID(of: self.third.rootKey.publicKey))
        #expect(self.third.roots.count == 3)
    }

    @Test func `a key was stolen if it or a later one was retired at once, as of the key in force`() throws {
        let stolen = try self.second.successor(retiring: noon, now: noon).roots
        #expect((1...3).map { stolen.isStolen($0) } == [true, true, false])
        // Before the third key, no theft was known.
        #expect(!stolen.isStolen(1, before: 2) && stolen.isStolen(1, before: 3) && stolen.isStolen(2, before: 3))
        for (number, other) in [(0, 2), (2, 1), (3, 3), (1, 4), (4, 5)] {
            #expect(!stolen.isStolen(number, before: other))
        }
        #expect((1...3).allSatisfy { !self.third.roots.isStolen($0) })
    }

    @Test func `a chain is read from its bytes, and a single root is its certificate`() throws {
        #expect(try RootChain(self.third.roots.bytes) == self.third.roots)
        #expect(self.first.roots.bytes == self.first.rootCertificate)
        #expect(self.first.roots.bytes == self.third.roots.certificates[0])
        #expect(self.first.roots.successions.isEmpty)
        for length in 0..<self.second.roots.bytes.count where length != self.first.roots.bytes.count {
            let bytes = Array(self.second.roots.bytes.prefix(length))
            #expect(self.code { () throws(TrustError) in _ = try RootChain(bytes) } == .malformed, "\(length) bytes")
        }
    }

    @Test func `a system that knows the first root trusts one that the third certified, and learns the chain`() throws {
        let certificate = try self.third.issueCertificate(for: self.key, now: noon)
        var store = self.store(knowing: self.first)
        #expect(throws: TrustError.self) { try store.authenticate(peerCertificate: certificate, now: noon) }
        let verdict = try store.judge(.init(certificate, successions: self.third.roots.successions), now: noon)
        #expect(verdict.peer.standing == .sameAccount(self.first.accountID))
        #expect(verdict.peer.systemID == SystemID(of: self.key))
        #expect(verdict.peer.root == self.root(3))
        #expect(verdict.learned == self.third.roots)
        #expect(try store.extend(roots: try #require(verdict.learned)))
        // After it has learned the chain, it accepts the certificate without the successions.
        #expect(try store.authenticate(peerCertificate: certificate, now: noon).root == self.root(3))
        let again = try store.judge(.init(certificate, successions: self.third.roots.successions), now: noon)
        #expect(again.learned == nil)
        #expect(try !store.extend(roots: self.second.roots))
    }

    @Test func `a system that does not know a newer root presents the part that it knows`() throws {
        let certificate = try self.second.issueCertificate(for: self.key, now: noon)
        let verdict = try self.store(knowing: self.third).judge(
            .init(certificate, successions: self.second.roots.successions),
            now: noon
        )
        #expect(verdict.peer.root == self.root(2) && verdict.learned == nil)
        // Trusted until its root is retired.
        #expect(verdict.peer.expiry == noon.addingTimeInterval(90 * day))
    }

    static let forgeries: [(String, @Sendable (inout LinkForgery) throws -> Void, TrustError.Code?)] = [
        ("as it should be", { _ in }, nil),
        ("signed by another key", { $0.signer = P256.Signing.PrivateKey() }, .badSignature),
        ("signed with another hash", { $0.algorithm = .ecdsaWithSHA384 }, .badSignature),
        ("the number of the present root", { $0.number = 3 }, .malformed),
        ("a number left out", { $0.number = 5 }, .malformed),
        ("the number of a first root", { $0.number = 1 }, .malformed),
        ("a number beyond all", { $0.number = 17 }, .malformed),
        ("a long number", { $0.number = 0x104 }, .malformed),
        ("no name", { $0.names = nil }, .malformed),
        ("a second name", { $0.names?.append(.dnsName("example.com")) }, .malformed),
        (
            "another account",
            {
                let other = AccountID(of: P256.Signing.PrivateKey().publicKey)
                $0.names = [.uniformResourceIdentifier("remote-systems://\(other)")]
            }, .malformed
        ),
        ("no authority", { $0.constraints = .notCertificateAuthority }, .malformed),
        ("no constraints", { $0.constraints = nil }, .malformed),
        ("not for certificates", { $0.usage = KeyUsage(digitalSignature: true) }, .malformed),
        ("no usage", { $0.usage = nil }, .malformed),
        (
            "a critical extension that is not known",
            { $0.more = [.init(oid: [1, 3, 6, 1, 4, 1, 99999, 1], critical: true, value: [5, 0])] }, .malformed
        ),
        (
            "too long",
            {
                let value = ArraySlice([UInt8](repeating: 0, count: 200))
                $0.more = [.init(oid: [1, 3, 6, 1, 4, 1, 99999, 1], critical: false, value: value)]
            }, .malformed
        ),
    ]

    @Test(arguments: Self.forgeries.indices)
    func `a succession is accepted, or refused with a code, by its form`(index: Int) throws {
        let (name, change, expected) = Self.forgeries[index]
        var forgery = try LinkForgery(after: self.third)
        try change(&forgery)
        let succession = try forgery.der()
        let certificate = try self.third.issueCertificate(for: self.key, now: noon)
        let presented = TrustStore.Presented(certificate, successions: [succession] + self.third.roots.successions)
        for known in [self.first, self.second, self.third] {
            let store = self.store(knowing: known)
            #expect(
                self.code { () throws(TrustError) in _ = try store.judge(presented, now: noon) } == expected,
                "\(name)"
            )
        }
        #expect(
            self.code { () throws(TrustError) in _ = try RootChain(self.third.roots.bytes + succession) } == expected,
            "\(name)"
        )
    }

    @Test func `a forged succession in the middle is refused, whatever the store knows`() throws {
        var forgery = try LinkForgery(after: self.first)
        forgery.signer = P256.Signing.PrivateKey()
        forgery.key = self.second.rootKey.publicKey
        let certificate = try self.third.issueCertificate(for: self.key, now: noon)
        let presented = try TrustStore.Presented(
            certificate,
            successions: [self.third.roots.certificates[2], forgery.der()]
        )
        for known in [self.first, self.second, self.third] {
            let store = self.store(knowing: known)
            #expect(self.code { () throws(TrustError) in _ = try store.judge(presented, now: noon) } == .badSignature)
        }
    }

    @Test func `successions in another order, or with one missing, are refused`() throws {
        let certificate = try self.third.issueCertificate(for: self.key, now: noon)
        let successions = self.third.roots.successions
        let store = self.store(knowing: self.first)
        let (newest, root) = (successions[0], self.first.rootCertificate)
        for successions in [successions.reversed(), [newest], [newest, newest], successions + [root]] {
            let presented = TrustStore.Presented(certificate, successions: Array(successions))
            #expect(self.code { () throws(TrustError) in _ = try store.judge(presented, now: noon) } == .malformed)
        }
    }

    @Test func `the chain of another account is refused`() throws {
        let other = try AccountAuthority(creatingAt: noon).successor(retiring: noon, now: noon)
        let certificate = try self.first.issueCertificate(for: self.key, now: noon)
        let presented = TrustStore.Presented(certificate, successions: other.roots.successions)
        var store = self.store(knowing: self.first)
        #expect(self.code { () throws(TrustError) in _ = try store.judge(presented, now: noon) } == .malformed)
        #expect(self.code { () throws(TrustError) in _ = try store.extend(roots: other.roots) } == .notOurAccount)
        // An anonymous system's successions are not checked.
        let foreign = try other.issueCertificate(for: self.key, now: noon)
        let verdict = try store.judge(.init(foreign, successions: [[1, 2, 3]]), now: noon, accepting: [.anonymous])
        #expect(verdict.peer.standing == .anonymous && verdict.peer.root == nil && verdict.learned == nil)
    }

    @Test func `a succession and a system's certificate are not accepted for each other`() throws {
        let store = self.store(knowing: self.first)
        let system = try self.first.issueCertificate(for: self.key, now: noon)
        let succession = self.second.roots.successions[0]
        #expect(self.code { () throws(TrustError) in _ = try store.judge(.init(succession), now: noon) } == .malformed)
        #expect(
            self.code { () throws(TrustError) in _ = try store.judge(.init(system, successions: [system]), now: noon) }
                == .malformed
        )
    }

    // MARK: Limits

    @Test func `an account has at most sixteen roots, whose certificates fit into a join message`() throws {
        var newest = self.first
        for _ in 1..<RootChain.maxRoots { newest = try newest.successor(retiring: noon, now: noon) }
        #expect(newest.roots.count == 16)
        #expect(newest.roots.bytes.count <= RootChain.maxBytes)
        #expect(newest.roots.successions.allSatisfy { $0.count <= RootSuccession.largestDER })
        let certificate = try newest.issueCertificate(for: self.key, now: noon)
        let presented = TrustStore.Presented(certificate, successions: newest.roots.successions)
        let verdict = try self.store(knowing: self.first).judge(presented, now: noon)
        #expect(verdict.peer.root == newest.roots.id(of: 16))
        let error = #expect(throws: IdentityError.self) { try newest.successor(retiring: noon, now: noon) }
        #expect(error?.code == .rootKeysUsedUp)
        var forgery = try LinkForgery(after: newest)
        forgery.number = 16
        let successions = try [forgery.der()] + newest.roots.successions
        let store = self.store(knowing: self.first)
        #expect(
            self.code { () throws(TrustError) in
                _ = try store.judge(.init(certificate, successions: successions), now: noon)
            } == .malformed
        )
        let bytes = try newest.roots.bytes + forgery.der()
        #expect(self.code { () throws(TrustError) in _ = try RootChain(bytes) } == .malformed)
    }

    @Test func `a root key cannot be used again`() throws {
        var forgery = try LinkForgery(after: self.third)
        forgery.key = self.first.rootKey.publicKey
        let bytes = try self.third.roots.bytes + forgery.der()
        #expect(self.code { () throws(TrustError) in _ = try RootChain(bytes) } == .malformed)
    }

    // MARK: Two successors

    @Test func `of two successors of a root, the one known first is kept`() throws {
        let rival = try self.first.successor(retiring: noon, now: noon)
        let certificate = try rival.issueCertificate(for: self.key, now: noon)
        let presented = TrustStore.Presented(certificate, successions: rival.roots.successions)
        // A system that knows neither successor accepts the first one that it sees …
        var store = self.store(knowing: self.first)
        let learned = try #require(try store.judge(presented, now: noon).learned)
        try store.extend(roots: learned)
        // … and refuses the other one from then on. So does a system that knew the other one first.
        let late = try self.third.issueCertificate(for: self.key, now: noon)
        let other = TrustStore.Presented(late, successions: self.third.roots.successions)
        #expect(self.code { () throws(TrustError) in _ = try store.judge(other, now: noon) } == .conflictingRoots)
        for known in [self.second, self.third] {
            var store = self.store(knowing: known)
            #expect(
                self.code { () throws(TrustError) in _ = try store.judge(presented, now: noon) } == .conflictingRoots
            )
            #expect(
                self.code { () throws(TrustError) in _ = try store.extend(roots: rival.roots) } == .conflictingRoots
            )
            #expect(store.own.roots == known.roots)
        }
    }

    @Test func `another signature over the same successor changes nothing`() throws {
        let key = self.second.rootKey
        let again = try self.first.successor(key: key, retiring: noon.addingTimeInterval(-day), now: noon)
        #expect(again.roots == self.second.roots && again.roots.bytes != self.second.roots.bytes)
        let known = self.store(knowing: self.second)
        let old = try self.first.issueCertificate(for: self.key, now: noon)
        #expect(try known.judge(.init(old, successions: again.roots.successions), now: noon).peer.root == self.root(1))
    }

    @Test func `a peer that another root of the same number certified is not trusted any more`() throws {
        let rival = try self.first.successor(key: P256.Signing.PrivateKey(), retiring: noon, now: noon)
        let certificate = try rival.issueCertificate(for: self.key, now: noon)
        let peer = try self.store(knowing: rival).authenticate(peerCertificate: certificate, now: noon)
        #expect(peer.root == rival.roots.id(of: 2))
        #expect(self.store(knowing: rival).objection(to: peer, now: noon) == nil)
        // The account's file was replaced by one that follows the other successor.
        #expect(self.store(knowing: self.second).objection(to: peer, now: noon)?.code == .retiredRoot)
        #expect(self.store(knowing: self.third).objection(to: peer, now: noon)?.code == .retiredRoot)
    }

    // MARK: Retired roots

    @Test func `a certificate of a replaced root is trusted until the root is retired`() throws {
        let certificate = try self.first.issueCertificate(for: self.key, now: noon.addingTimeInterval(80 * day))
        let store = self.store(knowing: self.third)
        let retirement = noon.addingTimeInterval(90 * day)
        let peer = try store.authenticate(peerCertificate: certificate, now: retirement.addingTimeInterval(-1))
        #expect(peer.root == self.root(1))
        #expect(peer.expiry == retirement)
        let error = #expect(throws: TrustError.self) {
            try store.authenticate(peerCertificate: certificate, now: retirement)
        }
        #expect(error?.code == .retiredRoot)
        #expect(error?.messageToPeer.contains("Your certificate") == true)
        #expect(store.objection(to: peer, now: retirement.addingTimeInterval(-1)) == nil)
        #expect(store.objection(to: peer, now: retirement)?.code == .retiredRoot)
        // Systems that do not know the new root trust the old one until the certificate expires.
        let old = try self.store(knowing: self.first).authenticate(peerCertificate: certificate, now: retirement)
        #expect(old.root == self.root(1))
    }

    @Test func `a peer is not trusted any more when its root is not a root of the account any more`() throws {
        let certificate = try self.third.issueCertificate(for: self.key, now: noon)
        let presented = TrustStore.Presented(certificate, successions: self.third.roots.successions)
        var store = self.store(knowing: self.first)
        let verdict = try store.judge(presented, now: noon)
        #expect(verdict.peer.root == self.root(3))
        #expect(store.objection(to: verdict.peer, now: noon)?.code == .retiredRoot)
        try store.extend(roots: #require(verdict.learned))
        #expect(store.objection(to: verdict.peer, now: noon) == nil)
        #expect(store.retirement(of: verdict.peer) == nil)
        // For example, the stored keys of the account conflict with the learned ones, and there are fewer of them.
        store.update(own: self.store(knowing: self.first).own)
        #expect(store.objection(to: verdict.peer, now: noon)?.code == .retiredRoot)
        #expect(store.retirement(of: verdict.peer) == nil)
    }

    @Test func `a stolen root is refused at once by systems that know its successor`() throws {
        let successor = try self.first.successor(retiring: noon.addingTimeInterval(-day), now: noon)
        let certificate = try self.first.issueCertificate(for: self.key, now: noon)
        let peer = try self.store(knowing: self.first).authenticate(peerCertificate: certificate, now: noon)
        let store = self.store(knowing: successor)
        #expect(
            self.code { () throws(TrustError) in _ = try store.judge(.init(certificate), now: noon) } == .retiredRoot
        )
        #expect(store.objection(to: peer, now: noon)?.code == .retiredRoot)
        // Presenting the succession does not help either.
        let presented = TrustStore.Presented(certificate, successions: successor.roots.successions)
        let fresh = self.store(knowing: self.first)
        #expect(self.code { () throws(TrustError) in _ = try fresh.judge(presented, now: noon) } == .retiredRoot)
    }

    @Test func `a stolen root is retired at once, also within its last second and by a clock that is behind`() throws {
        for fraction in [0.0, 0.4, 0.5, 0.9] {
            let now = noon.addingTimeInterval(fraction)
            let certificate = try self.first.issueCertificate(for: self.key, now: noon.addingTimeInterval(-2 * day))
            let store = self.store(knowing: try self.first.successor(retiring: now, now: now))
            for clock in [now, now.addingTimeInterval(-day)] {
                #expect(
                    self.code { () throws(TrustError) in _ = try store.judge(.init(certificate), now: clock) }
                        == .retiredRoot
                )
            }
        }
    }

    @Test func `a certificate of a later root has the usual lifetime`() throws {
        let certificate = try self.third.issueCertificate(for: self.key, now: noon.addingTimeInterval(200 * day))
        let store = self.store(knowing: self.third)
        let peer = try store.authenticate(peerCertificate: certificate, now: noon.addingTimeInterval(201 * day))
        #expect(peer.expiry == noon.addingTimeInterval(290 * day))
    }

    // MARK: Revocation lists

    @Test func `a list is judged by the root that signed it`() throws {
        let system = SystemID(of: self.key)
        let old = try self.first.revocationList(of: [], after: nil, now: noon.addingTimeInterval(50 * day))
        let new = try self.second.revocationList(of: [system], after: old, now: noon)
        let known = TrustedAccount(roots: self.second.roots)
        #expect(try known.revocationList(new.bytes, now: noon) == new)
        #expect(new.root == 2)
        // It replaces a list of an older root, regardless of that list's number.
        #expect(old.number > new.number)
        #expect(new.isNewer(than: old) && !old.isNewer(than: new))
        let certificate = try self.second.issueCertificate(for: self.key, now: noon)
        #expect(
            self.code { () throws(TrustError) in
                _ = try self.store(knowing: self.second, revoking: new).judge(.init(certificate), now: noon)
            } == .revoked
        )
        // A system that does not know the root cannot verify the list.
        let behind = TrustedAccount(roots: self.first.roots)
        #expect(
            self.code { () throws(TrustError) in _ = try behind.revocationList(new.bytes, now: noon) } == .badSignature
        )
        // A list of a retired root is refused. A list of a replaced root is accepted until the root is retired.
        let retirement = noon.addingTimeInterval(90 * day)
        #expect(try known.revocationList(old.bytes, now: noon).root == 1)
        #expect(
            self.code { () throws(TrustError) in _ = try known.revocationList(old.bytes, now: retirement) }
                == .retiredRoot
        )
    }

    @Test func `every system of a long list is found, and no other`() throws {
        var systems: Set<SystemID> = []
        for _ in 0..<100 { systems.insert(SystemID.any()) }
        let list = try self.first.revocationList(of: systems, after: nil, now: noon)
        #expect(systems.allSatisfy(list.contains))
        for _ in 0..<100 { #expect(!list.contains(SystemID.any())) }
        #expect(try !self.first.revocationList(of: [], after: nil, now: noon).contains(SystemID(of: self.key)))
    }
}
