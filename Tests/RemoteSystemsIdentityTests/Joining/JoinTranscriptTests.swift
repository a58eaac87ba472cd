// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Testing

@testable import RemoteSystemsIdentity

/// The codes against values that Python's hashlib and hmac computed from the written rules alone, so that clients in
/// other languages can be checked, too. The private keys are the numbers 1 (account), 2 (joiner) and 3 (inviter).
@Suite struct JoinTranscriptTests {
    private func key(_ number: UInt8) throws -> P256.Signing.PublicKey {
        try P256.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 0, count: 31) + [number]).publicKey
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    @Test func `both codes follow the written rules`() throws {
        let account = try AccountID(of: self.key(1))
        #expect(account.description == "ltjff6ym5cjsinx27dgncbajqg4j5zfnnop6tyvcw7trvlfsptjq")
        let secret = try #require(InvitationSecret(text: "aaaqeayeaudaocajbifqydiob4"))
        let transcript = try JoinTranscript(
            account: account,
            joinerKey: self.key(2),
            inviterKey: self.key(3),
            hello: JoinHello(nonce: [UInt8](repeating: 0xAA, count: 32), signingRequest: Array("request".utf8)),
            challenge: JoinChallenge(
                nonce: [UInt8](repeating: 0xBB, count: 32),
                certificate: Array("leaf".utf8),
                rootCertificate: Array("root".utf8)
            )
        )
        let proof = JoinProof(code: transcript.proof(secret, account))
        #expect(self.hex(proof.code) == "56bc2ca51e98a0be54d9ddb5312c24389501eae8694f55dd6ccf812f203fbe39")
        let acceptance = transcript.acceptance(
            of: proof,
            AccountAdmission(
                certificate: Array("new leaf".utf8),
                discoveryKey: [UInt8](repeating: 0xCC, count: 32)
            ),
            secret,
            account
        )
        #expect(self.hex(acceptance) == "037e7cbd1e8bcd5876afb8ef661e8615fec300eb3475a9d0465fd8d3f496155e")
    }
}
