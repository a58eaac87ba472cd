// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Crypto
public import FoundationEssentials
import X509

/// The identity of this system: its account, its own id and the certificate that binds them.
///
/// Get it from ``AccountStore/identity()``. It holds the system's private key, which its descriptions and its mirror
/// omit.
public struct SystemIdentity: Sendable {
    /// The account that this system belongs to.
    public let accountID: AccountID

    /// This system's own id. It does not change when the certificate is renewed.
    public let systemID: SystemID

    /// Whether the account's root key is on this machine. Only such a machine can invite systems and renew
    /// certificates.
    public let isAuthority: Bool

    /// The time in which the system's certificate is valid. At other times, peers refuse connections with this system.
    public let certificateValidity: Range<Date>

    /// The system's certificate, in DER.
    package let certificate: [UInt8]
    /// The account's root keys that this system knows.
    package let roots: RootChain
    /// The number of the root key that signed ``certificate``, from 1.
    package let root: Int
    package private(set) var discoveryKey: DiscoveryKey
    /// The discovery keys that the account had before, the newest first.
    package internal(set) var formerDiscoveryKeys: [DiscoveryKey] = []
    package let systemKey: P256.Signing.PrivateKey

    /// Creates an identity and checks that its parts match. The certificate's validity period is not checked.
    ///
    /// - Parameter rootCertificate: The certificates of the account's roots, as ``RootChain/bytes``.
    package init(
        rootCertificate: [UInt8],
        certificate: [UInt8],
        systemKey: P256.Signing.PrivateKey,
        discoveryKey: DiscoveryKey,
        isAuthority: Bool
    ) throws(TrustError) {
        try self.init(
            roots: RootChain(rootCertificate),
            certificate: certificate,
            systemKey: systemKey,
            discoveryKey: discoveryKey,
            isAuthority: isAuthority
        )
    }

    init(
        roots: RootChain,
        certificate: [UInt8],
        systemKey: P256.Signing.PrivateKey,
        discoveryKey: DiscoveryKey,
        isAuthority: Bool
    ) throws(TrustError) {
        let system = try SystemCertificate(certificate)
        guard system.name.account == roots.accountID else { throw .notOurAccount }
        guard system.hasKnownSignatureAlgorithm, let root = roots.signer(system.isSigned) else { throw .badSignature }
        try system.checkUsage()
        guard system.name.system == SystemID(of: systemKey.publicKey) else {
            throw TrustError(.identityMismatch, "The certificate is not for this system's key.")
        }
        // `Range` traps if its end precedes its beginning, which a hand-made certificate can cause.
        let (begin, end) = system.validity
        guard begin < end else {
            throw TrustError(.malformed, "The certificate ends before it begins.")
        }
        self.accountID = roots.accountID
        self.systemID = system.name.system
        self.isAuthority = isAuthority
        self.certificateValidity = begin..<end
        self.certificate = certificate
        self.roots = roots
        self.root = root
        self.discoveryKey = discoveryKey
        self.systemKey = systemKey
    }

    /// The certificates of the account's roots, as ``RootChain/bytes``.
    package var rootCertificate: [UInt8] { self.roots.bytes }

    /// The time from which the certificate should be renewed: 30 days before it expires.
    ///
    /// The machine with the account's root key renews its own certificate. Any other system sends a request to that
    /// machine.
    public var renewalDate: Date {
        self.certificateValidity.upperBound.addingTimeInterval(-CertificateLife.renewalWindow)
    }

    /// Whether the certificate should be renewed. This also applies if the clock was set back to before its validity
    /// period, and if the root key that signed it was replaced.
    package func isRenewalDue(at now: Date) -> Bool {
        now >= self.renewalDate || now < self.certificateValidity.lowerBound || self.root < self.roots.count
    }

    /// The time at which the root key that signed the certificate was retired; `nil` if it is not retired. The
    /// certificate is invalid from then on. The machine with the account's root key gets a new one by itself.
    package func rootRetirement(at now: Date) -> Date? {
        self.roots.isRetired(self.root, at: now) ? self.roots.retirement(of: self.root) : nil
    }

    /// The system's private key as PEM (PKCS #8), for the TLS library only.
    package var privateKeyPEM: String { self.systemKey.pemRepresentation }

    /// This system's own account, as this identity knows it.
    package func trustedAccount(revocations: RevocationList? = nil) -> TrustedAccount {
        TrustedAccount(roots: self.roots, revocations: revocations, discoveryKey: self.discoveryKey)
    }

    /// A trust store that holds only this system's own account.
    package func trustStore(revocations: RevocationList? = nil) -> TrustStore {
        TrustStore(self.trustedAccount(revocations: revocations))
    }

    /// The same identity with another discovery key of its account.
    package func using(_ discoveryKey: DiscoveryKey) -> SystemIdentity {
        guard discoveryKey != self.discoveryKey else { return self }
        var identity = self
        identity.formerDiscoveryKeys.insert(self.discoveryKey, at: 0)
        identity.discoveryKey = discoveryKey
        return identity
    }

    /// The same identity with these former discovery keys.
    func after(_ keys: [DiscoveryKey]) -> SystemIdentity {
        var identity = self
        identity.formerDiscoveryKeys = keys
        return identity
    }

    /// Makes a request for ``AccountAuthority/renew(_:for:now:)`` on the machine with the account's root key.
    package func makeRenewalRequest() throws(IdentityError) -> [UInt8] {
        try SigningRequest.make(with: self.systemKey)
    }
}

extension SystemIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The short ids of the account and the system, and whether the account's root key is on this machine.
    public var description: String {
        "system \(self.systemID.short) of account \(self.accountID.short)\(self.isAuthority ? " (authority)" : "")"
    }

    /// The same text as ``description``.
    public var debugDescription: String { self.description }

    /// The values that are not secret, so that `dump` shows no key.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "accountID": self.accountID.description, "systemID": self.systemID.description,
                "isAuthority": self.isAuthority,
            ]
        )
    }
}
