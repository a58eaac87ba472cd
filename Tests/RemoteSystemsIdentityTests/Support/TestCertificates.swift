// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import SwiftASN1
import X509

@testable import RemoteSystemsIdentity

/// Noon of a fixed day, so that no test depends on the machine's clock.
let noon = Date(timeIntervalSince1970: 1_790_000_000)
let hour: TimeInterval = 3600
let day: TimeInterval = 24 * hour

extension SystemID {
    /// The id of a system that nothing else knows.
    static func any() -> SystemID { SystemID(of: P256.Signing.PrivateKey().publicKey) }
}

extension SystemIdentity {
    /// A system of the account without the account's key.
    static func member(
        of authority: AccountAuthority,
        _ discoveryKey: DiscoveryKey = DiscoveryKey(),
        now: Date = noon
    ) throws -> Self {
        let key = P256.Signing.PrivateKey()
        return try SystemIdentity(
            roots: authority.roots,
            certificate: authority.issueCertificate(for: key.publicKey, now: now),
            systemKey: key,
            discoveryKey: discoveryKey,
            isAuthority: false
        )
    }
}

/// A system's certificate that a test changes in one property.
struct CertificateForgery {
    var signer: P256.Signing.PrivateKey
    var issuer: DistinguishedName
    var key: Certificate.PublicKey
    var names: [GeneralName]?
    var notBefore = noon.addingTimeInterval(-day)
    var notAfter = noon.addingTimeInterval(90 * day)
    var constraints: BasicConstraints? = .notCertificateAuthority
    var keyUsage: KeyUsage? = KeyUsage(digitalSignature: true)
    var extendedUsages: [ExtendedKeyUsage.Usage]? = [.clientAuth, .serverAuth]
    var more: [Certificate.Extension] = []
    var version = Certificate.Version.v3
    var algorithm = Certificate.SignatureAlgorithm.ecdsaWithSHA256

    /// The certificate that the authority itself would have issued for `key`.
    init(by authority: AccountAuthority, for key: P256.Signing.PublicKey) throws {
        self.signer = authority.rootKey
        self.issuer = try Certificate(derEncoded: authority.rootCertificate).subject
        self.key = .init(key)
        self.names = [
            .uniformResourceIdentifier(SystemName(account: authority.accountID, system: SystemID(of: key)).uri)
        ]
    }

    func der() throws -> [UInt8] {
        var extensions = Certificate.Extensions()
        if let constraints { try extensions.append(.init(constraints, critical: true)) }
        if let keyUsage { try extensions.append(.init(keyUsage, critical: true)) }
        if let extendedUsages { try extensions.append(.init(ExtendedKeyUsage(extendedUsages), critical: false)) }
        if let names { try extensions.append(.init(SubjectAlternativeNames(names), critical: false)) }
        for one in self.more { try extensions.append(one) }
        return try Certificate(
            version: self.version,
            serialNumber: .init(),
            publicKey: self.key,
            notValidBefore: self.notBefore,
            notValidAfter: self.notAfter,
            issuer: self.issuer,
            subject: DistinguishedName { CommonName("RemoteSystems system") },
            signatureAlgorithm: self.algorithm,
            extensions: extensions,
            issuerPrivateKey: .init(self.signer)
        ).der()
    }
}
