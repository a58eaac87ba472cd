// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import X509

/// The certificate with which an account's root key names its successor: a self-issued certificate authority, "new with
/// old" (RFC 4210, section 4.4).
///
/// It is an X.509 certificate, so that TLS carries it after a system's certificate and any library can verify it.
struct RootSuccession {
    /// The maximum size that is parsed, in bytes. Successions made by this package have about 430 bytes.
    static let largestDER = 512

    let accountID: AccountID
    /// The new root's number in the account's chain, from 2.
    let number: Int
    /// The new root's key.
    let key: P256.Signing.PublicKey
    /// The time from which the signatures of the signing root are invalid, except the signature of this certificate.
    let retirement: Date
    /// Whether the signing root was retired when the certificate was made, because its key was stolen.
    let retiresAtOnce: Bool
    private let certificate: Certificate

    /// Reads a succession without verifying its signature.
    ///
    /// - Throws: ``TrustError/Code/malformed``.
    init(_ der: [UInt8]) throws(TrustError) {
        guard der.count <= Self.largestDER, let certificate = try? Certificate(boundedDER: der),
            certificate.version == .v3, let key = certificate.p256Key
        else { throw .malformedRoots("are not certificates of P-256 keys of at most \(Self.largestDER) bytes") }
        guard let account = Self.account(in: certificate), let number = Self.number(in: certificate) else {
            throw .malformedRoots("do not have one name, the account's, and a number")
        }
        guard Self.isAuthority(certificate) else { throw .malformedRoots("are not for signing certificates") }
        self.accountID = account
        self.number = number
        self.key = key
        self.retirement = certificate.notValidAfter
        self.retiresAtOnce = certificate.notValidAfter.timeIntervalSince(certificate.notValidBefore) < 3600
        self.certificate = certificate
    }

    func isSigned(by key: P256.Signing.PublicKey) -> Bool {
        self.certificate.signatureAlgorithm == .ecdsaWithSHA256
            && Certificate.PublicKey(key).isValidSignature(self.certificate.signature, for: self.certificate)
    }

    /// Creates the certificate for the successor of the newest root, in DER. `predecessor` is the newest root's key.
    static func make(
        number: Int,
        of key: P256.Signing.PublicKey,
        in account: AccountID,
        named name: DistinguishedName,
        signing predecessor: P256.Signing.PrivateKey,
        retiring retirement: Date,
        now: Date
    ) throws -> [UInt8] {
        try Certificate(
            version: .v3,
            serialNumber: .init(number),
            publicKey: .init(key),
            notValidBefore: now,
            notValidAfter: retirement,
            issuer: name,
            subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                SubjectAlternativeNames([.uniformResourceIdentifier(Self.uri(account))])
            },
            issuerPrivateKey: .init(predecessor)
        ).der()
    }

    private static func uri(_ account: AccountID) -> String { "\(SystemName.scheme)\(account)" }

    private static func account(in certificate: Certificate) -> AccountID? {
        guard let names = try? certificate.extensions.subjectAlternativeNames, names.count == 1,
            case .uniformResourceIdentifier(let uri)? = names.first, uri.hasPrefix(SystemName.scheme)
        else { return nil }
        return AccountID(String(uri.dropFirst(SystemName.scheme.count)))
    }

    private static func number(in certificate: Certificate) -> Int? {
        let bytes = certificate.serialNumber.bytes
        guard bytes.count == 1, let byte = bytes.first, (2...RootChain.maxRoots).contains(Int(byte)) else { return nil }
        return Int(byte)
    }

    private static func isAuthority(_ certificate: Certificate) -> Bool {
        guard let constraints = try? certificate.extensions.basicConstraints,
            case .isCertificateAuthority = constraints,
            let usage = try? certificate.extensions.keyUsage, usage.keyCertSign
        else { return false }
        return certificate.extensions.allSatisfy { !$0.critical || SystemCertificate.understood.contains($0.oid) }
    }
}
