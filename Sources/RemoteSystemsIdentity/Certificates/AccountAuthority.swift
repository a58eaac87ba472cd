// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Crypto
package import FoundationEssentials
import SwiftASN1
import X509

/// An account's newest root key at work: it signs the certificates of the account's systems.
///
/// Held only as long as something is signed. It is on one machine of the account, and in the recovery file.
package struct AccountAuthority: Sendable {
    package let accountID: AccountID
    package let roots: RootChain
    /// The certificates of the account's roots, as ``RootChain/bytes``.
    package var rootCertificate: [UInt8] { self.roots.bytes }
    let rootKey: P256.Signing.PrivateKey
    /// The certificate of the newest root.
    private let root: Certificate

    /// A new account.
    ///
    /// - Throws: ``IdentityError/Code/wrongClock`` when `now` cannot be right.
    package init(creatingAt now: Date, key: P256.Signing.PrivateKey = .init()) throws(IdentityError) {
        try CertificateLife.checkClock(now)
        let (root, der) = try makingCertificate {
            // The subject must not be empty (RFC 5280 §4.1.2.4), and says nothing: the key is the account's name.
            let name = try DistinguishedName { CommonName("RemoteSystems account") }
            let root = try Certificate(
                version: .v3,
                serialNumber: .init(),
                publicKey: .init(key.publicKey),
                notValidBefore: now.addingTimeInterval(-CertificateLife.backdating),
                notValidAfter: now.addingTimeInterval(CertificateLife.account),
                issuer: name,
                subject: name,
                signatureAlgorithm: .ecdsaWithSHA256,
                extensions: Certificate.Extensions {
                    Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                    Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                    SubjectKeyIdentifier(hash: .init(key.publicKey))
                },
                issuerPrivateKey: .init(key)
            )
            return (root, try root.der())
        }
        do throws(TrustError) {
            self.roots = try RootChain(first: der)
        } catch {
            throw .unusableCertificate(error)
        }
        self.accountID = self.roots.accountID
        self.rootKey = key
        self.root = root
    }

    /// The authority of an existing account, or nil unless the key is that of its newest root.
    ///
    /// - Parameter bytes: the certificates of the account's roots, as ``RootChain/bytes``.
    init?(rootCertificate bytes: [UInt8], key: P256.Signing.PrivateKey) {
        guard let roots = try? RootChain(bytes) else { return nil }
        self.init(roots: roots, key: key)
    }

    private init?(roots: RootChain, key: P256.Signing.PrivateKey) {
        guard let newest = roots.certificates.last, let root = try? Certificate(boundedDER: newest),
            root.publicKey == .init(key.publicKey)
        else { return nil }
        self.accountID = roots.accountID
        self.roots = roots
        self.rootKey = key
        self.root = root
    }

    /// The authority after this account's root key is replaced: signs the next key with the present one.
    ///
    /// Systems learn of the new key from those that know it. Until `retirement` the certificates that the present key
    /// signed stay valid, so that their systems can renew them.
    ///
    /// - Parameters:
    ///   - key: The next root key.
    ///   - retirement: When the present key's signatures stop to count; `now` or earlier for a key that was stolen.
    /// - Throws: ``IdentityError/Code/rootKeysUsedUp`` when the account has had as many root keys as it can.
    package func successor(
        key: P256.Signing.PrivateKey = .init(),
        retiring retirement: Date,
        now: Date
    ) throws(IdentityError) -> AccountAuthority {
        try CertificateLife.checkClock(now)
        let link = try makingCertificate {
            try RootLink.make(
                number: self.roots.count + 1,
                of: key.publicKey,
                in: self.accountID,
                named: self.root.subject,
                signing: self.rootKey,
                retiring: max(retirement, now),
                now: now
            )
        }
        var roots = self.roots
        do throws(TrustError) {
            try roots.append(link)
        } catch {
            throw IdentityError(
                .rootKeysUsedUp,
                "The root key was not replaced: an account has at most \(RootChain.maxRoots) of them (\(error.code)).",
                cause: error
            )
        }
        guard let successor = AccountAuthority(roots: roots, key: key) else { throw .notAuthority }
        return successor
    }

    /// A certificate for the system that holds the private half of `key`, in DER.
    ///
    /// The caller has made sure that the system has that key (by a signed request) and may have a certificate.
    package func issueCertificate(for key: P256.Signing.PublicKey, now: Date) throws(IdentityError) -> [UInt8] {
        try CertificateLife.checkClock(now)
        let name = SystemName(account: self.accountID, system: SystemID(of: key))
        // A certificate never outlives its issuer, so a verifier need not check the issuer's time. The end of a later
        // root's certificate is the end of its predecessor.
        let life = self.roots.count == 1 ? self.root.notValidAfter : .distantFuture
        let end = min(now.addingTimeInterval(CertificateLife.system), life)
        guard now < end else {
            throw IdentityError(
                .rejectedCertificate,
                """
                The account's root certificate expired on \(self.root.notValidAfter.formatted(.iso8601)), so it can \
                sign no more. Check this machine's clock; if it is right, a new account is needed.
                """
            )
        }
        return try makingCertificate {
            let certificate = try Certificate(
                version: .v3,
                serialNumber: .init(),
                publicKey: .init(key),
                notValidBefore: now.addingTimeInterval(-CertificateLife.backdating),
                notValidAfter: end,
                issuer: self.root.subject,
                subject: DistinguishedName { CommonName("RemoteSystems system") },
                signatureAlgorithm: .ecdsaWithSHA256,
                extensions: Certificate.Extensions {
                    Critical(BasicConstraints.notCertificateAuthority)
                    Critical(KeyUsage(digitalSignature: true))
                    try ExtendedKeyUsage([.clientAuth, .serverAuth])
                    SubjectAlternativeNames([.uniformResourceIdentifier(name.uri)])
                    AuthorityKeyIdentifier(
                        keyIdentifier: SubjectKeyIdentifier(hash: .init(self.rootKey.publicKey)).keyIdentifier
                    )
                },
                issuerPrivateKey: .init(self.rootKey)
            )
            return try certificate.der()
        }
    }

    /// A further system of the account whose key is made here, for another program to take its identity over.
    ///
    /// - Parameter identity: an identity of the same account, for its discovery key.
    package func makeSystem(beside identity: SystemIdentity, now: Date) throws(IdentityError) -> SystemIdentity {
        let key = P256.Signing.PrivateKey()
        let certificate = try self.issueCertificate(for: key.publicKey, now: now)
        do {
            return try SystemIdentity(
                rootCertificate: self.rootCertificate,
                certificate: certificate,
                systemKey: key,
                discoveryKey: identity.discoveryKey,
                isAuthority: false
            )
        } catch {
            throw .unusableCertificate(error)
        }
    }

    /// A new certificate for a system of the account that asks for one over an authorised connection.
    ///
    /// - Parameters:
    ///   - request: What the system's ``SystemIdentity/makeRenewalRequest()`` made.
    ///   - peer: Who sent it, as the trust store established.
    /// - Throws: ``IdentityError/Code/rejectedCertificate`` when the request is not the peer's own.
    package func renew(_ request: [UInt8], for peer: PeerIdentity, now: Date) throws(IdentityError) -> [UInt8] {
        let key = try SigningRequest.key(in: request)
        guard peer.standing == .sameAccount(self.accountID), SystemID(of: key) == peer.systemID else {
            throw IdentityError(
                .rejectedCertificate,
                "A system asked for a certificate in the name of another one. It got none; it is faulty or hostile."
            )
        }
        return try self.issueCertificate(for: key, now: now)
    }

    /// A revocation list that takes the place of every one numbered below it.
    ///
    /// Numbered by the clock, so that two machines which both hold the account's key do not give one number twice.
    ///
    /// - Parameter list: The list that it replaces; `nil` if there is none.
    /// - Throws: ``IdentityError/Code/tooManySystems``.
    package func revocationList(
        of systems: Set<SystemID>,
        after list: RevocationList?,
        now: Date
    ) throws(IdentityError) -> RevocationList {
        // Numbers of an older root do not count.
        let number = list.map { $0.root < self.roots.count ? 0 : $0.number } ?? 0
        let clock = UInt64(min(max(now.timeIntervalSince1970 * 1000, 0), 1e15))
        guard number < UInt64(Int64.max) else {
            throw IdentityError(.tooManySystems, "The revocation list has the last number there is.")
        }
        return try RevocationList(
            number: max(number + 1, clock),
            systems,
            of: self.accountID,
            root: self.roots.count,
            signing: self.rootKey
        )
    }
}
