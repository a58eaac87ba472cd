// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
package import FoundationEssentials
import SwiftASN1
import X509

/// The one question asked of every peer after every handshake, resumed or not: is this a system of our account?
///
/// Pure, synchronous and short, so that it runs on the event loop that did the handshake.
///
/// It does not use swift-certificates' `Verifier`. That is asynchronous, which would mean a hop off the event loop for
/// each connection; it builds and searches chains, of which ours has exactly one link to exactly one pinned key; and
/// most of what we demand (the name's form, the ids that must match keys, P-256 alone) would be policies of ours
/// anyhow. What is left of it, parsing and checking the signature, is done by the library here too.
package struct TrustPolicy: Sendable {
    package let accountID: AccountID

    /// Systems of the account that are trusted no more.
    package var revoked: Set<SystemID>

    private let rootKey: P256.Signing.PublicKey

    /// A policy that trusts the systems which this root certificate's key signed.
    ///
    /// - Throws: ``TrustError/Code/malformed`` when it is not a P-256 certificate in DER.
    package init(rootCertificate der: [UInt8], revoked: Set<SystemID> = []) throws(TrustError) {
        guard let key = (try? Certificate(boundedDER: der))?.p256Key else {
            throw TrustError(.malformed, "The account's root certificate is not one. Trying again will not help.")
        }
        self.init(rootKey: key, revoked: revoked)
    }

    init(rootKey: P256.Signing.PublicKey, revoked: Set<SystemID> = []) {
        self.rootKey = rootKey
        self.accountID = AccountID(of: rootKey)
        self.revoked = revoked
    }

    /// Establishes who presented this certificate, having proved by TLS that it holds the certificate's key.
    ///
    /// - Parameters:
    ///   - der: The peer's own certificate, in DER; at most 4 KiB.
    ///   - accepted: The standings that will do. The certificate of an anonymous system must keep every rule but that of
    ///     the signature, which cannot be verified: the key of its account is not known.
    package func authorise(
        peerCertificate der: [UInt8],
        now: Date,
        accepting accepted: Set<Standing.Kind> = [.sameAccount]
    ) throws(TrustError) -> PeerIdentity {
        let (peer, certificate) = try self.identify(der, accepting: accepted)
        guard now >= certificate.notValidBefore else {
            throw TrustError(
                .notYetValid,
                """
                The certificate is not valid before \(certificate.notValidBefore.formatted(.iso8601)), and this \
                machine's clock says \(now.formatted(.iso8601)). Check the clock on both machines, then try again.
                """,
                toPeer: """
                    Your certificate is not valid before \(certificate.notValidBefore.formatted(.iso8601)), and the \
                    other side's clock says \(now.formatted(.iso8601)). Check the clock on both machines, then try \
                    again.
                    """
            )
        }
        guard now < certificate.notValidAfter else {
            throw TrustError(
                .expired,
                """
                The certificate expired on \(certificate.notValidAfter.formatted(.iso8601)), and this machine's clock \
                says \(now.formatted(.iso8601)). Check the clock; if it is right, the other system has to renew its \
                certificate with the machine that holds the account, or join again.
                """,
                toPeer: """
                    Your certificate expired on \(certificate.notValidAfter.formatted(.iso8601)), and the other side's \
                    clock says \(now.formatted(.iso8601)). Check the clock on both machines; if they are right, join \
                    the account again on your machine.
                    """
            )
        }
        if let objection = self.objection(to: peer) { throw objection }
        return peer
    }

    /// Why a peer that was authorised before, by this policy or an older one, is trusted no more; `nil` if it is.
    package func objection(to peer: PeerIdentity) -> TrustError? {
        switch peer.standing {
        case .sameAccount(self.accountID), .anonymous: break
        case .sameAccount, .linked: return .notOurAccount
        }
        guard self.revoked.contains(peer.systemID) else { return nil }
        return TrustError(
            .revoked,
            "This system was revoked from the account. Trying again will not help; invite it again if that was wrong.",
            toPeer: "Your system was revoked from the account. Trying again will not help; ask for an invitation if "
                + "that was wrong."
        )
    }

    /// Everything that does not change with time: whose certificate it is, and that it is sound.
    func identify(
        _ der: [UInt8],
        accepting accepted: Set<Standing.Kind> = [.sameAccount]
    ) throws(TrustError) -> (PeerIdentity, Certificate) {
        let certificate: Certificate
        do {
            certificate = try Certificate(boundedDER: der)
        } catch {
            throw .malformed("is not a certificate in DER of at most \(Certificate.largestDER) bytes")
        }
        guard certificate.version == .v3 else { throw .malformed("is not of version 3") }
        guard let key = certificate.p256Key else { throw .malformed("holds a key that is not of P-256") }
        let name = try Self.name(in: certificate)
        // A peer that names our account must be of it, even where anonymous ones are accepted.
        let isOurs = name.account == self.accountID
        guard accepted.contains(isOurs ? .sameAccount : .anonymous) else { throw .notOurAccount }
        guard certificate.signatureAlgorithm == .ecdsaWithSHA256, !isOurs || self.hasSigned(certificate) else {
            throw TrustError(
                .badSignature,
                """
                The certificate names this account, but the account's key did not sign it. Somebody pretends to \
                belong to the account, or the certificate was changed on its way. Trying again will not help.
                """
            )
        }
        try Self.checkUsage(of: certificate)
        guard name.system == SystemID(of: key) else {
            throw TrustError(
                .identityMismatch,
                "The certificate names another system than the one whose key is in it. Trying again will not help."
            )
        }
        let peer = PeerIdentity(
            isOurs ? .sameAccount(name.account) : .anonymous,
            systemID: name.system,
            expiry: certificate.notValidAfter
        )
        return (peer, certificate)
    }

    private func hasSigned(_ certificate: Certificate) -> Bool {
        Certificate.PublicKey(self.rootKey).isValidSignature(certificate.signature, for: certificate)
    }

    private static func name(in certificate: Certificate) throws(TrustError) -> SystemName {
        let names: SubjectAlternativeNames?
        do {
            names = try certificate.extensions.subjectAlternativeNames
        } catch {
            throw .malformed("has an unreadable list of names")
        }
        guard let names, let first = names.first else { throw .notOurAccount }
        guard case .uniformResourceIdentifier(let uri) = first, uri.hasPrefix(SystemName.scheme) else {
            throw .notOurAccount
        }
        guard names.count == 1, let name = SystemName(uri: uri) else {
            throw .malformed("does not have exactly one name, \(SystemName.scheme)<account>/<system>")
        }
        return name
    }

    private static let understood: Set<ASN1ObjectIdentifier> = [
        .X509ExtensionID.basicConstraints,
        .X509ExtensionID.keyUsage,
        .X509ExtensionID.extendedKeyUsage,
        .X509ExtensionID.subjectAlternativeName,
    ]

    private static func checkUsage(of certificate: Certificate) throws(TrustError) {
        let constraints: BasicConstraints?
        let keyUsage: KeyUsage?
        let extendedUsage: ExtendedKeyUsage?
        do {
            constraints = try certificate.extensions.basicConstraints
            keyUsage = try certificate.extensions.keyUsage
            extendedUsage = try certificate.extensions.extendedKeyUsage
        } catch {
            throw .malformed("has an unreadable extension")
        }
        guard constraints == .notCertificateAuthority else {
            throw .wrongUsage("is an authority's, or does not say that it is none")
        }
        guard let keyUsage, keyUsage.digitalSignature, !keyUsage.keyCertSign, !keyUsage.cRLSign else {
            throw .wrongUsage("is not for signing handshakes, or is for signing certificates")
        }
        guard let extendedUsage, extendedUsage.contains(.clientAuth), extendedUsage.contains(.serverAuth) else {
            throw .wrongUsage("is not for both ends of a TLS connection")
        }
        for `extension` in certificate.extensions where `extension`.critical {
            guard Self.understood.contains(`extension`.oid) else {
                throw .wrongUsage("has a critical extension that this software does not know")
            }
        }
    }
}

extension TrustError {
    fileprivate static func malformed(_ what: String) -> TrustError {
        TrustError(
            .malformed,
            "What the other system presented \(what). It is faulty or hostile; trying again will not help."
        )
    }

    fileprivate static func wrongUsage(_ what: String) -> TrustError {
        TrustError(.wrongUsage, "The certificate \(what). Trying again will not help.")
    }

    fileprivate static var notOurAccount: TrustError {
        TrustError(
            .notOurAccount,
            """
            The other system does not belong to this account. To bring it in, make an invitation here and use it \
            there (`remotesystems account invite`, `remotesystems account join`).
            """,
            toPeer: """
                Your system does not belong to the other side's account. To join it, ask there for an invitation and \
                use it on your machine (`remotesystems account invite`, `remotesystems account join`).
                """
        )
    }
}
