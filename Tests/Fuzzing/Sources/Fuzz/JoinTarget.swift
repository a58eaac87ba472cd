// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

@testable import RemoteSystemsIdentity
@testable import RemoteSystemsTransport

/// Runs a conversation in which a system joins, with messages of the input and with genuine messages that the input may
/// change. A system may join only if both sides received the genuine messages.
func fuzzJoining(_ input: [UInt8]) {
    var joining = Joining()
    for command in Script(input).commands.prefix(32) { joining.perform(command) }
}

private struct Joining {
    private static let invitation = made {
        try Invitation(
            accountID: Account.authority.accountID,
            addresses: [Invitation.Address(host: "192.0.2.7", port: 47_475)],
            now: Account.now
        )
    }
    private static let freshJoiner = made {
        try JoinJoiner(invitation: invitation, now: Account.now, systemKey: Account.joinerKey)
    }
    /// A joiner that has sent its first message, and that message. Made once, because signatures take long.
    private static let startedJoiner: (joiner: JoinJoiner, hello: JoinHello) = {
        var joiner = freshJoiner
        let hello = made { try joiner.start(nonce: [UInt8](repeating: 1, count: JoinLimit.nonce)) }
        return (joiner, hello)
    }()

    private var now = Account.now
    private var open = OpenInvitation(Self.invitation)
    private var joiner = Self.startedJoiner.joiner
    private var inviter = JoinInviter(identity: Account.inviter, authority: Account.authority)
    private var receivedHello: JoinHello?
    private var challenge: JoinChallenge?
    private var receivedChallenge: JoinChallenge?
    private var proof: JoinProof?
    private var accepted: JoinAccepted?
    private var joined = 0

    mutating func perform(_ command: Command) {
        switch command.kind % 7 {
        case 0:
            if let message = JoinMessage.read(command.payload) { self.toInviter(message) }
        case 1:
            if let message = JoinMessage.read(command.payload) { self.toJoiner(message) }
        case 2:
            let message =
                self.challenge == nil ? .hello(Self.startedJoiner.hello) : self.proof.map { JoinMessage.proof($0) }
            self.deliver(message, command) { $0.toInviter($1) }
        case 3:
            let message = self.accepted.map { JoinMessage.accepted($0) } ?? self.challenge.map { .challenge($0) }
            self.deliver(message, command) { $0.toJoiner($1) }
        case 4:
            self.now += TimeInterval(command.argument) * 10
        case 5:
            // Another connection.
            self.inviter = JoinInviter(identity: Account.inviter, authority: Account.authority)
            (self.receivedHello, self.challenge, self.accepted) = (nil, nil, nil)
        default:
            self.joiner = Self.startedJoiner.joiner
            (self.receivedChallenge, self.proof) = (nil, nil)
        }
    }

    /// Delivers a genuine message, changed by the payload: pairs of a position and a mask.
    private mutating func deliver(
        _ message: JoinMessage?,
        _ command: Command,
        _ body: (inout Joining, JoinMessage) -> Void
    ) {
        guard let message else { return }
        if let message = message.changed(by: command.payload) { body(&self, message) }
    }

    private mutating func toInviter(_ message: JoinMessage) {
        switch message {
        case .hello(let hello):
            let action = self.inviter.receive(
                hello,
                peerCertificate: self.joiner.certificate,
                invitation: self.open,
                now: self.now
            )
            guard case .send(let challenge) = action else { return }
            require(self.receivedHello == nil, "a second hello was accepted")
            (self.receivedHello, self.challenge) = (hello, challenge)
        case .proof(let proof):
            guard let action = try? self.inviter.receive(proof, invitation: &self.open, now: self.now) else { return }
            switch action {
            case .refuse(.wrongSecret):
                require(
                    proof != self.proof || self.receivedHello != Self.startedJoiner.hello
                        || self.receivedChallenge != self.challenge,
                    "a genuine proof was refused"
                )
            case .refuse: break
            case .accept(let accepted, let system):
                self.joined += 1
                self.accepted = accepted
                require(self.joined == 1, "two systems joined with one invitation")
                require(self.now < Self.invitation.expiry, "a system joined with an expired invitation")
                require(proof == self.proof, "a system joined with another proof")
                require(self.receivedHello == Self.startedJoiner.hello, "a system joined with a changed hello")
                require(self.receivedChallenge == self.challenge, "a system joined with a changed challenge")
                require(system == SystemID(of: Account.joinerKey.publicKey), "another system joined")
            }
        case .challenge, .accepted, .refused: break
        }
    }

    private mutating func toJoiner(_ message: JoinMessage) {
        switch message {
        case .challenge(let challenge):
            guard
                let proof = try? self.joiner.receive(
                    challenge,
                    peerCertificate: Account.inviter.certificate,
                    now: self.now
                )
            else { return }
            require(self.receivedChallenge == nil, "a second challenge was accepted")
            (self.receivedChallenge, self.proof) = (challenge, proof)
        case .accepted(let accepted):
            guard let identity = try? self.joiner.receive(accepted, now: self.now).identity else { return }
            // The further parts are not covered by the code, because the account's root key signed them.
            let isGenuine =
                accepted.code == self.accepted?.code
                && accepted.admission.certificate == self.accepted?.admission.certificate
                && accepted.admission.discoveryKey == self.accepted?.admission.discoveryKey
            require(isGenuine, "a joiner accepted another acceptance than the inviter's")
            require(identity.accountID == Account.authority.accountID, "a joiner joined another account")
        case .refused(let refusal):
            _ = self.joiner.receive(refusal)
        case .hello, .proof: break
        }
    }
}
