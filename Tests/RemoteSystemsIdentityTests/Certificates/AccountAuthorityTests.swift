// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Testing
import X509

@testable import RemoteSystemsIdentity

@Suite struct AccountAuthorityTests {
    @Test func `the root certificate is an authority of one level and nothing else`() throws {
        let authority = try AccountAuthority(creatingAt: noon)
        let root = try Certificate(boundedDER: authority.rootCertificate)
        #expect(root.publicKey.isValidSignature(root.signature, for: root))
        #expect(try root.extensions.basicConstraints == .isCertificateAuthority(maxPathLength: 0))
        #expect(try root.extensions.keyUsage == KeyUsage(keyCertSign: true, cRLSign: true))
        #expect(root.extensions[oid: .X509ExtensionID.basicConstraints]?.critical == true)
        #expect(root.notValidAfter > noon.addingTimeInterval(29 * 365 * day))
        #expect(root.p256Key.map(AccountID.init(of:)) == authority.accountID)
    }

    @Test func `a system's certificate has the form that the trust rules require`() throws {
        let authority = try AccountAuthority(creatingAt: noon)
        let key = P256.Signing.PrivateKey().publicKey
        let certificate = try Certificate(boundedDER: authority.issueCertificate(for: key, now: noon))
        let name = "remote-systems://\(authority.accountID)/\(SystemID(of: key))"
        #expect(
            try certificate.extensions.subjectAlternativeNames.map(Array.init) == [.uniformResourceIdentifier(name)]
        )
        #expect(try certificate.extensions.basicConstraints == .notCertificateAuthority)
        #expect(try certificate.extensions.keyUsage == KeyUsage(digitalSignature: true))
        #expect(try certificate.extensions.extendedKeyUsage.map(Array.init) == [.clientAuth, .serverAuth])
        #expect(certificate.notValidBefore == noon.addingTimeInterval(-day))
        #expect(certificate.notValidAfter == noon.addingTimeInterval(90 * day))
    }

    @Test func `two certificates for one key have different serial numbers`() throws {
        let authority = try AccountAuthority(creatingAt: noon)
        let key = P256.Signing.PrivateKey().publicKey
        let first = try Certificate(boundedDER: authority.issueCertificate(for: key, now: noon))
        let second = try Certificate(boundedDER: authority.issueCertificate(for: key, now: noon))
        #expect(first.serialNumber != second.serialNumber)
    }

    // Privacy (seed X-02): a certificate identifies neither the user nor the machine.
    @Test func `a certificate contains no host name or user name`() throws {
        let authority = try AccountAuthority(creatingAt: noon)
        let der = try authority.issueCertificate(for: P256.Signing.PrivateKey().publicKey, now: noon)
        let certificate = try Certificate(boundedDER: der)
        #expect(certificate.subject.description == "CN=RemoteSystems system")
        #expect(certificate.issuer.description == "CN=RemoteSystems account")
    }

    @Test(arguments: [0.0, 1_700_000_000, 7_300_000_000])
    func `an implausible clock makes no certificates`(seconds: Double) {
        let error = #expect(throws: IdentityError.self) {
            try AccountAuthority(creatingAt: Date(timeIntervalSince1970: seconds))
        }
        #expect(error?.code == .wrongClock)
    }

    @Test func `a certificate never outlives its account`() throws {
        let authority = try AccountAuthority(creatingAt: noon)
        let end = try Certificate(boundedDER: authority.rootCertificate).notValidAfter
        let key = P256.Signing.PrivateKey().publicKey
        let late = try Certificate(boundedDER: authority.issueCertificate(for: key, now: end.addingTimeInterval(-day)))
        #expect(late.notValidAfter == end)
        let error = #expect(throws: IdentityError.self) { try authority.issueCertificate(for: key, now: end) }
        #expect(error?.code == .rejectedCertificate)
    }

    @Test func `a root key and another root's certificate make no authority`() throws {
        let one = try AccountAuthority(creatingAt: noon)
        let other = try AccountAuthority(creatingAt: noon)
        #expect(AccountAuthority(rootCertificate: one.rootCertificate, key: one.rootKey)?.accountID == one.accountID)
        #expect(AccountAuthority(rootCertificate: one.rootCertificate, key: other.rootKey) == nil)
    }
}

@Suite struct SigningRequestTests {
    @Test func `a request proves possession of its key`() throws {
        let key = P256.Signing.PrivateKey()
        #expect(try SystemID(of: SigningRequest.key(in: SigningRequest.make(with: key))) == SystemID(of: key.publicKey))
    }

    @Test func `an altered request is refused`() throws {
        let request = try SigningRequest.make(with: P256.Signing.PrivateKey())
        for index in request.indices {
            var changed = request
            changed[index] ^= 0x41
            let error = #expect(throws: IdentityError.self, "byte \(index)") { try SigningRequest.key(in: changed) }
            #expect(error?.code == .rejectedCertificate)
        }
    }

    @Test(arguments: [[], [0x30], [UInt8](repeating: 0x30, count: 100_000)])
    func `data that is not a request is refused`(bytes: [UInt8]) {
        let error = #expect(throws: IdentityError.self) { try SigningRequest.key(in: bytes) }
        #expect(error?.code == .rejectedCertificate)
    }
}
