// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import SwiftASN1
internal import X509

extension SignedAssociation {
    /// Signs a file, with SHA-256.
    ///
    /// - Parameters:
    ///   - content: the file.
    ///   - key: the private key in PEM: RSA, P-256, P-384 or P-521.
    ///   - certificates: the certificates in PEM: that of the key first, then those of its authorities.
    /// - Returns: the signature with the content, as DER, and the hosts that the certificate names.
    /// - Throws: ``AssociationFailure`` if the file is not of the specified form, or the key or a certificate cannot be
    ///   used.
    package static func sign(
        _ content: [UInt8],
        key: String,
        certificates: String
    ) throws(AssociationFailure) -> (der: [UInt8], hosts: [String]) {
        _ = try AssociationFile(json: content)
        let chain: [Certificate]
        do {
            chain = try PEMDocument.parseMultiple(pemString: certificates).map { try Certificate(pemDocument: $0) }
        } catch {
            throw AssociationFailure(.malformed, "The certificates cannot be read. They are PEM, the signer's first.")
        }
        guard let signer = chain.first else {
            throw AssociationFailure(.malformed, "There is no certificate. The signer's comes first.")
        }
        let privateKey: Certificate.PrivateKey
        do {
            privateKey = try Certificate.PrivateKey(pemEncoded: key)
        } catch {
            throw AssociationFailure(
                .malformed,
                "The private key cannot be read. It is PEM without a passphrase: RSA, P-256, P-384 or P-521."
            )
        }
        guard privateKey.publicKey == signer.publicKey else {
            throw AssociationFailure(.badSignature, "The private key is not that of the first certificate.")
        }
        do {
            let der = try Self.sign(content, privateKey, signer, chain)
            // What is written must be readable here, within the limits.
            _ = try Self(der: der)
            let names = try signer.extensions.subjectAlternativeNames ?? SubjectAlternativeNames([])
            let hosts = names.compactMap { name -> String? in
                if case .dnsName(let host) = name { host } else { nil }
            }
            return (der, hosts)
        } catch let error as AssociationFailure {
            throw error
        } catch {
            throw AssociationFailure(.badSignature, "The file cannot be signed with this key: \(error).")
        }
    }

    private static func sign(
        _ content: [UInt8],
        _ key: Certificate.PrivateKey,
        _ signer: Certificate,
        _ chain: [Certificate]
    ) throws -> [UInt8] {
        let isRSA = key.supportedSignatureAlgorithms.contains(.sha256WithRSAEncryption)
        guard isRSA || key.supportedSignatureAlgorithms.contains(.ecdsaWithSHA256) else {
            throw AssociationFailure(.badSignature, "Only RSA and ECDSA keys can sign an association file.")
        }
        let signature = try key.sign(
            bytes: content,
            signatureAlgorithm: isRSA ? .sha256WithRSAEncryption : .ecdsaWithSHA256
        )
        var serializer = DER.Serializer()
        try serializer.sequence { info in
            try info.serialize(.signedData)
            try info.explicit(0) { tagged in
                try tagged.sequence { data in
                    try data.serialize(1)
                    try data.appendConstructedNode(identifier: .set) { try $0.algorithm(.sha256) }
                    try data.sequence { enclosed in
                        try enclosed.serialize(.data)
                        try enclosed.explicit(0) { try $0.serialize(ASN1OctetString(contentBytes: content[...])) }
                    }
                    try data.serializeSetOf(
                        chain,
                        identifier: ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)
                    )
                    try data.appendConstructedNode(identifier: .set) { signers in
                        try signers.sequence { info in
                            try info.serialize(1)
                            try info.sequence { name in
                                try name.serialize(signer.issuer)
                                try name.serialize(signer.serialNumber.bytes)
                            }
                            try info.algorithm(.sha256)
                            if isRSA {
                                try info.algorithm(.AlgorithmIdentifier.rsaEncryption, hasNull: true)
                            } else {
                                try info.algorithm(.ecdsaWithSHA256)
                            }
                            try info.serialize(ASN1OctetString(contentBytes: signature.rawRepresentation[...]))
                        }
                    }
                }
            }
        }
        return serializer.serializedBytes
    }
}

extension DER.Serializer {
    fileprivate mutating func sequence(_ body: (inout DER.Serializer) throws -> Void) throws {
        try self.appendConstructedNode(identifier: .sequence, body)
    }

    fileprivate mutating func explicit(_ tag: UInt, _ body: (inout DER.Serializer) throws -> Void) throws {
        try self.appendConstructedNode(
            identifier: ASN1Identifier(tagWithNumber: tag, tagClass: .contextSpecific),
            body
        )
    }

    fileprivate mutating func serialize(_ identifier: ASN1ObjectIdentifier) throws {
        try identifier.serialize(into: &self)
    }

    /// - Parameter hasNull: whether the parameters are NULL instead of missing (RFC 3370, section 3.2).
    fileprivate mutating func algorithm(_ identifier: ASN1ObjectIdentifier, hasNull: Bool = false) throws {
        try self.sequence { algorithm in
            try algorithm.serialize(identifier)
            if hasNull { try algorithm.serialize(ASN1Null()) }
        }
    }
}
