// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

/// Both state machines against each other, message by message. The test plays the transport's part.
@Suite struct JoiningTests {
    let authority: AccountAuthority
    let identity: SystemIdentity
    let invitation: Invitation

    init() throws {
        self.authority = try AccountAuthority(creatingAt: noon)
        self.identity = try SystemIdentity.founding(self.authority, now: noon)
        self.invitation = try Invitation(
            accountID: self.authority.accountID,
            addresses: [.init(host: "192.0.2.7", port: 4711)],
            now: noon
        )
    }

    /// One connection: the two state machines, and the other side's TLS certificate as each sees it.
    private struct Connection {
        var joiner: JoinJoiner
        var inviter: JoinInviter
        var inviterCertificate: [UInt8]

        init(_ test: JoiningTests, invitation: Invitation? = nil) throws {
            self.joiner = try JoinJoiner(invitation: invitation ?? test.invitation, now: noon)
            self.inviter = JoinInviter(identity: test.identity, authority: test.authority)
            self.inviterCertificate = test.identity.certificate
        }

        mutating func challenge(_ open: OpenInvitation, now: Date = noon) throws -> JoinChallenge {
            let hello = try self.joiner.start()
            let action = self.inviter.receive(
                hello,
                peerCertificate: self.joiner.certificate,
                invitation: open,
                now: now
            )
            guard case .send(let challenge) = action else { throw Refused(action: "\(action)") }
            return challenge
        }

        mutating func proof(_ open: OpenInvitation) throws -> JoinProof {
            try self.joiner.receive(self.challenge(open), peerCertificate: self.inviterCertificate, now: noon)
        }
    }

    private struct Refused: Error { var action: String }

    /// The same invitation with another secret, like that of an attacker that saw everything else.
    private func withAnotherSecret() throws -> Invitation {
        try Invitation(accountID: self.authority.accountID, addresses: self.invitation.addresses, now: noon)
    }

    // MARK: Success

    @Test func `a system with the invitation becomes a member of the account`() throws {
        var open = OpenInvitation(self.invitation)
        var connection = try Connection(self)
        let proof = try connection.proof(open)
        guard
            case .accept(let accepted, let system) = try connection.inviter.receive(proof, invitation: &open, now: noon)
        else { throw Refused(action: "proof") }
        let joined = try connection.joiner.receive(accepted, now: noon).identity

        #expect(joined.accountID == self.identity.accountID)
        #expect(joined.systemID == system)
        #expect(joined.systemID != self.identity.systemID)
        #expect(joined.discoveryKey == self.identity.discoveryKey)
        #expect(!joined.isAuthority)
        #expect(joined.privateKeyPEM == connection.joiner.privateKeyPEM)
        // Each system now trusts the other.
        _ = try joined.trustStore().authenticate(peerCertificate: self.identity.certificate, now: noon)
        _ = try self.identity.trustStore().authenticate(peerCertificate: joined.certificate, now: noon)
    }

    @Test func `a system joins an account whose root key was replaced, and gets the whole chain`() throws {
        let newest = try self.authority.successor(retiring: noon, now: noon).successor(retiring: noon, now: noon)
        let inviting = try SystemIdentity.founding(newest, now: noon)
        var open = OpenInvitation(self.invitation)
        var connection = try Connection(self)
        connection.inviter = JoinInviter(identity: inviting, authority: newest)
        connection.inviterCertificate = inviting.certificate
        let proof = try connection.proof(open)
        guard case .accept(let accepted, _) = try connection.inviter.receive(proof, invitation: &open, now: noon) else {
            throw Refused(action: "proof")
        }
        let joined = try connection.joiner.receive(accepted, now: noon).identity
        #expect(joined.accountID == self.authority.accountID)
        #expect(joined.roots == newest.roots && joined.root == 3)
        _ = try joined.trustStore().authenticate(peerCertificate: inviting.certificate, now: noon)
        // The chain of another account is not accepted for the account in the invitation.
        var other = try Connection(self)
        let foreign = try AccountAuthority(creatingAt: noon).successor(retiring: noon, now: noon)
        var challenge = try other.challenge(OpenInvitation(self.invitation))
        challenge.rootCertificate = foreign.roots.bytes
        let error = #expect(throws: IdentityError.self) {
            try other.joiner.receive(challenge, peerCertificate: other.inviterCertificate, now: noon)
        }
        #expect(error?.code == .wrongAccount)
    }

    // MARK: Single use, expiry and the secret

    @Test func `an invitation admits only the first joiner`() throws {
        var open = OpenInvitation(self.invitation)
        var first = try Connection(self)
        var second = try Connection(self)
        var third = try Connection(self)
        // Both joiners are halfway through when the first finishes.
        let proofs = try (first.proof(open), second.proof(open))
        guard case .accept = try first.inviter.receive(proofs.0, invitation: &open, now: noon) else {
            throw Refused(action: "first")
        }
        #expect(!open.isValid(at: noon))
        #expect(try second.inviter.receive(proofs.1, invitation: &open, now: noon) == .refuse(.alreadyUsed))
        let hello = try third.joiner.start()
        #expect(
            third.inviter.receive(hello, peerCertificate: third.joiner.certificate, invitation: open, now: noon)
                == .refuse(.alreadyUsed)
        )
        #expect(third.joiner.receive(.alreadyUsed).code == .invitationUsed)
    }

    @Test func `wrong secrets do not end an invitation, and the right one still joins`() throws {
        var open = OpenInvitation(self.invitation)
        for attempt in 1...50 {
            var stranger = try Connection(self, invitation: self.withAnotherSecret())
            let proof = try stranger.proof(open)
            #expect(
                try stranger.inviter.receive(proof, invitation: &open, now: noon) == .refuse(.wrongSecret),
                "attempt \(attempt)"
            )
            #expect(stranger.joiner.receive(.wrongSecret).code == .wrongSecret)
            #expect(open.isValid(at: noon))
        }
        var owner = try Connection(self)
        let proof = try owner.proof(open)
        guard case .accept(let accepted, _) = try owner.inviter.receive(proof, invitation: &open, now: noon) else {
            throw Refused(action: "proof")
        }
        #expect(try owner.joiner.receive(accepted, now: noon).identity.accountID == self.identity.accountID)
        #expect(!open.isValid(at: noon))
    }

    @Test func `a wrong proof ends its connection`() throws {
        var open = OpenInvitation(self.invitation)
        var connection = try Connection(self)
        let proof = try connection.proof(open)
        let wrong = JoinProof(code: [UInt8](repeating: 0, count: 32))
        #expect(try connection.inviter.receive(wrong, invitation: &open, now: noon) == .refuse(.wrongSecret))
        #expect(try connection.inviter.receive(proof, invitation: &open, now: noon) == .refuse(.malformed))
    }

    @Test(arguments: [[], [0], [UInt8](repeating: 0, count: 31), [UInt8](repeating: 0, count: 1 << 20)])
    func `a proof of another length is a wrong proof`(code: [UInt8]) throws {
        var open = OpenInvitation(self.invitation)
        var connection = try Connection(self)
        _ = try connection.proof(open)
        #expect(
            try connection.inviter.receive(JoinProof(code: code), invitation: &open, now: noon) == .refuse(.wrongSecret)
        )
    }

    @Test func `an ended invitation admits no joiner, at any point of the exchange`() throws {
        var open = OpenInvitation(self.invitation)
        let end = noon.addingTimeInterval(600)
        #expect(throws: IdentityError.self) { try JoinJoiner(invitation: self.invitation, now: end) }
        var late = try Connection(self)
        #expect(throws: Refused.self) { try late.challenge(open, now: end) }
        var slow = try Connection(self)
        let proof = try slow.proof(open)
        #expect(try slow.inviter.receive(proof, invitation: &open, now: end) == .refuse(.expired))
        #expect(slow.joiner.receive(.expired).code == .invitationExpired)
    }

    // MARK: The inviter's identity

    @Test func `a system of another account gets no proof`() throws {
        let other = try AccountAuthority(creatingAt: noon)
        let otherIdentity = try SystemIdentity.founding(other, now: noon)
        var connection = try Connection(self)
        let genuine = try connection.challenge(OpenInvitation(self.invitation))
        let challenges = [
            // One challenge with only its own certificates, one with our root and its leaf.
            JoinChallenge(
                nonce: genuine.nonce,
                certificate: otherIdentity.certificate,
                rootCertificate: other.rootCertificate
            ),
            JoinChallenge(
                nonce: genuine.nonce,
                certificate: otherIdentity.certificate,
                rootCertificate: genuine.rootCertificate
            ),
            JoinChallenge(nonce: genuine.nonce, certificate: [], rootCertificate: genuine.rootCertificate),
            JoinChallenge(nonce: genuine.nonce, certificate: genuine.certificate, rootCertificate: []),
        ]
        for challenge in challenges {
            var joiner = try JoinJoiner(invitation: self.invitation, now: noon)
            _ = try joiner.start()
            let error = #expect(throws: IdentityError.self) {
                try joiner.receive(challenge, peerCertificate: otherIdentity.certificate, now: noon)
            }
            #expect(error?.code == .wrongAccount)
        }
    }

    @Test func `a man in the middle that relays the challenge gets no proof`() throws {
        let attacker = try JoiningCertificate.make(with: P256.Signing.PrivateKey(), now: noon)
        var connection = try Connection(self)
        let challenge = try connection.challenge(OpenInvitation(self.invitation))
        let error = #expect(throws: IdentityError.self) {
            try connection.joiner.receive(challenge, peerCertificate: attacker, now: noon)
        }
        #expect(error?.code == .wrongAccount)
    }

    @Test func `an inviter with an expired certificate and a wrong inviter are different errors`() throws {
        for (days, words) in [(100.0, "certificate expired on"), (-2, "certificate is not valid before")] {
            var connection = try Connection(self)
            let challenge = try connection.challenge(OpenInvitation(self.invitation))
            let wrong = noon.addingTimeInterval(days * day)
            let error = #expect(throws: IdentityError.self) {
                try connection.joiner.receive(challenge, peerCertificate: self.identity.certificate, now: wrong)
            }
            #expect(error?.code == .wrongClock)
            // The name of the code is for programs.
            #expect(error?.message.contains(words) == true && error?.message.contains("notYetValid") == false)
        }
    }

    @Test func `a proof cannot be used on another connection`() throws {
        var open = OpenInvitation(self.invitation)
        var genuine = try Connection(self)
        let proof = try genuine.proof(open)
        // The attacker relays the joiner's own hello, but over a connection with the attacker's key.
        var attacker = try Connection(self)
        _ = try attacker.challenge(open)
        #expect(try attacker.inviter.receive(proof, invitation: &open, now: noon) == .refuse(.wrongSecret))
    }

    @Test func `a request for a key other than the connection's is refused`() throws {
        var connection = try Connection(self)
        let hello = try connection.joiner.start()
        let other = try JoiningCertificate.make(with: P256.Signing.PrivateKey(), now: noon)
        for certificate in [other, [], self.identity.certificate] {
            var inviter = JoinInviter(identity: self.identity, authority: self.authority)
            #expect(
                inviter.receive(
                    hello,
                    peerCertificate: certificate,
                    invitation: OpenInvitation(self.invitation),
                    now: noon
                )
                    == .refuse(.malformed)
            )
        }
    }

    @Test func `any changed message is detected`() throws {
        let changes: [(inout JoinChallenge) -> Void] = [
            { $0.nonce[0] ^= 1 },
            { $0.nonce.append(0) },
            { $0.certificate.append(0) },
            { $0.rootCertificate.append(0) },
        ]
        for change in changes {
            var open = OpenInvitation(self.invitation)
            var connection = try Connection(self)
            var challenge = try connection.challenge(open)
            change(&challenge)
            guard
                let proof = try? connection.joiner.receive(
                    challenge,
                    peerCertificate: connection.inviterCertificate,
                    now: noon
                )
            else { continue }
            #expect(try connection.inviter.receive(proof, invitation: &open, now: noon) == .refuse(.wrongSecret))
        }
    }

    @Test func `a forged or altered acceptance is refused`() throws {
        let changes: [(inout JoinAccepted) -> Void] = [
            { $0.code[0] ^= 1 },
            { $0.code = [] },
            { $0.admission.discoveryKey[0] ^= 1 },
            { $0.admission.certificate[100] ^= 1 },
            { accepted in accepted.admission.certificate = self.identity.certificate },
        ]
        for change in changes {
            var open = OpenInvitation(self.invitation)
            var connection = try Connection(self)
            let proof = try connection.proof(open)
            guard case .accept(var accepted, _) = try connection.inviter.receive(proof, invitation: &open, now: noon)
            else { throw Refused(action: "proof") }
            change(&accepted)
            let error = #expect(throws: IdentityError.self) { try connection.joiner.receive(accepted, now: noon) }
            #expect(error?.code == .wrongSecret)
        }
    }

    @Test func `the joiner's own proof is not accepted as the inviter's`() throws {
        let open = OpenInvitation(self.invitation)
        var connection = try Connection(self)
        let proof = try connection.proof(open)
        let echo = JoinAccepted(
            code: proof.code,
            AccountAdmission(certificate: self.identity.certificate, discoveryKey: DiscoveryKey().bytes)
        )
        #expect(code { () throws(IdentityError) in try connection.joiner.receive(echo, now: noon) } == .wrongSecret)
    }

    @Test func `an inviter that cannot sign reports why and keeps the invitation valid`() throws {
        var connection = try Connection(self)
        var open = OpenInvitation(self.invitation)
        let proof = try connection.proof(open)
        let wrong = Date(timeIntervalSince1970: 0)
        #expect(
            code { () throws(IdentityError) in
                try connection.inviter.receive(proof, invitation: &open, now: wrong)
            } == .wrongClock
        )
        #expect(open.isValid(at: noon))
        #expect(connection.joiner.receive(.failed).code == .joinFailed)
    }

    // MARK: Order

    @Test func `messages out of order end the exchange`() throws {
        var open = OpenInvitation(self.invitation)
        var inviter = JoinInviter(identity: self.identity, authority: self.authority)
        #expect(try inviter.receive(JoinProof(code: []), invitation: &open, now: noon) == .refuse(.malformed))
        #expect(open.isValid(at: noon))

        var twice = try Connection(self)
        _ = try twice.challenge(open)
        let hello = JoinHello(nonce: [], signingRequest: [])
        #expect(
            twice.inviter.receive(hello, peerCertificate: twice.joiner.certificate, invitation: open, now: noon)
                == .refuse(.malformed)
        )

        var joiner = try JoinJoiner(invitation: self.invitation, now: noon)
        let accepted = JoinAccepted(code: [], AccountAdmission(certificate: [], discoveryKey: []))
        #expect(code { () throws(IdentityError) in try joiner.receive(accepted, now: noon) } == .joinFailed)
        #expect(code { () throws(IdentityError) in try joiner.start() } == .joinFailed)
    }

    @Test(arguments: [0, 31, 33]) func `a nonce of another length is refused`(count: Int) throws {
        var connection = try Connection(self)
        let hello = try connection.joiner.start(nonce: [UInt8](repeating: 1, count: count))
        #expect(
            connection.inviter.receive(
                hello,
                peerCertificate: connection.joiner.certificate,
                invitation: OpenInvitation(self.invitation),
                now: noon
            ) == .refuse(.malformed)
        )
    }

    @Test func `an inviter without the account of the invitation refuses`() throws {
        let other = try AccountAuthority(creatingAt: noon)
        var inviter = JoinInviter(identity: self.identity, authority: other)
        var joiner = try JoinJoiner(invitation: self.invitation, now: noon)
        let hello = try joiner.start()
        #expect(
            inviter.receive(
                hello,
                peerCertificate: joiner.certificate,
                invitation: OpenInvitation(self.invitation),
                now: noon
            ) == .refuse(.failed)
        )
    }

    @Test func `no description of the state machines or messages shows a secret`() throws {
        var open = OpenInvitation(self.invitation)
        var connection = try Connection(self)
        let proof = try connection.proof(open)
        let action = try connection.inviter.receive(proof, invitation: &open, now: noon)
        var text = ""
        dump(connection.joiner, to: &text)
        dump(connection.inviter, to: &text)
        dump(action, to: &text)
        text += "\(action)"
        #expect(!text.contains(self.invitation.secret.revealed))
        #expect(!text.contains("discoveryKey"))
        #expect(!text.contains("systemKey"))
    }
}
