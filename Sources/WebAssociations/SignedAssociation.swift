// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import SwiftASN1

/// An association file in a signature: PKCS#7, RFC 5652, in DER, with the content and one signer.
///
/// `openssl smime -sign -nodetach -outform DER` writes this form, with and without `-noattr`. What X509 offers for it
/// does not read the signatures of RSA keys that openssl makes.
package struct SignedAssociation: Sendable, Hashable {
    /// The maximum number of certificates.
    static let maxCertificates = 16
    /// The maximum length of a certificate, in bytes.
    static let maxCertificateBytes = 16 << 10

    /// The content. It is not verified yet.
    package let content: [UInt8]
    let signer: Signer
    /// The signer's certificate and those of its authorities, as DER. Unordered.
    let certificates: [[UInt8]]

    /// What the signer states.
    struct Signer: Sendable, Hashable {
        var certificate: CertificateName
        var digestAlgorithm: ASN1ObjectIdentifier
        var signatureAlgorithm: ASN1ObjectIdentifier
        /// The signed attributes, encoded as the signature covers them; `nil` if it covers the content.
        var attributes: [UInt8]?
        var signature: [UInt8]
    }

    /// Names the signer's certificate.
    enum CertificateName: Sendable, Hashable {
        /// The issuer, as DER, and the serial number.
        case issuer([UInt8], serialNumber: [UInt8])
        case keyIdentifier([UInt8])
    }

    private static let malformed = AssociationFailure(
        .malformed,
        "The file is not a PKCS#7 signature in DER with its content."
    )

    /// Reads a signature.
    package init(der: [UInt8]) throws(AssociationFailure) {
        guard der.count <= AssociationFile.maxBytes else {
            throw AssociationFailure(
                .tooLarge,
                "The file has more than \(AssociationFile.maxBytes) bytes, the maximum."
            )
        }
        do {
            self = try DER.sequence(try DER.parse(der), identifier: .sequence) { nodes in
                guard try ASN1ObjectIdentifier(derEncoded: &nodes) == .signedData else { throw Self.malformed }
                return try DER.explicitlyTagged(&nodes, tagNumber: 0, tagClass: .contextSpecific) { try Self($0) }
            }
        } catch let error as AssociationFailure {
            throw error
        } catch {
            throw Self.malformed
        }
    }

    /// Reads the SignedData.
    private init(_ node: ASN1Node) throws {
        self = try DER.sequence(node, identifier: .sequence) { nodes in
            // Its value follows from what is in the structure.
            _ = try Int(derEncoded: &nodes)
            // Each signer names its own.
            guard nodes.next()?.identifier == .set, let content = nodes.next() else { throw Self.malformed }
            let certificates =
                try DER.optionalImplicitlyTagged(&nodes, tagNumber: 0, tagClass: .contextSpecific) {
                    try Self.children(of: $0).map { Array($0.encodedBytes) }
                } ?? []
            guard certificates.count <= Self.maxCertificates,
                certificates.allSatisfy({ $0.count <= Self.maxCertificateBytes })
            else {
                throw AssociationFailure(
                    .tooLarge,
                    "The signature has more than \(Self.maxCertificates) certificates, or one of more than "
                        + "\(Self.maxCertificateBytes) bytes."
                )
            }
            // Revocation lists are not used.
            _ = DER.optionalImplicitlyTagged(&nodes, tagNumber: 1, tagClass: .contextSpecific) { _ in }
            guard let signers = nodes.next(), signers.identifier == .set else { throw Self.malformed }
            let all = try Self.children(of: signers)
            guard all.count == 1, let signer = all.first else {
                throw AssociationFailure(.badSignature, "The file has \(all.count) signers, and must have one.")
            }
            return Self(content: try Self.content(content), signer: try Signer(signer), certificates: certificates)
        }
    }

    init(content: [UInt8], signer: Signer, certificates: [[UInt8]]) {
        self.content = content
        self.signer = signer
        self.certificates = certificates
    }

    private static func content(_ node: ASN1Node) throws -> [UInt8] {
        try DER.sequence(node, identifier: .sequence) { nodes in
            guard try ASN1ObjectIdentifier(derEncoded: &nodes) == .data else { throw Self.malformed }
            return try DER.explicitlyTagged(&nodes, tagNumber: 0, tagClass: .contextSpecific) {
                Array(try ASN1OctetString(derEncoded: $0).bytes)
            }
        }
    }

    fileprivate static func children(of node: ASN1Node) throws -> [ASN1Node] {
        guard case .constructed(let children) = node.content else { throw Self.malformed }
        return Array(IteratorSequence(children.makeIterator()))
    }
}

extension SignedAssociation.Signer {
    /// Reads a SignerInfo.
    fileprivate init(_ node: ASN1Node) throws {
        self = try DER.sequence(node, identifier: .sequence) { nodes in
            _ = try Int(derEncoded: &nodes)
            guard let name = nodes.next() else { throw AssociationFailure(.malformed, "The signer has no name.") }
            let certificate = try SignedAssociation.CertificateName(name)
            let digestAlgorithm = try Self.algorithm(&nodes)
            let attributes = DER.optionalImplicitlyTagged(&nodes, tagNumber: 0, tagClass: .contextSpecific) {
                // The signature covers the attributes as a SET, and not with the tag that they have here.
                [0x31] + Array($0.encodedBytes.dropFirst())
            }
            let signatureAlgorithm = try Self.algorithm(&nodes)
            let signature = Array(try ASN1OctetString(derEncoded: &nodes).bytes)
            _ = DER.optionalImplicitlyTagged(&nodes, tagNumber: 1, tagClass: .contextSpecific) { _ in }
            return Self(
                certificate: certificate,
                digestAlgorithm: digestAlgorithm,
                signatureAlgorithm: signatureAlgorithm,
                attributes: attributes,
                signature: signature
            )
        }
    }

    private static func algorithm(_ nodes: inout ASN1NodeCollection.Iterator) throws -> ASN1ObjectIdentifier {
        guard let node = nodes.next() else { throw AssociationFailure(.malformed, "The signer names no algorithm.") }
        return try DER.sequence(node, identifier: .sequence) { nodes in
            let algorithm = try ASN1ObjectIdentifier(derEncoded: &nodes)
            // The algorithms that are accepted have no parameters, or NULL.
            while nodes.next() != nil {}
            return algorithm
        }
    }

    /// The value of a signed attribute.
    func attribute(_ type: ASN1ObjectIdentifier) throws -> ASN1Node? {
        guard let attributes = self.attributes else { return nil }
        let found = try SignedAssociation.children(of: try DER.parse(attributes)).compactMap { node in
            try DER.sequence(node, identifier: .sequence) { nodes -> [ASN1Node]? in
                let isWanted = try ASN1ObjectIdentifier(derEncoded: &nodes) == type
                guard let values = nodes.next() else { return nil }
                return isWanted ? try SignedAssociation.children(of: values) : nil
            }
        }
        guard found.count <= 1, (found.first?.count ?? 1) == 1 else {
            throw AssociationFailure(.malformed, "A signed attribute is there twice.")
        }
        return found.first?.first
    }
}

extension SignedAssociation.CertificateName {
    fileprivate init(_ node: ASN1Node) throws {
        guard node.identifier == .sequence else {
            guard node.identifier == ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific),
                case .primitive(let bytes) = node.content
            else { throw AssociationFailure(.malformed, "The signer has no name.") }
            self = .keyIdentifier(Array(bytes))
            return
        }
        self = try DER.sequence(node, identifier: .sequence) { nodes in
            guard let issuer = nodes.next() else { throw AssociationFailure(.malformed, "The signer has no issuer.") }
            return .issuer(
                Array(issuer.encodedBytes),
                serialNumber: Array(try ArraySlice<UInt8>(derEncoded: &nodes))
            )
        }
    }
}

extension ASN1ObjectIdentifier {
    static let data: Self = [1, 2, 840, 113_549, 1, 7, 1]
    static let signedData: Self = [1, 2, 840, 113_549, 1, 7, 2]
    static let contentType: Self = [1, 2, 840, 113_549, 1, 9, 3]
    static let messageDigest: Self = [1, 2, 840, 113_549, 1, 9, 4]
    static let sha256: Self = [2, 16, 840, 1, 101, 3, 4, 2, 1]
    static let sha384: Self = [2, 16, 840, 1, 101, 3, 4, 2, 2]
    static let sha512: Self = [2, 16, 840, 1, 101, 3, 4, 2, 3]
    static let ecdsaWithSHA256: Self = [1, 2, 840, 10_045, 4, 3, 2]
    static let ecdsaWithSHA384: Self = [1, 2, 840, 10_045, 4, 3, 3]
    static let ecdsaWithSHA512: Self = [1, 2, 840, 10_045, 4, 3, 4]
    static let serverAuthentication: Self = [1, 3, 6, 1, 5, 5, 7, 3, 1]
}
