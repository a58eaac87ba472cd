// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
package import FoundationEssentials

/// The key and the certificate of one side for one pairing connection. If this side joins, the key becomes its system
/// key.
///
/// The key is fresh, so a stranger that connects does not learn which system it has found.
package struct PairingKey: Sendable {
    private let key: P256.Signing.PrivateKey
    /// The self-signed certificate for TLS, in DER.
    package let certificate: [UInt8]

    package init(now: Date) throws(IdentityError) {
        try CertificateLife.checkClock(now)
        self.key = P256.Signing.PrivateKey()
        self.certificate = try JoiningCertificate.make(with: self.key, now: now)
    }

    /// The private key of ``certificate``, for the TLS library.
    package var privateKeyPEM: String { self.key.pemRepresentation }
    package var fingerprint: KeyFingerprint { KeyFingerprint(of: self.key.publicKey) }

    /// The key of the other side's TLS certificate; `nil` if the certificate is not usable.
    package static func fingerprint(ofPeer certificate: [UInt8]) -> KeyFingerprint? {
        JoiningCertificate.key(in: certificate).map { KeyFingerprint(of: $0) }
    }

    // MARK: Joining

    /// The message with which this side asks for a certificate.
    package func request() throws(IdentityError) -> PairingMessage { .request(try SigningRequest.make(with: self.key)) }

    /// Checks what the admitting side sent.
    ///
    /// - Parameter roots: The root keys of its welcome.
    package func join(
        _ roots: RootChain,
        _ admission: AccountAdmission,
        now: Date
    ) throws(IdentityError) -> JoinedAccount {
        do throws(TrustError) {
            return try JoinedAccount(admission, roots: roots, systemKey: self.key, now: now)
        } catch {
            throw .unusableCertificate(error)
        }
    }
}

extension PairingKey: CustomStringConvertible, CustomReflectable {
    package var description: String { "PairingKey(secret)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The admitting side after both persons have confirmed.
package struct PairingAdmission: Sendable {
    private let identity: SystemIdentity
    private let authority: AccountAuthority
    package let revocations: RevocationList?

    package init(identity: SystemIdentity, authority: AccountAuthority, revocations: RevocationList?) {
        self.identity = identity
        self.authority = authority
        self.revocations = revocations
    }

    /// The account that admits.
    package var accountID: AccountID { self.identity.accountID }

    package var welcome: PairingMessage { .welcome(roots: self.identity.rootCertificate) }

    /// Makes the certificate of the joining side.
    ///
    /// Record the system with ``AccountStore/recordJoined(_:in:invitedAt:)`` before the message is sent.
    ///
    /// - Parameters:
    ///   - request: The joining side's signing request.
    ///   - peer: The key of its TLS certificate.
    package func accept(
        _ request: [UInt8],
        from peer: KeyFingerprint,
        now: Date
    ) throws(IdentityError) -> (AccountAdmission, SystemID) {
        let key = try SigningRequest.key(in: request)
        let system = SystemID(of: key)
        guard KeyFingerprint(of: key) == peer, self.revocations?.contains(system) != true else {
            throw IdentityError(
                .rejectedCertificate,
                "A system asked for a certificate for another key than that of its connection. It got none."
            )
        }
        let admission = AccountAdmission(
            certificate: try self.authority.issueCertificate(for: key, now: now),
            by: self.identity,
            revocations: self.revocations
        )
        return (admission, system)
    }
}
