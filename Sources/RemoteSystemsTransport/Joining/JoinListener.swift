// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Logging
internal import NIOCore
package import RemoteSystemsIdentity
internal import Synchronization

/// The inviting side: listens on a port for one invitation.
package final class JoinListener: Sendable {
    private let accepting: IntroductionPort<JoinMessage>
    private let identity: SystemIdentity
    private let logger: Logger
    private let time: TimeSource
    /// The port for the invitation.
    package var port: Int { self.accepting.bound.port }

    private init(
        accepting: IntroductionPort<JoinMessage>,
        identity: SystemIdentity,
        logger: Logger,
        time: TimeSource
    ) {
        self.accepting = accepting
        self.identity = identity
        self.logger = logger
        self.time = time
    }

    /// Starts listening. ``run(_:authority:revocations:record:)`` must follow; connections get no response before.
    ///
    /// - Parameters:
    ///   - host: the address to listen on; `nil` for all addresses within the network's reach, IPv6 and IPv4.
    ///   - port: the port; 0 for any free one.
    /// - Throws: ``TransportError`` with ``TransportError/Code/cannotListen``.
    package static func start(
        host: String?,
        port: Int,
        identity: SystemIdentity,
        logger: Logger,
        network: TransportNetwork = .sockets
    ) async throws(TransportError) -> JoinListener {
        try await Self.start(
            host: host,
            port: port,
            identity: identity,
            times: IntroductionTimes(),
            logger: logger,
            network: network
        )
    }

    /// Starts listening, with timeouts for each conversation.
    static func start(
        host: String?,
        port: Int,
        identity: SystemIdentity,
        times: IntroductionTimes,
        logger: Logger,
        network: TransportNetwork = .sockets
    ) async throws(TransportError) -> JoinListener {
        do {
            let accepting = try await IntroductionPort<JoinMessage>.listen(
                host: host,
                port: port,
                tls: try JoinTLS(certificate: identity.certificate, privateKeyPEM: identity.privateKeyPEM),
                times: times,
                logger: logger,
                network: network
            )
            return JoinListener(accepting: accepting, identity: identity, logger: logger, time: network.time)
        } catch {
            throw Listener.cannotListen(host: host, port: port, error)
        }
    }

    /// Serves the invitation until a system has joined, the invitation has expired, or the task is cancelled. Then
    /// stops listening. Wrong proofs are logged, and do not end it.
    ///
    /// A system that is being recorded at the end still joins, and is the result: it receives its certificate.
    ///
    /// - Parameters:
    ///   - revocations: the account's revocation list. A system on it is refused, and the new system receives it.
    ///   - record: records the new system, with the name that it gives itself. Called before the system receives the
    ///     acceptance.
    /// - Returns: the system that joined.
    /// - Throws: ``IdentityError`` with ``IdentityError/Code/invitationExpired`` when the invitation has expired, or
    ///   with the error of creating or recording the certificate; ``TransportError`` when the acceptance may not have
    ///   been delivered; `CancellationError`.
    package func run(
        _ invitation: Invitation,
        authority: AccountAuthority,
        revocations: RevocationList? = nil,
        record: @escaping @Sendable (SystemID, String?) async throws -> Void
    ) async throws -> SystemID {
        let wrongProofs = WrongProofLog(self.logger, time: self.time)
        let desk = InvitationServer(
            invitation,
            identity: self.identity,
            authority: authority,
            revocations: revocations,
            wrongProofs: wrongProofs,
            record: record
        )
        let (outcomes, outcome) = AsyncThrowingStream<SystemID, any Error>.makeStream(
            bufferingPolicy: .bufferingOldest(1)
        )
        // All connections have been served then.
        let end = await self.outcome(of: desk, invitation, outcomes, outcome)
        await self.accepting.bound.close()
        wrongProofs.finish()
        return try (desk.joining ?? end).get()
    }

    private func outcome(
        of desk: InvitationServer,
        _ invitation: Invitation,
        _ outcomes: AsyncThrowingStream<SystemID, any Error>,
        _ outcome: AsyncThrowingStream<SystemID, any Error>.Continuation
    ) async -> Result<SystemID, any Error> {
        await withTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { await self.serve(desk, outcome) }
            group.addTask {
                // An invitation expires at a wall-clock time, so this wait does not use the network's time source.
                let time = max(0, invitation.expiry.timeIntervalSinceNow)
                guard (try? await Task.sleep(for: .seconds(time))) != nil else { return }
                outcome.finish(throwing: IdentityError.expiredHere)
            }
            do {
                for try await system in outcomes { return .success(system) }
                return .failure(CancellationError())
            } catch {
                return .failure(error)
            }
        }
    }

    /// Stops listening without having run.
    package func stop() async {
        await self.accepting.bound.close()
    }

    private func serve(
        _ desk: InvitationServer,
        _ outcome: AsyncThrowingStream<SystemID, any Error>.Continuation
    ) async {
        await withDiscardingTaskGroup { group in
            for await conversation in self.accepting.conversations {
                group.addTask {
                    do {
                        if let system = try await desk.attend(conversation) { outcome.yield(system) }
                    } catch let failure as InvitationServer.Failure {
                        outcome.finish(throwing: failure.cause)
                    } catch {
                        // Other machines, port scanners and failed connections do not end the wait for the invited
                        // system.
                        self.logger.debug("A joining attempt failed", metadata: ["reason": "\(error)"])
                    }
                }
            }
        }
    }
}

/// Serves the connections that use one invitation.
private final class InvitationServer: Sendable {
    /// A failure on this side.
    struct Failure: Error {
        var cause: any Error
    }

    private let open: Mutex<OpenInvitation>
    private let joined = Mutex<Result<SystemID, any Error>?>(nil)
    private let identity: SystemIdentity
    private let authority: AccountAuthority
    private let revocations: RevocationList?
    private let wrongProofs: WrongProofLog
    private let record: @Sendable (SystemID, String?) async throws -> Void

    init(
        _ invitation: Invitation,
        identity: SystemIdentity,
        authority: AccountAuthority,
        revocations: RevocationList?,
        wrongProofs: WrongProofLog,
        record: @escaping @Sendable (SystemID, String?) async throws -> Void
    ) {
        self.revocations = revocations
        self.open = Mutex(OpenInvitation(invitation))
        self.identity = identity
        self.authority = authority
        self.wrongProofs = wrongProofs
        self.record = record
    }

    /// The system that was recorded, or the error that its acceptance may not have been delivered; `nil` if no system
    /// was recorded.
    var joining: Result<SystemID, any Error>? { self.joined.withLock { $0 } }

    /// Serves a connection.
    ///
    /// - Returns: the system that joined over it; `nil` if none did.
    func attend(_ conversation: JoinConversation) async throws -> SystemID? {
        var accepted: SystemID?
        do {
            let system = try await conversation.run { certificate, messages in
                try await self.converse(conversation, certificate, &messages) { accepted = $0 }
            }
            if let system { self.joined.withLock { $0 = .success(system) } }
            return system
        } catch {
            // The system is recorded and the invitation is used up, but the acceptance may not have been delivered.
            guard accepted != nil, !(error is Failure) else { throw error }
            let lost = TransportError.responseLost(error)
            self.joined.withLock { $0 = .failure(lost) }
            throw Failure(cause: lost)
        }
    }

    // Not inlined, like the methods below: the optimiser would merge their asynchronous frames into one, and allocate
    // too little memory for it (Docs/decisions/0008-async-frames.md).
    @inline(never)
    private func converse(
        _ conversation: JoinConversation,
        _ certificate: [UInt8],
        _ messages: inout JoinConversation.Messages,
        accepted: (SystemID) -> Void
    ) async throws -> SystemID? {
        var inviter = JoinInviter(identity: self.identity, authority: self.authority, revocations: self.revocations)
        guard case .hello(let hello) = try await messages.next(isolation: #isolation) else {
            return try await self.refuse(.malformed, conversation)
        }
        let welcome = self.open.withLock {
            inviter.receive(hello, peerCertificate: certificate, invitation: $0, now: Date())
        }
        switch welcome {
        case .send(let challenge): try await conversation.send(.challenge(challenge))
        case .refuse(let refusal): return try await self.refuse(refusal, conversation)
        }
        guard case .proof(let proof) = try await messages.next(isolation: #isolation) else {
            return try await self.refuse(.malformed, conversation)
        }
        switch try await self.decide(proof, &inviter, conversation) {
        case .accept(let acceptance, let system):
            accepted(system)
            try await conversation.send(.accepted(acceptance))
            return system
        case .refuse(let refusal):
            if refusal == .wrongSecret { self.wrongProofs.add(from: conversation.peerAddress) }
            return try await self.refuse(refusal, conversation)
        }
    }

    /// Verifies a proof, and records the system if the proof is correct.
    @inline(never)
    private func decide(
        _ proof: JoinProof,
        _ inviter: inout JoinInviter,
        _ conversation: JoinConversation
    ) async throws -> JoinInviter.ProofAction {
        do {
            let decision = try self.open.withLock { open throws(IdentityError) in
                try inviter.receive(proof, invitation: &open, now: Date())
            }
            if case .accept(_, let system) = decision {
                conversation.keepPlace()
                try await self.record(system, proof.name)
            }
            return decision
        } catch {
            let isUsed = (error as? IdentityError)?.code == .invitationUsed
            try? await conversation.send(.refused(isUsed ? .alreadyUsed : .failed))
            throw Failure(cause: error)
        }
    }

    @inline(never)
    private func refuse(_ refusal: JoinRefusal, _ conversation: JoinConversation) async throws -> SystemID? {
        try await conversation.send(.refused(refusal))
        return nil
    }
}

/// Logs the wrong proofs for one invitation: the first one, then their number at most once a minute and at the end. Any
/// machine that finds the port can send as many as it likes.
final class WrongProofLog: Sendable {
    private struct State {
        var count = 0
        /// The number of wrong proofs that the log covers.
        var logged = 0
        var due: ContinuousClock.Instant?
    }

    /// The value of the metadata key `event`.
    static let event = "invitation-wrong"
    /// The minimum time between two messages. The message at the end is not delayed.
    static let period = Duration.seconds(60)

    private let logger: Logger
    private let time: TimeSource
    private let state = Mutex(State())

    init(_ logger: Logger, time: TimeSource) {
        self.logger = logger
        self.time = time
    }

    /// Notes a wrong proof.
    ///
    /// - Parameter address: the address of the machine that sent it.
    func add(from address: String) {
        let now = self.time.now
        let count = self.state.withLock { state -> Int? in
            state.count += 1
            if let due = state.due, now < due { return nil }
            state.due = now + Self.period
            state.logged = state.count
            return state.count
        }
        guard let count else { return }
        self.logger.warning(
            """
            A machine tried to join with a wrong invitation. If it is yours, the line may have been copied \
            incompletely: copy the whole line again. The invitation stays valid.
            """,
            metadata: ["event": "\(Self.event)", "peer": "\(address)", "attempts": "\(count)"]
        )
    }

    /// Logs the number of all wrong proofs if it has grown since the last message.
    func finish() {
        let count = self.state.withLock { state -> Int? in
            defer { state.logged = state.count }
            return state.count > state.logged ? state.count : nil
        }
        guard let count else { return }
        self.logger.warning(
            "While the invitation was valid, machines tried to join with wrong invitations.",
            metadata: ["event": "\(Self.event)", "attempts": "\(count)"]
        )
    }
}

extension IdentityError {
    fileprivate static let expiredHere = IdentityError(
        .invitationExpired,
        "The invitation was not used within its ten minutes and has expired. Make a new one."
    )
}

extension TransportError {
    fileprivate static func responseLost(_ cause: any Error) -> TransportError {
        TransportError(
            .connectionLost,
            "A system has joined, but the connection failed before that system can have received the confirmation. If "
                + "it did not receive it, make a new invitation for it.",
            side: .network,
            canRetry: true,
            wasSent: true,
            cause: cause
        )
    }
}
