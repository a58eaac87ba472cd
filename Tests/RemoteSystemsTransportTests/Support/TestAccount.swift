// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import NIOSSL
import SwiftASN1
import X509

@testable import RemoteSystemsIdentity
@testable import RemoteSystemsTransport

/// A temporary account in memory, and its systems.
struct TestAccount {
    let authority: AccountAuthority

    init() throws {
        self.authority = try AccountAuthority(creatingAt: Date())
    }

    /// The same account after its root key was replaced.
    init(after account: TestAccount, retiring retirement: Date) throws {
        self.authority = try account.authority.successor(retiring: retirement, now: Date())
    }

    /// A new system of the account.
    func system() throws -> SystemIdentity {
        let key = P256.Signing.PrivateKey()
        return try SystemIdentity(
            rootCertificate: self.authority.rootCertificate,
            certificate: self.authority.issueCertificate(for: key.publicKey, now: Date()),
            systemKey: key,
            discoveryKey: DiscoveryKey(),
            isAuthority: false
        )
    }

    /// A list that revokes a system.
    func revoking(_ system: SystemIdentity) throws -> RevocationList {
        try self.authority.revocationList(of: [system.systemID], after: nil, now: Date())
    }

    /// A system of the account whose certificate is valid from `start` to `end`, in seconds from now.
    func system(validFrom start: TimeInterval, to end: TimeInterval) throws -> SystemIdentity {
        let key = P256.Signing.PrivateKey()
        let name = SystemName(account: self.authority.accountID, system: SystemID(of: key.publicKey))
        let certificate = try Certificate(
            version: .v3,
            serialNumber: .init(),
            publicKey: .init(key.publicKey),
            notValidBefore: Date().addingTimeInterval(start),
            notValidAfter: Date().addingTimeInterval(end),
            issuer: Certificate(derEncoded: self.authority.rootCertificate).subject,
            subject: DistinguishedName { CommonName("RemoteSystems system") },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.clientAuth, .serverAuth])
                SubjectAlternativeNames([.uniformResourceIdentifier(name.uri)])
            },
            issuerPrivateKey: .init(self.authority.rootKey)
        )
        return try SystemIdentity(
            rootCertificate: self.authority.rootCertificate,
            certificate: certificate.der(),
            systemKey: key,
            discoveryKey: DiscoveryKey(),
            isAuthority: false
        )
    }
}

extension TLSConfiguration {
    /// TLS as the protocol document requires it, with this system's certificate.
    static func raw(as identity: SystemIdentity) throws -> TLSConfiguration {
        try .raw(certificate: identity.certificate, key: identity.systemKey)
    }

    static func raw(certificate: [UInt8]?, key: P256.Signing.PrivateKey?) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv13
        configuration.applicationProtocols = ["remote-systems/1"]
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .certificates([])
        if let certificate, let key {
            configuration.certificateChain = [.certificate(try NIOSSLCertificate(bytes: certificate, format: .der))]
            configuration.privateKey = .privateKey(
                try NIOSSLPrivateKey(bytes: Array(key.pemRepresentation.utf8), format: .pem)
            )
        }
        return configuration
    }
}
