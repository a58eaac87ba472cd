// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// One side of a pairing: two machines that show the same six digits, which their persons compare.
///
/// The waiting side commits to its nonce before it sees the other one's, and reveals it afterwards. So neither side can
/// try out nonces on one connection until the digits fit. The waiting side knows the digits first, and shows them
/// before it reveals its nonce. So each guess of a connecting side is a prompt: the driver must let few connections
/// cause one.
/// The driver passes in messages, answers and times, and performs the returned actions. The connection's TLS 1.3
/// handshake must be complete, with a certificate of a fresh key on each side.
package struct Pairing: Sendable {
    /// The side. The raw values are part of the transcript.
    package enum Role: String, Hashable, Sendable {
        case connecting, waiting

        var other: Role { self == .connecting ? .waiting : .connecting }
    }

    package enum Action: Hashable, Sendable {
        case send(PairingMessage)
        /// Show the digits and ask the person. The answer's default is no.
        case compare(PairingComparison)
        /// Both persons have confirmed: carry out the plan. The binding is 32 bytes that only this pairing has, and
        /// both sides know.
        case carryOut(PairingPlan, binding: [UInt8])
    }

    private enum State {
        case ready
        /// The waiting side has committed.
        case waitingForAnswer
        /// The connecting side has answered.
        case waitingForReveal(commitment: [UInt8])
        case comparing(Comparison)
        case finished
    }

    private struct Comparison {
        var transcript: PairingTranscript
        var plan: PairingPlan
        var deadline: ContinuousClock.Instant
        var isConfirmedHere = false
        var isConfirmedThere = false
    }

    private let role: Role
    private let own: PairingTranscript.Part
    private let purpose: PairingIntention.Purpose
    private let account: PairingAccount?
    private let peerKey: KeyFingerprint
    private var state = State.ready
    /// The name that the other side gave itself.
    private var peerName: String?

    /// The time within which both persons must confirm the digits. In seconds: 30.
    package static let comparisonTime = Duration.seconds(30)

    /// Creates one side.
    ///
    /// - Parameters:
    ///   - account: This side's account; `nil` if it has none, or may join its account again.
    ///   - ownKey: The key of this side's TLS certificate.
    ///   - peerKey: The key of the certificate that the other side presented in the TLS handshake.
    ///   - nonce: 32 random bytes. Only tests pass one.
    package init(
        _ role: Role,
        _ intention: PairingIntention,
        account: PairingAccount? = nil,
        ownKey: KeyFingerprint,
        peerKey: KeyFingerprint,
        nonce: [UInt8]? = nil
    ) {
        self.role = role
        self.purpose = intention.purpose
        self.account = account
        self.own = PairingTranscript.Part(
            key: ownKey,
            nonce: nonce ?? JoinLimit.randomNonce(),
            intention: intention.bytes
        )
        self.peerKey = peerKey
    }

    /// Returns the waiting side's first message. Call it once.
    package mutating func start() throws(PairingStop) -> [Action] {
        guard case .ready = self.state, self.role == .waiting else { throw self.stop(.outOfTurn) }
        // With one key on both sides, a message could be sent back to its sender.
        guard self.own.key != self.peerKey else { throw self.stop(.malformed) }
        self.state = .waitingForAnswer
        return [.send(.commitment(self.own.commitment))]
    }

    /// Handles a message of the other side, until both persons have confirmed.
    ///
    /// - Throws: ``PairingStop``. Send its refusal, if it has one, and close the connection.
    package mutating func receive(
        _ message: PairingMessage,
        at now: ContinuousClock.Instant
    ) throws(PairingStop) -> [Action] {
        if case .refused(let refusal) = message { throw self.stop(.refused(refusal)) }
        switch (self.state, message) {
        case (.ready, .commitment(let commitment)) where self.role == .connecting:
            guard commitment.count == KeyFingerprint.byteCount, self.own.key != self.peerKey else {
                throw self.stop(.malformed)
            }
            self.state = .waitingForReveal(commitment: commitment)
            // Without an account, random bytes: a stranger must not learn that this side has none to prove.
            let proof =
                self.account?.proof(connecting: self.own.key, waiting: self.peerKey) ?? PairingAccount.noProof()
            return [.send(.answer(nonce: self.own.nonce, intention: self.own.intention, account: proof))]
        case (.waitingForAnswer, .answer(let nonce, let intention, let proof)):
            if let account, let proof, account.isProof(proof, connecting: self.peerKey, waiting: self.own.key) {
                throw self.stop(.sameAccount(account.id))
            }
            let (comparison, action) = try self.compare(nonce, intention, at: now)
            self.state = .comparing(comparison)
            // The other side must not know the digits before the person here sees them.
            return [action, .send(.reveal(nonce: self.own.nonce, intention: self.own.intention))]
        case (.waitingForReveal(let commitment), .reveal(let nonce, let intention)):
            let part = PairingTranscript.Part(key: self.peerKey, nonce: nonce, intention: intention)
            guard part.commitment == commitment else { throw self.stop(.malformed) }
            let (comparison, action) = try self.compare(nonce, intention, at: now)
            self.state = .comparing(comparison)
            return [action]
        case (.comparing(var comparison), .confirmed(let code)):
            guard !comparison.isConfirmedThere else { throw self.stop(.outOfTurn) }
            guard comparison.transcript.isConfirmation(code, by: self.role.other) else { throw self.stop(.malformed) }
            try self.checkTime(comparison, now)
            comparison.isConfirmedThere = true
            return self.proceed(comparison)
        default:
            throw self.stop(.outOfTurn)
        }
    }

    /// Handles the person's answer.
    ///
    /// - Parameter isSame: Whether the person confirmed that the other machine shows the same digits.
    package mutating func answer(
        _ isSame: Bool,
        at now: ContinuousClock.Instant
    ) throws(PairingStop) -> [Action] {
        guard case .comparing(var comparison) = self.state, !comparison.isConfirmedHere else {
            throw self.stop(.outOfTurn)
        }
        try self.checkTime(comparison, now)
        guard isSame else { throw self.stop(.denied) }
        comparison.isConfirmedHere = true
        return [.send(.confirmed(code: comparison.transcript.confirmation(by: self.role)))] + self.proceed(comparison)
    }

    /// The time at which ``expire(at:)`` ends the comparison; `nil` while there is none.
    package var deadline: ContinuousClock.Instant? {
        if case .comparing(let comparison) = self.state { comparison.deadline } else { nil }
    }

    /// Ends a comparison whose time is over. Does nothing otherwise.
    package mutating func expire(at now: ContinuousClock.Instant) throws(PairingStop) {
        if case .comparing(let comparison) = self.state { try self.checkTime(comparison, now) }
    }

    private mutating func checkTime(
        _ comparison: Comparison,
        _ now: ContinuousClock.Instant
    ) throws(PairingStop) {
        guard now >= comparison.deadline else { return }
        throw self.stop(comparison.isConfirmedHere ? .unansweredThere : .unansweredHere)
    }

    private mutating func compare(
        _ nonce: [UInt8],
        _ intention: [UInt8],
        at now: ContinuousClock.Instant
    ) throws(PairingStop) -> (Comparison, Action) {
        guard nonce.count == PairingTranscript.nonceBytes, let peer = PairingIntention(bytes: intention) else {
            throw self.stop(.malformed)
        }
        self.peerName = peer.name
        guard let plan = PairingPlan(self.role, own: self.purpose, peer: peer.purpose) else {
            throw self.stop(.purposes(own: self.purpose, peer: peer.purpose))
        }
        let part = PairingTranscript.Part(key: self.peerKey, nonce: nonce, intention: intention)
        let transcript =
            switch self.role {
            case .connecting: PairingTranscript(connecting: self.own, waiting: part)
            case .waiting: PairingTranscript(connecting: part, waiting: self.own)
            }
        let comparison = Comparison(transcript: transcript, plan: plan, deadline: now + Self.comparisonTime)
        return (comparison, .compare(PairingComparison(digits: transcript.digits, name: peer.name, plan: plan)))
    }

    private mutating func proceed(_ comparison: Comparison) -> [Action] {
        guard comparison.isConfirmedHere, comparison.isConfirmedThere else {
            self.state = .comparing(comparison)
            return []
        }
        self.state = .finished
        return [.carryOut(comparison.plan, binding: comparison.transcript.binding)]
    }

    private mutating func stop(_ stop: PairingStop) -> PairingStop {
        self.state = .finished
        var stop = stop
        stop.peerName = self.peerName
        return stop
    }
}

extension Pairing: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: []) }
}
