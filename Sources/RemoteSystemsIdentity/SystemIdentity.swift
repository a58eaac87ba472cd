// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Crypto
public import FoundationEssentials
import X509

/// Who this machine is, to itself and to others: its account, its own id and the certificate that ties them together.
///
/// Get it from ``AccountStore/identity()``. It holds the system's private key; nothing printed of it shows one.
public struct SystemIdentity: Sendable {
    /// The account that this system belongs to.
    public let accountID: AccountID

    /// This system's own id, which stays when the certificate is renewed.
    public let systemID: SystemID

    /// Whether the account's root key is on this machine, so that it can invite others and renew certificates.
    public let isAuthority: Bool

    /// When the system's certificate is valid; outside it nobody accepts a connection with this system.
    public let certificateValidity: Range<Date>

    /// The system's certificate, in DER.
    package let certificate: [UInt8]
    /// The account's root certificate, in DER.
    package let rootCertificate: [UInt8]
    package let discoveryKey: DiscoveryKey
    package let systemKey: P256.Signing.PrivateKey
    private let rootKey: P256.Signing.PublicKey

    /// An identity of parts that are checked to fit each other; only the certificate's time is not looked at.
    package init(
        rootCertificate: [UInt8],
        certificate: [UInt8],
        systemKey: P256.Signing.PrivateKey,
        discoveryKey: DiscoveryKey,
        isAuthority: Bool
    ) throws(TrustError) {
        guard let rootKey = (try? Certificate(boundedDER: rootCertificate))?.p256Key else {
            throw TrustError(.malformed, "The account's root certificate is not one.")
        }
        let policy = TrustPolicy(rootKey: rootKey)
        let (peer, parsed) = try policy.identify(certificate)
        guard peer.systemID == SystemID(of: systemKey.publicKey) else {
            throw TrustError(.identityMismatch, "The certificate is not for this system's key.")
        }
        // A range must not end before it begins, whatever a hand-made certificate says.
        guard parsed.notValidBefore < parsed.notValidAfter else {
            throw TrustError(.malformed, "The certificate ends before it begins.")
        }
        self.accountID = policy.accountID
        self.systemID = peer.systemID
        self.isAuthority = isAuthority
        self.certificateValidity = parsed.notValidBefore..<parsed.notValidAfter
        self.certificate = certificate
        self.rootCertificate = rootCertificate
        self.discoveryKey = discoveryKey
        self.systemKey = systemKey
        self.rootKey = rootKey
    }

    /// When the certificate should be renewed: 30 days before it ends. The machine with the account's key does so by
    /// itself; any other asks that machine.
    public var renewalDate: Date {
        self.certificateValidity.upperBound.addingTimeInterval(-CertificateLife.renewalWindow)
    }

    /// Whether the certificate should be renewed, which is also so when the clock was set back to before its time.
    package func isRenewalDue(at now: Date) -> Bool {
        now >= self.renewalDate || now < self.certificateValidity.lowerBound
    }

    /// The system's private key as PEM (PKCS #8), for the TLS library alone.
    package var privateKeyPEM: String { self.systemKey.pemRepresentation }

    /// What decides whether a peer belongs to the same account.
    package func trustPolicy(revoked: Set<SystemID> = []) -> TrustPolicy {
        TrustPolicy(rootKey: self.rootKey, revoked: revoked)
    }

    /// Reads a list of the systems that were revoked from this account, from wherever it came.
    package func revocations(in bytes: [UInt8]) throws(TrustError) -> RevocationList {
        try RevocationList(bytes, of: self.accountID, signedBy: self.rootKey)
    }

    /// A request for a new certificate, for ``AccountAuthority/renew(_:for:now:)`` on the machine with the account's key.
    package func makeRenewalRequest() throws(IdentityError) -> [UInt8] {
        try SigningRequest.make(with: self.systemKey)
    }
}

extension SystemIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The two ids in short, and whether this is the machine with the account's key.
    public var description: String {
        "system \(self.systemID.short) of account \(self.accountID.short)\(self.isAuthority ? " (authority)" : "")"
    }

    /// The same as ``description``.
    public var debugDescription: String { self.description }

    /// Only what is not secret, so that `dump` shows no key.
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
