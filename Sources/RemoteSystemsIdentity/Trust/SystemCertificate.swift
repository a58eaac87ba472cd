// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import SwiftASN1
import X509

/// A system's certificate with its signature not verified yet. Checks the rules of `Docs/wire-protocol.md`, section 2,
/// that do not depend on the account that signed it.
///
/// swift-certificates' `Verifier` is not used. It is asynchronous, which would cost a hop off the event loop for each
/// connection. Most of the rules (the form of the name, ids that match keys, P-256 only) would be custom policies
/// anyway.
struct SystemCertificate {
    let certificate: Certificate
    let key: P256.Signing.PublicKey
    let name: SystemName

    /// Reads a certificate.
    ///
    /// - Throws: ``TrustError/Code/malformed``, or ``TrustError/Code/notOurAccount`` if it has no name of the right
    ///   scheme.
    init(_ der: [UInt8]) throws(TrustError) {
        do {
            self.certificate = try Certificate(boundedDER: der)
        } catch {
            throw .malformed("is not a certificate in DER of at most \(Certificate.largestDER) bytes")
        }
        guard self.certificate.version == .v3 else { throw .malformed("is not of version 3") }
        guard let key = self.certificate.p256Key else { throw .malformed("holds a key that is not of P-256") }
        self.key = key
        self.name = try Self.name(in: self.certificate)
    }

    func isSigned(by key: P256.Signing.PublicKey) -> Bool {
        Certificate.PublicKey(key).isValidSignature(self.certificate.signature, for: self.certificate)
    }

    /// The time in which the certificate is valid: from `from`, inclusive, to `to`, exclusive.
    var validity: (from: Date, to: Date) { (self.certificate.notValidBefore, self.certificate.notValidAfter) }

    var hasKnownSignatureAlgorithm: Bool { self.certificate.signatureAlgorithm == .ecdsaWithSHA256 }

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

    /// The extensions that may be critical.
    static let understood: Set<ASN1ObjectIdentifier> = [
        .X509ExtensionID.basicConstraints,
        .X509ExtensionID.keyUsage,
        .X509ExtensionID.extendedKeyUsage,
        .X509ExtensionID.subjectAlternativeName,
    ]

    /// Checks the permitted usage, and that the certificate names the system whose key is in it.
    ///
    /// - Throws: ``TrustError/Code/malformed``, ``TrustError/Code/wrongUsage`` or ``TrustError/Code/identityMismatch``.
    func checkUsage() throws(TrustError) {
        let constraints: BasicConstraints?
        let keyUsage: KeyUsage?
        let extendedUsage: ExtendedKeyUsage?
        do {
            constraints = try self.certificate.extensions.basicConstraints
            keyUsage = try self.certificate.extensions.keyUsage
            extendedUsage = try self.certificate.extensions.extendedKeyUsage
        } catch {
            throw .malformed("has an unreadable extension")
        }
        guard constraints == .notCertificateAuthority else {
            throw .wrongUsage("is a certificate authority's, or does not state that it is not")
        }
        guard let keyUsage, keyUsage.digitalSignature, !keyUsage.keyCertSign, !keyUsage.cRLSign else {
            throw .wrongUsage("is not for signing handshakes, or is for signing certificates")
        }
        guard let extendedUsage, extendedUsage.contains(.clientAuth), extendedUsage.contains(.serverAuth) else {
            throw .wrongUsage("is not for both ends of a TLS connection")
        }
        for `extension` in self.certificate.extensions where `extension`.critical {
            guard Self.understood.contains(`extension`.oid) else {
                throw .wrongUsage("has a critical extension that this software does not know")
            }
        }
        guard self.name.system == SystemID(of: self.key) else {
            throw TrustError(
                .identityMismatch,
                "The certificate names another system than the one whose key is in it. Trying again will not help."
            )
        }
    }

    /// Checks the validity period.
    ///
    /// - Throws: ``TrustError/Code/notYetValid`` or ``TrustError/Code/expired``.
    func checkValidity(at now: Date) throws(TrustError) {
        let (begin, end) = self.validity
        guard now >= begin else {
            throw TrustError(
                .notYetValid,
                """
                The other system's certificate is not valid before \(begin.formatted(.iso8601)), and this \
                machine's clock says \(now.formatted(.iso8601)). Check the clock on both machines, then try again.
                """,
                toPeer: """
                    Your certificate is not valid before \(begin.formatted(.iso8601)), and the \
                    other side's clock says \(now.formatted(.iso8601)). Check the clock on both machines, then try \
                    again.
                    """
            )
        }
        guard now < end else {
            throw TrustError(
                .expired,
                """
                The other system's certificate expired on \(end.formatted(.iso8601)), and this machine's clock \
                says \(now.formatted(.iso8601)). Check the clock; if it is right, the other system has to renew its \
                certificate with the machine that holds the account's root key, or join again.
                """,
                toPeer: """
                    Your certificate expired on \(end.formatted(.iso8601)), and the other side's \
                    clock says \(now.formatted(.iso8601)). Check the clock on both machines; if they are right, join \
                    the account again on your machine.
                    """
            )
        }
    }
}

extension TrustError {
    fileprivate static func malformed(_ what: String) -> TrustError {
        TrustError(
            .malformed,
            "The certificate that the other system presented \(what). The system is faulty or hostile; trying again "
                + "will not help."
        )
    }

    fileprivate static func wrongUsage(_ what: String) -> TrustError {
        TrustError(.wrongUsage, "The certificate \(what). Trying again will not help.")
    }

    static var notOurAccount: TrustError {
        TrustError(
            .notOurAccount,
            """
            The other system does not belong to this account. To add it, make an invitation here and use it \
            there ('remotesystems account invite', 'remotesystems account join').
            """,
            toPeer: """
                Your system does not belong to the other side's account. To join it, ask there for an invitation and \
                use it on your machine ('remotesystems account invite', 'remotesystems account join').
                """
        )
    }
}
