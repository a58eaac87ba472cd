// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Crypto
package import FoundationEssentials

/// The joining side of one connection to the system that made an invitation.
///
/// The driver connects over TLS 1.3 with ``certificate`` and ``privateKeyPEM`` and accepts any certificate from the
/// other side. This type checks that certificate against the challenge before it sends a proof.
package struct JoinJoiner: Sendable {
    private enum State {
        case ready
        case waitingForChallenge(JoinHello)
        case waitingForAcceptance(JoinTranscript, JoinProof, rootCertificate: [UInt8])
        case finished
    }

    private let invitation: Invitation
    private let name: String?
    private let systemKey: P256.Signing.PrivateKey
    private var state = State.ready

    /// The certificate to present in the TLS handshake, in DER.
    package let certificate: [UInt8]

    /// The private key of ``certificate``, for the TLS library.
    package var privateKeyPEM: String { self.systemKey.pemRepresentation }

    /// Creates the joining side.
    ///
    /// - Parameters:
    ///   - name: The name under which the account's systems list this one, until they have met it.
    ///   - systemKey: The system's key. Defaults to a new one, which gives the system a new id.
    /// - Throws: ``IdentityError/Code/invitationExpired``; ``IdentityError/Code/wrongClock``.
    package init(
        invitation: Invitation,
        name: String? = nil,
        now: Date,
        systemKey: P256.Signing.PrivateKey = .init()
    ) throws(IdentityError) {
        try invitation.checkTime(now)
        try CertificateLife.checkClock(now)
        self.invitation = invitation
        self.name = name
        self.systemKey = systemKey
        self.certificate = try JoiningCertificate.make(with: systemKey, now: now)
    }

    /// Creates the joining side of a system that joins its account again with its key, if it has one.
    package init(
        invitation: Invitation,
        again member: SystemIdentity?,
        name: String? = nil,
        now: Date
    ) throws(IdentityError) {
        if let member {
            try self.init(invitation: invitation, name: name, now: now, systemKey: member.systemKey)
        } else {
            try self.init(invitation: invitation, name: name, now: now)
        }
    }

    /// Returns the first message. Call it once.
    package mutating func start(nonce: [UInt8]? = nil) throws(IdentityError) -> JoinHello {
        guard case .ready = self.state else { throw self.fail(.outOfTurn) }
        let hello = JoinHello(
            nonce: nonce ?? JoinLimit.randomNonce(),
            signingRequest: try SigningRequest.make(with: self.systemKey)
        )
        self.state = .waitingForChallenge(hello)
        return hello
    }

    /// Checks that the other side belongs to the inviting account and is the TLS peer of this connection.
    ///
    /// - Parameter peerCertificate: The certificate that the inviter presented in the TLS handshake, in DER.
    /// - Throws: ``IdentityError/Code/wrongAccount``, ``IdentityError/Code/wrongClock`` or
    ///   ``IdentityError/Code/joinFailed``. Close the connection then.
    package mutating func receive(
        _ challenge: JoinChallenge,
        peerCertificate: [UInt8],
        now: Date
    ) throws(IdentityError) -> JoinProof {
        guard case .waitingForChallenge(let hello) = self.state else { throw self.fail(.outOfTurn) }
        guard challenge.nonce.count == JoinLimit.nonce else { throw self.fail(.malformedMessage) }
        guard let roots = try? RootChain(challenge.rootCertificate), roots.accountID == self.invitation.accountID
        else { throw self.fail(.wrongAccount(nil)) }
        do throws(TrustError) {
            _ = try TrustStore(TrustedAccount(roots: roots)).authenticate(
                peerCertificate: challenge.certificate,
                now: now
            )
        } catch {
            throw self.fail(.wrongAccount(error))
        }
        guard peerCertificate == challenge.certificate,
            let inviterKey = JoiningCertificate.key(in: challenge.certificate)
        else { throw self.fail(.wrongAccount(nil)) }
        let transcript = JoinTranscript(
            account: self.invitation.accountID,
            joinerKey: self.systemKey.publicKey,
            inviterKey: inviterKey,
            hello: hello,
            challenge: challenge
        )
        let proof = JoinProof(
            code: transcript.proof(self.invitation.secret, self.invitation.accountID),
            name: self.name
        )
        self.state = .waitingForAcceptance(transcript, proof, rootCertificate: challenge.rootCertificate)
        return proof
    }

    /// Checks the inviter's acceptance.
    ///
    /// - Returns: The identity and the revocation list for ``AccountStore/adopt(_:revocations:evenIfShared:now:)``.
    package mutating func receive(_ accepted: JoinAccepted, now: Date) throws(IdentityError) -> JoinedAccount {
        guard case .waitingForAcceptance(let transcript, let proof, let rootCertificate) = self.state else {
            throw self.fail(.outOfTurn)
        }
        guard transcript.isAcceptance(accepted, of: proof, self.invitation.secret, self.invitation.accountID) else {
            throw self.fail(.inviterKnowsNoSecret)
        }
        guard accepted.admission.discoveryKey.count == DiscoveryKey.byteCount else {
            throw self.fail(.malformedMessage)
        }
        self.state = .finished
        do throws(TrustError) {
            return try JoinedAccount(
                accepted.admission,
                roots: RootChain(rootCertificate),
                systemKey: self.systemKey,
                now: now
            )
        } catch {
            throw .unusableCertificate(error)
        }
    }

    /// Returns the error to report for the inviter's refusal.
    package mutating func receive(_ refusal: JoinRefusal) -> IdentityError {
        self.fail(.refused(refusal))
    }

    private mutating func fail(_ error: IdentityError) -> IdentityError {
        self.state = .finished
        return error
    }
}

extension JoinJoiner: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension IdentityError {
    private static let askAgain = "Make a new invitation on the inviting machine and try again."

    fileprivate static let outOfTurn = IdentityError(
        .joinFailed,
        "The other side violated the joining protocol: a message came out of turn. Nothing was changed. \(askAgain)"
    )

    fileprivate static let malformedMessage = IdentityError(
        .joinFailed,
        "The other side violated the joining protocol: a message has a wrong size. Nothing was changed. \(askAgain)"
    )

    fileprivate static let inviterKnowsNoSecret = IdentityError(
        .wrongSecret,
        "The other side does not know the invitation's secret, so its response was not used. \(askAgain)"
    )

    fileprivate static func wrongAccount(_ cause: TrustError?) -> IdentityError {
        if let cause, cause.code == .expired || cause.code == .notYetValid {
            return IdentityError(.wrongClock, cause.message, cause: cause)
        }
        let detail = cause.map { " (\($0.code))" } ?? ""
        return IdentityError(
            .wrongAccount,
            """
            The system at the invitation's address is not the one that made the invitation\(detail). No secret was \
            sent to it. Another program may use that address now, or impersonate the inviter. \(askAgain)
            """,
            cause: cause
        )
    }

    static func unusableCertificate(_ cause: TrustError) -> IdentityError {
        IdentityError(
            .rejectedCertificate,
            """
            The certificate that the inviter made cannot be used (\(cause.code)), so nothing was changed here. \
            Check the clock on both machines. \(askAgain)
            """,
            cause: cause
        )
    }

    fileprivate static func refused(_ refusal: JoinRefusal) -> IdentityError {
        switch refusal {
        case .expired:
            IdentityError(
                .invitationExpired,
                "The invitation's ten minutes are over by the inviting machine's clock. \(askAgain)"
            )
        case .alreadyUsed:
            IdentityError(
                .invitationUsed,
                """
                The invitation was used before, or withdrawn because a system was revoked. If you did not use it, \
                check the account's systems on the inviting machine. \(askAgain)
                """
            )
        case .wrongSecret:
            IdentityError(
                .wrongSecret,
                """
                The secret in the invitation is not the one that the inviting machine made. Nothing was changed. Copy \
                the whole line again: the invitation stays valid.
                """
            )
        case .revoked:
            IdentityError(
                .systemRevoked,
                """
                This system was revoked from the account, and its key cannot be used again. Leave the account \
                ('remotesystems account leave') and join once more: this machine then gets a new key and a new id.
                """
            )
        case .malformed:
            IdentityError(
                .joinFailed,
                "The inviting machine could not use this one's message. Use the same version of the software on both."
            )
        case .failed:
            IdentityError(
                .joinFailed,
                "The inviting machine could not make a certificate; its log has the reason. Correct it and try again."
            )
        }
    }
}
