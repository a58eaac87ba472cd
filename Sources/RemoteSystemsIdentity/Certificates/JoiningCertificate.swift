// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Crypto
package import FoundationEssentials
import X509

/// The TLS certificate of a system that has no account certificate yet. It is self-signed with the system's new key and
/// only binds the connection to that key.
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

    /// The P-256 key of a TLS peer's certificate, whatever its signature; `nil` if `der` is not such a certificate.
    package static func key(in der: [UInt8]) -> P256.Signing.PublicKey? {
        (try? X509.Certificate(boundedDER: der))?.p256Key
    }
}
