// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Crypto
package import FoundationEssentials
import SwiftASN1
import X509

/// An account's newest root key, used to sign the certificates of the account's systems.
///
/// Keep a value only while signing. The key is stored on one machine of the account and in the recovery file.
package struct AccountAuthority: Sendable {
    package let accountID: AccountID
    package let roots: RootChain
    /// The certificates of the account's roots, as ``RootChain/bytes``.
    package var rootCertificate: [UInt8] { self.roots.bytes }
    let rootKey: P256.Signing.PrivateKey
    /// The certificate of the newest root.
    private let root: Certificate

    /// Creates a new account.
    ///
    /// - Throws: ``IdentityError/Code/wrongClock`` if `now` cannot be right.
    package init(creatingAt now: Date, key: P256.Signing.PrivateKey = .init()) throws(IdentityError) {
        try CertificateLife.checkClock(now)
        let (root, der) = try makingCertificate {
            // The subject must not be empty (RFC 5280 §4.1.2.4). Its text has no meaning: the key identifies the
            // account.
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

    /// Creates the authority of an existing account; `nil` unless `key` is the key of its newest root.
    ///
    /// - Parameter bytes: The certificates of the account's roots, as ``RootChain/bytes``.
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

    /// Replaces the account's root key: signs the next key with the present one, and returns the authority for the
    /// next.
    ///
    /// Systems receive the new key from systems that know it. Until `retirement`, the certificates that the present key
    /// signed stay valid, so that their systems can renew them.
    ///
    /// - Parameters:
    ///   - key: The next root key.
    ///   - retirement: When signatures of the present key become invalid. Pass `now` or earlier for a stolen key.
    /// - Throws: ``IdentityError/Code/rootKeysUsedUp`` if the account has had the maximum number of root keys.
    package func successor(
        key: P256.Signing.PrivateKey = .init(),
        retiring retirement: Date,
        now: Date
    ) throws(IdentityError) -> AccountAuthority {
        try CertificateLife.checkClock(now)
        // A certificate has whole seconds. Rounded up, a stolen key would be valid for a moment after its end.
        let now = Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down))
        let retirement = Date(timeIntervalSince1970: retirement.timeIntervalSince1970.rounded(.down))
        let succession = try makingCertificate {
            try RootSuccession.make(
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
            try roots.append(succession)
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

    /// Issues a certificate for the system that holds the private half of `key`, in DER.
    ///
    /// The caller must have verified that the system holds that key (by a signed request) and may have a certificate.
    package func issueCertificate(for key: P256.Signing.PublicKey, now: Date) throws(IdentityError) -> [UInt8] {
        try CertificateLife.checkClock(now)
        let name = SystemName(account: self.accountID, system: SystemID(of: key))
        // A certificate never outlives its issuer, so a verifier need not check the issuer's validity. The end of a
        // later root's certificate does not count here: it is the retirement date of that root's predecessor.
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

    /// Creates another system of the account, with a new key, for another program that takes this identity over.
    ///
    /// - Parameter identity: An identity of the same account. Its discovery key is used.
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

    /// Issues a new certificate for a system of the account that requests one over an authenticated connection.
    ///
    /// - Parameters:
    ///   - request: The result of the system's ``SystemIdentity/makeRenewalRequest()``.
    ///   - peer: The sender, as the trust store identified it.
    /// - Throws: ``IdentityError/Code/rejectedCertificate`` if the request is not for the peer's own key.
    package func renew(_ request: [UInt8], for peer: PeerIdentity, now: Date) throws(IdentityError) -> [UInt8] {
        let key = try SigningRequest.key(in: request)
        guard peer.standing == .sameAccount(self.accountID), SystemID(of: key) == peer.systemID else {
            throw IdentityError(
                .rejectedCertificate,
                "A system asked for a certificate in another system's name. It got none; it is faulty or hostile."
            )
        }
        return try self.issueCertificate(for: key, now: now)
    }

    /// Creates and signs a revocation list that replaces every list with a lower number.
    ///
    /// The number is at least the clock's milliseconds since 1970, so that two machines with the account's root key do
    /// not use the same number twice.
    ///
    /// - Parameter list: The list that it replaces; `nil` if there is none.
    /// - Throws: ``IdentityError/Code/tooManySystems``.
    package func revocationList(
        of systems: Set<SystemID>,
        after list: RevocationList?,
        now: Date
    ) throws(IdentityError) -> RevocationList {
        try self.revocationList(of: systems, afterPosition: list?.position, now: now)
    }

    /// Creates a revocation list as ``revocationList(of:after:now:)`` does, after a list of which only the position is
    /// known.
    func revocationList(
        of systems: Set<SystemID>,
        afterPosition position: TrustPosition?,
        now: Date
    ) throws(IdentityError) -> RevocationList {
        // Numbers of lists that an older root signed do not count.
        let number = position.map { $0.root < self.roots.count ? 0 : $0.number } ?? 0
        let clock = UInt64(min(max(now.timeIntervalSince1970 * 1000, 0), 1e15))
        guard number < UInt64(Int64.max) else {
            throw IdentityError(.tooManySystems, "The revocation list has the highest possible number.")
        }
        return try RevocationList(
            number: max(number + 1, clock),
            systems,
            of: self.accountID,
            root: self.roots.count,
            signing: self.rootKey
        )
    }

    /// Creates a discovery key for use with a revocation list that this authority has signed.
    package func discoveryKey(with list: RevocationList) throws(IdentityError) -> DiscoveryKey {
        try DiscoveryKey(at: list.position, of: self.accountID, signing: self.rootKey)
    }
}
