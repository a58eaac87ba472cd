// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import SwiftASN1
internal import X509

extension SignedAssociation {
    /// Verifies the signature, the signer's certificate and that it speaks for a host.
    ///
    /// - Parameters:
    ///   - host: the host of the site, which the certificate must name.
    ///   - authorities: the authorities that are trusted besides those of the system, as DER.
    /// - Returns: the signer's name.
    package func verify(host: String, authorities: [[UInt8]] = []) async throws(AssociationFailure) -> String {
        let certificates: [Certificate]
        var roots = CertificateStore.systemTrustRoots
        do {
            certificates = try self.certificates.map { try Certificate(derEncoded: $0) }
            roots.append(contentsOf: try authorities.map { try Certificate(derEncoded: $0) })
        } catch {
            throw AssociationFailure(.badSignature, "A certificate of the signature cannot be read.")
        }
        guard let signer = try self.signer(in: certificates) else {
            throw AssociationFailure(.badSignature, "The certificate of the signer is not in the signature.")
        }
        try self.checkSignature(by: signer.publicKey)
        var verifier = Verifier(rootCertificates: roots) {
            RFC5280Policy()
            ServerIdentityPolicy(serverHostname: host, serverIP: nil)
            ServerCertificatePolicy()
        }
        let result = await verifier.validate(leaf: signer, intermediates: CertificateStore(certificates))
        switch result {
        case .validCertificate: return "\(signer.subject)"
        case .couldNotValidate(let failures):
            let reasons = Set(failures.map { "\($0.policyFailureReason)" }).sorted()
            throw AssociationFailure(
                .badSignature,
                reasons.isEmpty
                    ? "The signer's certificate is of no trusted authority."
                    : "The signer's certificate does not speak for \(host): \(reasons.joined(separator: "; "))."
            )
        }
    }

    private func signer(in certificates: [Certificate]) throws(AssociationFailure) -> Certificate? {
        do {
            return try certificates.first { certificate in
                switch self.signer.certificate {
                case .issuer(let issuer, let serialNumber):
                    var serializer = DER.Serializer()
                    try serializer.serialize(certificate.issuer)
                    return serializer.serializedBytes == issuer
                        && certificate.serialNumber.bytes.elementsEqual(serialNumber)
                case .keyIdentifier(let identifier):
                    return try certificate.extensions.subjectKeyIdentifier?.keyIdentifier.elementsEqual(identifier)
                        ?? false
                }
            }
        } catch {
            throw AssociationFailure(.badSignature, "A certificate of the signature cannot be read.")
        }
    }

    private func checkSignature(by key: Certificate.PublicKey) throws(AssociationFailure) {
        guard let algorithm = self.signer.algorithm else {
            throw AssociationFailure(
                .badSignature,
                "The signature uses another algorithm than RSA or ECDSA with SHA-256, SHA-384 or SHA-512."
            )
        }
        guard try self.signer.covers(self.content) else {
            throw AssociationFailure(.badSignature, "The content was changed after it was signed.")
        }
        let signed = self.signer.attributes ?? self.content
        guard key.isValidSignature(self.signer.signature, for: signed, signatureAlgorithm: algorithm) else {
            throw AssociationFailure(.badSignature, "The signature does not match: the file was changed.")
        }
    }
}

extension SignedAssociation.Signer {
    /// The accepted algorithms of a signature with their digests. openssl names only the kind of an RSA key.
    private static let accepted: [(signature: ASN1ObjectIdentifier, digest: ASN1ObjectIdentifier, Algorithm)] = [
        (.AlgorithmIdentifier.rsaEncryption, .sha256, .sha256WithRSAEncryption),
        (.AlgorithmIdentifier.rsaEncryption, .sha384, .sha384WithRSAEncryption),
        (.AlgorithmIdentifier.rsaEncryption, .sha512, .sha512WithRSAEncryption),
        (.AlgorithmIdentifier.sha256WithRSAEncryption, .sha256, .sha256WithRSAEncryption),
        (.AlgorithmIdentifier.sha384WithRSAEncryption, .sha384, .sha384WithRSAEncryption),
        (.AlgorithmIdentifier.sha512WithRSAEncryption, .sha512, .sha512WithRSAEncryption),
        (.ecdsaWithSHA256, .sha256, .ecdsaWithSHA256),
        (.ecdsaWithSHA384, .sha384, .ecdsaWithSHA384),
        (.ecdsaWithSHA512, .sha512, .ecdsaWithSHA512),
    ]
    private typealias Algorithm = Certificate.SignatureAlgorithm

    /// The algorithm of the signature; `nil` if it is not accepted, or does not go with the digest.
    fileprivate var algorithm: Certificate.SignatureAlgorithm? {
        Self.accepted.first { $0.signature == self.signatureAlgorithm && $0.digest == self.digestAlgorithm }?.2
    }

    /// Whether the signed attributes, if there are any, are about the content.
    func covers(_ content: [UInt8]) throws(AssociationFailure) -> Bool {
        guard self.attributes != nil else { return true }
        do {
            let type = try self.attribute(.contentType).map { try ASN1ObjectIdentifier(derEncoded: $0) }
            let digest = try self.attribute(.messageDigest).map { try ASN1OctetString(derEncoded: $0).bytes }
            return type == .data && digest?.elementsEqual(self.digest(of: content)) ?? false
        } catch let error as AssociationFailure {
            throw error
        } catch {
            throw AssociationFailure(.malformed, "The signed attributes cannot be read.")
        }
    }

    private func digest(of content: [UInt8]) -> [UInt8] {
        switch self.digestAlgorithm {
        case .sha384: Array(SHA384.hash(data: content))
        case .sha512: Array(SHA512.hash(data: content))
        default: Array(SHA256.hash(data: content))
        }
    }
}

/// Accepts only certificates that servers may use: other certificates of a public authority, such as for mail, do not
/// prove who controls a host.
private struct ServerCertificatePolicy: VerifierPolicy {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] = [.X509ExtensionID.extendedKeyUsage]

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult {
        guard let usage = try? chain.leaf.extensions.extendedKeyUsage else {
            // Without the extension, every use is permitted. One that cannot be read permits none.
            return chain.leaf.extensions[oid: .X509ExtensionID.extendedKeyUsage] == nil
                ? .meetsPolicy : .failsToMeetPolicy(reason: "its use cannot be read")
        }
        return usage.contains(.serverAuth) || usage.contains(.any)
            ? .meetsPolicy : .failsToMeetPolicy(reason: "it is not a certificate of a server")
    }
}
