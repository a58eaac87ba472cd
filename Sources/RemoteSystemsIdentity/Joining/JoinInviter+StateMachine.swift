// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
package import FoundationEssentials

/// The inviting side of one connection over which a system may join.
///
/// The driver passes in the received messages and performs the returned actions. The connection's TLS 1.3 handshake
/// must be complete and must accept any certificate from the joiner.
package struct JoinInviter: Sendable {
    private enum State {
        case waitingForHello
        case waitingForProof(JoinTranscript, joinerKey: P256.Signing.PublicKey)
        case finished
    }

    private let identity: SystemIdentity
    private let authority: AccountAuthority
    private let revocations: RevocationList?
    private var state = State.waitingForHello

    /// The action after a hello.
    package enum HelloAction: Hashable, Sendable {
        case send(JoinChallenge)
        case refuse(JoinRefusal)
    }

    /// The action after a proof.
    package enum ProofAction: Hashable, Sendable {
        /// Record the new system with ``AccountStore/recordJoined(_:in:invitedAt:)``, then send, then close.
        case accept(JoinAccepted, SystemID)
        /// Send the refusal and close.
        case refuse(JoinRefusal)
    }

    /// Creates the inviting side.
    ///
    /// - Parameters:
    ///   - identity: This system's identity. Its certificate must be the one that the TLS connection uses.
    ///   - authority: The root key of the same account.
    ///   - revocations: The account's revocation list. A system on it is refused, and the joiner receives it.
    package init(identity: SystemIdentity, authority: AccountAuthority, revocations: RevocationList? = nil) {
        self.identity = identity
        self.authority = authority
        self.revocations = revocations
    }

    /// Checks the joiner's hello.
    ///
    /// - Parameters:
    ///   - peerCertificate: The certificate that the joiner presented in the TLS handshake, in DER.
    ///   - nonce: 32 random bytes. Only tests pass one.
    package mutating func receive(
        _ hello: JoinHello,
        peerCertificate: [UInt8],
        invitation: OpenInvitation,
        now: Date,
        nonce: [UInt8]? = nil
    ) -> HelloAction {
        guard case .waitingForHello = self.state else { return .refuse(self.finish(.malformed)) }
        if let refusal = invitation.refusal(at: now) { return .refuse(self.finish(refusal)) }
        guard invitation.invitation.accountID == self.identity.accountID,
            self.authority.accountID == self.identity.accountID
        else { return .refuse(self.finish(.failed)) }
        guard hello.nonce.count == JoinLimit.nonce,
            let tlsKey = JoiningCertificate.key(in: peerCertificate),
            let key = try? SigningRequest.key(in: hello.signingRequest),
            SystemID(of: key) == SystemID(of: tlsKey)
        else { return .refuse(self.finish(.malformed)) }
        // The certificate would be useless: revocations are permanent. The machine can join with a new key.
        if self.revocations?.contains(SystemID(of: key)) == true { return .refuse(self.finish(.revoked)) }
        let challenge = JoinChallenge(
            nonce: nonce ?? JoinLimit.randomNonce(),
            certificate: self.identity.certificate,
            rootCertificate: self.identity.rootCertificate
        )
        let transcript = JoinTranscript(
            account: self.identity.accountID,
            joinerKey: key,
            inviterKey: self.identity.systemKey.publicKey,
            hello: hello,
            challenge: challenge
        )
        self.state = .waitingForProof(transcript, joinerKey: key)
        return .send(challenge)
    }

    /// Checks the joiner's proof and issues its certificate. A wrong proof ends this connection, and the invitation
    /// stays valid.
    ///
    /// - Throws: The reason why no certificate could be issued. Send ``JoinRefusal/failed``, report the error on this
    ///   machine, and end the invitation.
    package mutating func receive(
        _ proof: JoinProof,
        invitation: inout OpenInvitation,
        now: Date
    ) throws(IdentityError) -> ProofAction {
        guard case .waitingForProof(let transcript, let key) = self.state else {
            return .refuse(self.finish(.malformed))
        }
        // Checked again: another connection may have used the invitation, or it may have expired.
        if let refusal = invitation.refusal(at: now) { return .refuse(self.finish(refusal)) }
        let secret = invitation.invitation.secret
        let account = self.identity.accountID
        guard transcript.isProof(proof.code, secret, account) else { return .refuse(self.finish(.wrongSecret)) }
        self.state = .finished
        let certificate = try self.authority.issueCertificate(for: key, now: now)
        invitation.use()
        let admission = AccountAdmission(certificate: certificate, by: self.identity, revocations: self.revocations)
        let code = transcript.acceptance(of: proof, admission, secret, account)
        return .accept(JoinAccepted(code: code, admission), SystemID(of: key))
    }

    private mutating func finish(_ refusal: JoinRefusal) -> JoinRefusal {
        self.state = .finished
        return refusal
    }
}

extension JoinInviter: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: []) }
}
