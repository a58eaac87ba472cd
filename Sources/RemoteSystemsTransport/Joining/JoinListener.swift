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
    /// The port for the invitation.
    package var port: Int { self.accepting.bound.port }

    private init(accepting: IntroductionPort<JoinMessage>, identity: SystemIdentity, logger: Logger) {
        self.accepting = accepting
        self.identity = identity
        self.logger = logger
    }

    /// Starts listening. ``run(_:authority:record:)`` must follow; connections get no response before.
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
            return JoinListener(accepting: accepting, identity: identity, logger: logger)
        } catch {
            throw Listener.cannotListen(host: host, port: port, error)
        }
    }

    /// Serves the invitation until a system has joined, the invitation is used up or has expired, or the task is
    /// cancelled. Then stops listening.
    ///
    /// - Parameters:
    ///   - revocations: the account's revocation list. A system on it is refused, and the new system receives it.
    ///   - record: records the new system. Called before the system receives the acceptance.
    /// - Returns: the system that joined.
    /// - Throws: ``IdentityError`` with ``IdentityError/Code/invitationExpired`` when the invitation has expired, with
    ///   ``IdentityError/Code/invitationUsed`` after three wrong secrets, or with the error of creating or recording
    ///   the certificate; ``TransportError`` when the acceptance may not have been delivered; `CancellationError`.
    package func run(
        _ invitation: Invitation,
        authority: AccountAuthority,
        revocations: RevocationList? = nil,
        record: @escaping @Sendable (SystemID) async throws -> Void
    ) async throws -> SystemID {
        let desk = InvitationServer(
            invitation,
            identity: self.identity,
            authority: authority,
            revocations: revocations,
            record: record
        )
        let (outcomes, outcome) = AsyncThrowingStream<SystemID, any Error>.makeStream(
            bufferingPolicy: .bufferingOldest(1)
        )
        let result = await self.outcome(of: desk, invitation, outcomes, outcome)
        await self.accepting.bound.close()
        return try result.get()
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
                        switch try await desk.attend(conversation) {
                        case .joined(let system): outcome.yield(system)
                        case .spent: outcome.finish(throwing: IdentityError.spentHere)
                        case .nothing: break
                        }
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
    enum Outcome {
        case joined(SystemID)
        /// The invitation was withdrawn after too many wrong secrets.
        case spent
        case nothing
    }

    /// A failure on this side.
    struct Failure: Error {
        var cause: any Error
    }

    private let open: Mutex<OpenInvitation>
    private let identity: SystemIdentity
    private let authority: AccountAuthority
    private let revocations: RevocationList?
    private let record: @Sendable (SystemID) async throws -> Void

    init(
        _ invitation: Invitation,
        identity: SystemIdentity,
        authority: AccountAuthority,
        revocations: RevocationList?,
        record: @escaping @Sendable (SystemID) async throws -> Void
    ) {
        self.revocations = revocations
        self.open = Mutex(OpenInvitation(invitation))
        self.identity = identity
        self.authority = authority
        self.record = record
    }

    func attend(_ conversation: JoinConversation) async throws -> Outcome {
        var accepted: SystemID?
        do {
            return try await conversation.run { certificate, messages in
                try await self.converse(conversation, certificate, &messages) { accepted = $0 }
            }
        } catch {
            // The system is recorded and the invitation is used up, but the acceptance may not have been delivered.
            guard accepted != nil, !(error is Failure) else { throw error }
            throw Failure(cause: TransportError.responseLost(error))
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
    ) async throws -> Outcome {
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
            return .joined(system)
        case .refuse(let refusal):
            _ = try await self.refuse(refusal, conversation)
            return refusal == .wrongSecret && self.open.withLock({ !$0.isGood(at: Date()) }) ? .spent : .nothing
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
                try await self.record(system)
            }
            return decision
        } catch {
            let isUsed = (error as? IdentityError)?.code == .invitationUsed
            try? await conversation.send(.refused(isUsed ? .alreadyUsed : .failed))
            throw Failure(cause: error)
        }
    }

    @inline(never)
    private func refuse(_ refusal: JoinRefusal, _ conversation: JoinConversation) async throws -> Outcome {
        try await conversation.send(.refused(refusal))
        return .nothing
    }
}

extension IdentityError {
    fileprivate static let expiredHere = IdentityError(
        .invitationExpired,
        "The invitation was not used within its ten minutes and has expired. Make a new one."
    )

    fileprivate static let spentHere = IdentityError(
        .invitationUsed,
        """
        The invitation was withdrawn after \(OpenInvitation.maxWrongProofs) attempts with a wrong secret. No system \
        has joined. Make a new one, and copy the whole line.
        """
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
