// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FoundationEssentials
import SwiftASN1
import Testing
import X509

@testable import RemoteSystemsIdentity

/// Seeds H-02 and R-27: same user = same account; and the attack classes "TLS client auth bypass" and "trust change".
@Suite struct TrustStoreTests {
    let authority: AccountAuthority
    let store: TrustStore
    let key = P256.Signing.PrivateKey().publicKey

    init() throws {
        self.authority = try AccountAuthority(creatingAt: noon)
        self.store = TrustStore(TrustedAccount(roots: self.authority.roots))
    }

    private func code(_ der: [UInt8], now: Date = noon, store: TrustStore? = nil) -> TrustError.Code? {
        do throws(TrustError) {
            _ = try (store ?? self.store).authenticate(peerCertificate: der, now: now)
            return nil
        } catch {
            return error.code
        }
    }

    private func forgery(_ change: (inout CertificateForgery) throws -> Void) throws -> [UInt8] {
        var forgery = try CertificateForgery(by: self.authority, for: self.key)
        try change(&forgery)
        return try forgery.der()
    }

    private func storeRevoking(_ systems: Set<SystemID>) throws -> TrustStore {
        let list = try self.authority.revocationList(of: systems, after: nil, now: noon)
        return TrustStore(TrustedAccount(roots: self.authority.roots, revocations: list))
    }

    // MARK: Accepted certificates

    @Test func `a system of the account is recognised by its id`() throws {
        let der = try self.authority.issueCertificate(for: self.key, now: noon)
        let peer = try self.store.authenticate(peerCertificate: der, now: noon)
        #expect(peer.systemID == SystemID(of: self.key))
        #expect(peer.standing == .sameAccount(self.authority.accountID))
        #expect(peer.expiry == noon.addingTimeInterval(90 * day))
    }

    @Test func `the unchanged certificate of the forgeries is accepted`() throws {
        #expect(try self.code(self.forgery { _ in }) == nil)
    }

    @Test func `a clock up to a day behind accepts valid certificates`() throws {
        let der = try self.authority.issueCertificate(for: self.key, now: noon)
        #expect(self.code(der, now: noon.addingTimeInterval(-23 * hour)) == nil)
    }

    @Test func `an unknown extension that is not critical is accepted`() throws {
        let der = try self.forgery {
            $0.more = [.init(oid: [1, 3, 6, 1, 4, 1, 99999, 1], critical: false, value: [5, 0])]
        }
        #expect(self.code(der) == nil)
    }

    // MARK: Time

    @Test func `a certificate is refused from the second it ends, and the error reports both times`() throws {
        let der = try self.authority.issueCertificate(for: self.key, now: noon)
        let end = noon.addingTimeInterval(90 * day)
        #expect(self.code(der, now: end.addingTimeInterval(-1)) == nil)
        let error = #expect(throws: TrustError.self) { try self.store.authenticate(peerCertificate: der, now: end) }
        #expect(error?.code == .expired)
        let beginning = "The other system's certificate expired on \(end.formatted(.iso8601))"
        #expect(error?.message.hasPrefix(beginning) == true)
        #expect(error?.message.contains("clock") == true)
        // The certificate's owner gets this message in the second person, since the fault is on its machine.
        #expect(error?.messageToPeer.hasPrefix("Your certificate expired on \(end.formatted(.iso8601))") == true)
        #expect(error?.messageToPeer.contains("other system") == false)
    }

    @Test func `a certificate from the future is refused, and the error says to check the clock`() throws {
        let der = try self.authority.issueCertificate(for: self.key, now: noon)
        let early = noon.addingTimeInterval(-25 * hour)
        let error = #expect(throws: TrustError.self) { try self.store.authenticate(peerCertificate: der, now: early) }
        #expect(error?.code == .notYetValid)
        #expect(error?.message.contains("Check the clock on both machines") == true)
    }

    /// Found by fuzzing: the library parses it, and its conversion to a date ends a debug build.
    @Test func `a certificate with the second 61 is refused, in either of its times`() throws {
        let der = try self.authority.issueCertificate(for: self.key, now: noon)
        let times = der.indices.dropLast().filter { der[$0] == 0x17 && der[$0 + 1] == 13 }
        #expect(times.count == 2)
        for time in times {
            func changed(_ seconds: String) -> [UInt8] {
                var der = der
                der.replaceSubrange(time + 12..<time + 14, with: seconds.utf8)
                return der
            }
            #expect(self.code(changed("61")) == .malformed)
            // A leap second exists. It was not signed.
            #expect(self.code(changed("60")) == .badSignature)
        }
    }

    // MARK: Account

    @Test func `another account's system is refused`() throws {
        let other = try AccountAuthority(creatingAt: noon)
        #expect(self.code(try other.issueCertificate(for: self.key, now: noon)) == .notOurAccount)
    }

    /// NATS compared names without keys (GO-2026-4828).
    @Test func `another root with the same subject name that claims our account is refused (GO-2026-4828)`() throws {
        let impostor = try AccountAuthority(creatingAt: noon)
        #expect(
            try Certificate(derEncoded: impostor.rootCertificate).subject
                == Certificate(derEncoded: self.authority.rootCertificate).subject
        )
        #expect(try self.code(self.forgery { $0.signer = impostor.rootKey }) == .badSignature)
    }

    @Test func `a certificate signed by another system of the account is refused`() throws {
        let system = P256.Signing.PrivateKey()
        #expect(try self.code(self.forgery { $0.signer = system }) == .badSignature)
    }

    @Test func `a changed certificate is refused`() throws {
        var der = try self.authority.issueCertificate(for: self.key, now: noon)
        // The last byte belongs to the signature; a P-256 signature is never right by chance.
        der[der.count - 1] ^= 1
        #expect(self.code(der) == .badSignature)
    }

    @Test func `a name of another account under our signature is refused`() throws {
        let other = AccountID(of: P256.Signing.PrivateKey().publicKey)
        let der = try self.forgery {
            $0.names = [.uniformResourceIdentifier(SystemName(account: other, system: SystemID(of: self.key)).uri)]
        }
        #expect(self.code(der) == .notOurAccount)
    }

    @Test func `a name of another system under our signature is refused`() throws {
        let other = SystemID.any()
        let der = try self.forgery {
            $0.names = [.uniformResourceIdentifier(SystemName(account: self.authority.accountID, system: other).uri)]
        }
        #expect(self.code(der) == .identityMismatch)
    }

    @Test func `a revoked system is refused, and only that one`() throws {
        let der = try self.authority.issueCertificate(for: self.key, now: noon)
        let other = SystemID.any()
        #expect(try self.code(der, store: self.storeRevoking([other])) == nil)
        #expect(try self.code(der, store: self.storeRevoking([other, SystemID(of: self.key)])) == .revoked)
    }

    @Test func `a joining certificate is not accepted for connections`() throws {
        let der = try JoiningCertificate.make(with: P256.Signing.PrivateKey(), now: noon)
        #expect(self.code(der) == .notOurAccount)
    }

    @Test func `the account's own root certificate is not accepted for connections`() {
        #expect(self.code(self.authority.rootCertificate) == .notOurAccount)
    }

    // MARK: Anonymous peers

    private func anonymousCode(_ der: [UInt8], now: Date = noon, store: TrustStore? = nil) -> TrustError.Code? {
        do throws(TrustError) {
            let store = store ?? self.store
            _ = try store.authenticate(peerCertificate: der, now: now, accepting: [.sameAccount, .anonymous])
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `where anonymous systems are accepted, another account's system has an id and no account`() throws {
        let other = try AccountAuthority(creatingAt: noon)
        let der = try other.issueCertificate(for: self.key, now: noon)
        let peer = try self.store.authenticate(peerCertificate: der, now: noon, accepting: [.sameAccount, .anonymous])
        #expect(peer.standing == .anonymous)
        #expect(peer.systemID == SystemID(of: self.key))
    }

    @Test func `where anonymous systems are accepted, a system of our account keeps its standing`() throws {
        let der = try self.authority.issueCertificate(for: self.key, now: noon)
        let peer = try self.store.authenticate(peerCertificate: der, now: noon, accepting: [.sameAccount, .anonymous])
        #expect(peer.standing == .sameAccount(self.authority.accountID))
    }

    @Test func `where anonymous systems are accepted, a system that claims our account must belong to it`() throws {
        let impostor = P256.Signing.PrivateKey()
        #expect(try self.anonymousCode(self.forgery { $0.signer = impostor }) == .badSignature)
    }

    @Test func `an anonymous system's certificate must meet every rule except the signature`() throws {
        let other = try AccountAuthority(creatingAt: noon)
        func code(now: Date = noon, _ change: (inout CertificateForgery) throws -> Void) throws -> TrustError.Code? {
            var forgery = try CertificateForgery(by: other, for: self.key)
            try change(&forgery)
            return try self.anonymousCode(forgery.der(), now: now)
        }
        let elsewhere = SystemID.any()
        let name = SystemName(account: other.accountID, system: elsewhere)
        let codes: [(found: TrustError.Code?, expected: TrustError.Code?)] = [
            (try code { _ in }, nil),
            (try code { $0.signer = P256.Signing.PrivateKey() }, nil),
            (try code(now: noon.addingTimeInterval(91 * day)) { _ in }, .expired),
            (try code(now: noon.addingTimeInterval(-2 * day)) { _ in }, .notYetValid),
            (try code { $0.keyUsage = nil }, .wrongUsage),
            (try code { $0.constraints = .isCertificateAuthority(maxPathLength: 0) }, .wrongUsage),
            (try code { $0.names = nil }, .notOurAccount),
            (try code { $0.algorithm = .ecdsaWithSHA384 }, .badSignature),
            (try code { $0.names = [.uniformResourceIdentifier(name.uri)] }, .identityMismatch),
        ]
        for code in codes { #expect(code.found == code.expected) }
        let joining = try JoiningCertificate.make(with: P256.Signing.PrivateKey(), now: noon)
        #expect(self.anonymousCode(joining) == .notOurAccount)
    }

    @Test func `a revoked system is not accepted as an anonymous one`() throws {
        let other = try AccountAuthority(creatingAt: noon)
        let store = try self.storeRevoking([SystemID(of: self.key)])
        #expect(self.anonymousCode(try other.issueCertificate(for: self.key, now: noon), store: store) == .revoked)
    }

    // MARK: Names

    static let wrongNames: [(String, TrustError.Code)] = [
        ("remote-systems://", .malformed),
        ("remote-systems://ACCOUNT", .malformed),
        ("remote-systems://ACCOUNT/", .malformed),
        ("remote-systems://ACCOUNT/SYSTEM/", .malformed),
        ("remote-systems://ACCOUNT/SYSTEM?x", .malformed),
        ("remote-systems:///ACCOUNT/SYSTEM", .malformed),
        ("https://ACCOUNT/SYSTEM", .notOurAccount),
        ("REMOTE-SYSTEMS://ACCOUNT/SYSTEM", .notOurAccount),
        ("", .notOurAccount),
    ]

    @Test(arguments: Self.wrongNames)
    func `a name of another form is refused`(pattern: String, expected: TrustError.Code) throws {
        let uri =
            pattern
            .replacing("ACCOUNT", with: self.authority.accountID.description)
            .replacing("SYSTEM", with: SystemID(of: self.key).description)
        #expect(try self.code(self.forgery { $0.names = [.uniformResourceIdentifier(uri)] }) == expected)
    }

    @Test func `a second name is refused`() throws {
        #expect(try self.code(self.forgery { $0.names?.append(.dnsName("example.com")) }) == .malformed)
        #expect(try self.code(self.forgery { $0.names?.insert(.dnsName("example.com"), at: 0) }) == .notOurAccount)
    }

    @Test func `a certificate without a name is refused`() throws {
        #expect(try self.code(self.forgery { $0.names = nil }) == .notOurAccount)
        #expect(try self.code(self.forgery { $0.names = [] }) == .notOurAccount)
    }

    // MARK: Purpose

    @Test func `a system's certificate that claims to be an authority is refused`() throws {
        let der = try self.forgery { $0.constraints = .isCertificateAuthority(maxPathLength: 0) }
        #expect(self.code(der) == .wrongUsage)
        #expect(try self.code(self.forgery { $0.constraints = nil }) == .wrongUsage)
    }

    static let wrongKeyUsages: [KeyUsage?] = [
        nil, KeyUsage(keyAgreement: true), KeyUsage(digitalSignature: true, keyCertSign: true),
        KeyUsage(digitalSignature: true, cRLSign: true),
    ]

    @Test(arguments: Self.wrongKeyUsages) func `a wrong key usage is refused`(usage: KeyUsage?) throws {
        #expect(try self.code(self.forgery { $0.keyUsage = usage }) == .wrongUsage)
    }

    static let wrongExtendedUsages: [[ExtendedKeyUsage.Usage]?] = [
        nil, [.clientAuth], [.serverAuth], [.any], [.codeSigning],
    ]

    @Test(arguments: Self.wrongExtendedUsages)
    func `a wrong extended key usage is refused`(usages: [ExtendedKeyUsage.Usage]?) throws {
        #expect(try self.code(self.forgery { $0.extendedUsages = usages }) == .wrongUsage)
    }

    @Test func `an unknown critical extension is refused`() throws {
        let der = try self.forgery {
            $0.more = [.init(oid: [1, 3, 6, 1, 4, 1, 99999, 1], critical: true, value: [5, 0])]
        }
        #expect(self.code(der) == .wrongUsage)
    }

    // MARK: Keys and bytes

    static let otherKeys: [Certificate.PublicKey] = [
        .init(P384.Signing.PrivateKey().publicKey),
        .init(P521.Signing.PrivateKey().publicKey),
        .init(Curve25519.Signing.PrivateKey().publicKey),
    ]

    @Test(arguments: Self.otherKeys) func `a key of another kind is refused`(key: Certificate.PublicKey) throws {
        #expect(try self.code(self.forgery { $0.key = key }) == .malformed)
    }

    @Test func `an RSA key is refused`() throws {
        let key = try Certificate.PublicKey(_RSA.Signing.PrivateKey(keySize: .bits2048).publicKey)
        #expect(try self.code(self.forgery { $0.key = key }) == .malformed)
    }

    @Test func `a signature over another hash is refused`() throws {
        #expect(try self.code(self.forgery { $0.algorithm = .ecdsaWithSHA384 }) == .badSignature)
    }

    @Test func `every truncation is refused as malformed`() throws {
        let der = try self.authority.issueCertificate(for: self.key, now: noon)
        for length in 0..<der.count {
            #expect(self.code(Array(der[..<length])) == .malformed, "\(length) bytes")
        }
    }

    @Test func `bytes after the certificate are refused`() throws {
        let der = try self.authority.issueCertificate(for: self.key, now: noon)
        #expect(self.code(der + [0]) == .malformed)
        #expect(self.code(der + der) == .malformed)
    }

    @Test func `a certificate with any single changed byte is refused`() throws {
        let der = try self.authority.issueCertificate(for: self.key, now: noon)
        for index in der.indices {
            var changed = der
            changed[index] ^= 0x41
            #expect(self.code(changed) != nil, "byte \(index)")
        }
    }

    @Test func `large hostile input is refused without parsing`() {
        // A SEQUENCE that announces 2 GiB, and real nesting in 64 KiB.
        #expect(self.code([0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xFF]) == .malformed)
        #expect(self.code([UInt8](repeating: 0x30, count: 65_536)) == .malformed)
        #expect(self.code([UInt8](repeating: 0x30, count: 4096)) == .malformed)
    }

    @Test func `an oversized certificate with a valid signature is refused`() throws {
        let der = try self.forgery {
            $0.more = [
                .init(
                    oid: [1, 3, 6, 1, 4, 1, 99999, 1],
                    critical: false,
                    value: ArraySlice([UInt8](repeating: 0, count: 5000))
                )
            ]
        }
        #expect(self.code(der) == .malformed)
    }

    @Test func `no error contains a name from the certificate`() throws {
        let other = try AccountAuthority(creatingAt: noon)
        let der = try other.issueCertificate(for: self.key, now: noon)
        let error = #expect(throws: TrustError.self) { try self.store.authenticate(peerCertificate: der, now: noon) }
        #expect(error?.description.contains(other.accountID.short) == false)
        #expect(error?.description.hasPrefix("TrustError(notOurAccount)") == true)
    }
}
