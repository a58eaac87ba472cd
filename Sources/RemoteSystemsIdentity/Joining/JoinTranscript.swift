// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto

/// A running hash over all messages of joining and the keys of both TLS certificates.
///
/// A proof over it is invalid in another exchange, over another connection, or after a changed byte.
struct JoinTranscript {
    private var hash = SHA256()

    init(
        account: AccountID,
        joinerKey: P256.Signing.PublicKey,
        inviterKey: P256.Signing.PublicKey,
        hello: JoinHello,
        challenge: JoinChallenge
    ) {
        self.add(Array("remote-systems/1 join".utf8))
        self.add(account.bytes)
        self.add(KeyFingerprint(of: joinerKey).bytes)
        self.add(KeyFingerprint(of: inviterKey).bytes)
        self.add(hello.nonce)
        self.add(hello.signingRequest)
        self.add(challenge.nonce)
        self.add(challenge.certificate)
        self.add(challenge.rootCertificate)
    }

    /// The joiner's proof that it knows the secret.
    func proof(_ secret: InvitationSecret, _ account: AccountID) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: self.digest, using: secret.key(for: .joiner, account: account)))
    }

    func isProof(_ code: [UInt8], _ secret: InvitationSecret, _ account: AccountID) -> Bool {
        Self.isCode(code, for: self.digest, using: secret.key(for: .joiner, account: account))
    }

    /// The inviter's proof that it knows the secret and sent the certificate and the discovery key.
    func acceptance(
        of proof: JoinProof,
        _ admission: AccountAdmission,
        _ secret: InvitationSecret,
        _ account: AccountID
    ) -> [UInt8] {
        let digest = self.digest(proof, admission)
        return Array(HMAC<SHA256>.authenticationCode(for: digest, using: secret.key(for: .inviter, account: account)))
    }

    func isAcceptance(
        _ accepted: JoinAccepted,
        of proof: JoinProof,
        _ secret: InvitationSecret,
        _ account: AccountID
    ) -> Bool {
        let digest = self.digest(proof, accepted.admission)
        return Self.isCode(accepted.code, for: digest, using: secret.key(for: .inviter, account: account))
    }

    private var digest: [UInt8] { Array(self.hash.finalize()) }

    private func digest(_ proof: JoinProof, _ admission: AccountAdmission) -> [UInt8] {
        var further = self
        further.add(proof.code)
        further.add(admission.certificate)
        further.add(admission.discoveryKey)
        return further.digest
    }

    /// Adds a field after its length, so that no two transcripts have the same hash input.
    private mutating func add(_ field: [UInt8]) {
        self.hash.update(data: (0..<8).map { UInt8(truncatingIfNeeded: UInt64(field.count) >> UInt64(56 - 8 * $0)) })
        self.hash.update(data: field)
    }

    /// Compares in constant time.
    private static func isCode(_ code: [UInt8], for digest: [UInt8], using key: SymmetricKey) -> Bool {
        unsafe code.withUnsafeBytes { bytes in
            unsafe HMAC<SHA256>.isValidAuthenticationCode(bytes, authenticating: digest, using: key)
        }
    }
}

/// The sizes that both sides require.
enum JoinLimit {
    static let nonce = 32

    static func randomNonce() -> [UInt8] {
        unsafe SymmetricKey(size: .bits256).withUnsafeBytes { unsafe Array($0) }
    }
}
