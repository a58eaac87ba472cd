// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import SwiftASN1
import X509

/// One certificate for each side, signed by the same root. P-256 keys, in PEM.
struct Credentials: Codable, Sendable {
    struct Identity: Codable, Sendable {
        var certificate: String
        var privateKey: String
    }

    var root: String
    var server: Identity
    var caller: Identity

    /// Creates a new root and two certificates that are valid for one day.
    init() throws {
        let rootKey = P256.Signing.PrivateKey()
        let rootName = try DistinguishedName { CommonName("Benchmark root") }
        root = try Self.certificate(
            for: rootKey.publicKey,
            named: rootName,
            signedBy: rootKey,
            named: rootName,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true))
            }
        )
        func identity(_ name: String) throws -> Identity {
            let key = P256.Signing.PrivateKey()
            let certificate = try Self.certificate(
                for: key.publicKey,
                named: DistinguishedName { CommonName(name) },
                signedBy: rootKey,
                named: rootName,
                extensions: Certificate.Extensions {
                    Critical(BasicConstraints.notCertificateAuthority)
                    KeyUsage(digitalSignature: true)
                    try ExtendedKeyUsage([.serverAuth, .clientAuth])
                    SubjectAlternativeNames([.dnsName("localhost")])
                }
            )
            return Identity(certificate: certificate, privateKey: key.pemRepresentation)
        }
        server = try identity("Benchmark server")
        caller = try identity("Benchmark caller")
    }

    private static func certificate(
        for key: P256.Signing.PublicKey,
        named subject: DistinguishedName,
        signedBy issuerKey: P256.Signing.PrivateKey,
        named issuer: DistinguishedName,
        extensions: Certificate.Extensions
    ) throws -> String {
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key),
            notValidBefore: Date.now - 3600,
            notValidAfter: Date.now + 86_400,
            issuer: issuer,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(issuerKey)
        )
        return try certificate.serializeAsPEM().pemString
    }
}
