// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import SwiftASN1
import X509

/// A certificate signing request (PKCS #10, RFC 2986): a public key, signed with its private half to prove possession.
///
/// Only the key is used. The authority decides name, lifetime and usage, so those fields of a request are ignored.
enum SigningRequest {
    static let largestDER = 2048

    static func make(with key: P256.Signing.PrivateKey) throws(IdentityError) -> [UInt8] {
        try makingCertificate {
            let request = try CertificateSigningRequest(
                version: .v1,
                subject: DistinguishedName { CommonName("RemoteSystems system") },
                privateKey: .init(key),
                attributes: .init(),
                signatureAlgorithm: .ecdsaWithSHA256
            )
            var serializer = DER.Serializer()
            try serializer.serialize(request)
            return serializer.serializedBytes
        }
    }

    /// The key that the request proves possession of.
    static func key(in der: [UInt8]) throws(IdentityError) -> P256.Signing.PublicKey {
        let request: CertificateSigningRequest
        do {
            guard der.count <= Self.largestDER else {
                throw ASN1Error.invalidASN1Object(reason: "\(der.count) bytes, of at most \(Self.largestDER)")
            }
            request = try CertificateSigningRequest(derEncoded: der)
        } catch {
            throw IdentityError(
                .rejectedCertificate,
                "A system sent an invalid certificate request. It is faulty or hostile; it got no certificate.",
                cause: error
            )
        }
        guard request.signatureAlgorithm == .ecdsaWithSHA256,
            let key = P256.Signing.PublicKey(request.publicKey),
            request.publicKey.isValidSignature(request.signature, for: request)
        else {
            throw IdentityError(
                .rejectedCertificate,
                "A system asked for a certificate without proving that it holds the P-256 key in it. It got none."
            )
        }
        return key
    }
}
