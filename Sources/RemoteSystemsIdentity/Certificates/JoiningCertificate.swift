// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Crypto
package import FoundationEssentials
import X509

/// The certificate with which a system that has none yet speaks TLS: self-signed with its new key, good for nothing but
/// tying the connection to that key.
package enum JoiningCertificate {
    package static func make(with key: P256.Signing.PrivateKey, now: Date) throws(IdentityError) -> [UInt8] {
        try makingCertificate {
            let name = try DistinguishedName { CommonName("RemoteSystems joining") }
            let certificate = try Certificate(
                version: .v3,
                serialNumber: .init(),
                publicKey: .init(key.publicKey),
                notValidBefore: now.addingTimeInterval(-CertificateLife.backdating),
                notValidAfter: now.addingTimeInterval(CertificateLife.backdating),
                issuer: name,
                subject: name,
                signatureAlgorithm: .ecdsaWithSHA256,
                extensions: Certificate.Extensions {
                    Critical(BasicConstraints.notCertificateAuthority)
                    Critical(KeyUsage(digitalSignature: true))
                    try ExtendedKeyUsage([.clientAuth])
                },
                issuerPrivateKey: .init(key)
            )
            return try certificate.der()
        }
    }

    /// The P-256 key of a TLS peer's certificate, whoever signed it; nil when it is no such certificate.
    package static func key(in der: [UInt8]) -> P256.Signing.PublicKey? {
        (try? X509.Certificate(boundedDER: der))?.p256Key
    }
}
