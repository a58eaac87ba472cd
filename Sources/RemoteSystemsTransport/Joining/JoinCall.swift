// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Logging
package import RemoteSystemsIdentity

/// The joining side: connects to the system that made the invitation.
package enum JoinCall {
    /// Tries the invitation's addresses one after the other, until the inviter has responded. Addresses at which the
    /// connection was closed early are tried again after all others, because the inviter's port may be flooded.
    ///
    /// - Parameters:
    ///   - member: the identity whose key this system keeps, if it joins its account again; `nil` for a new key.
    ///   - name: the name of this system.
    /// - Returns: the identity in the account and its revocation list, for
    ///   ``AccountStore/adopt(_:revocations:evenIfShared:now:)``. Nothing has been stored.
    /// - Throws: ``IdentityError`` when the inviter refused or is not the expected system; ``TransportError`` when it
    ///   cannot be reached; `CancellationError`.
    package static func join(
        _ invitation: Invitation,
        again member: SystemIdentity? = nil,
        name: String? = nil,
        logger: Logger,
        network: TransportNetwork = .sockets
    ) async throws -> JoinedAccount {
        var failure: any Error = TransportError(.unreachable, "The invitation contains no address.", side: .local)
        let retries = IntroductionRetries()
        var addresses = invitation.addresses
        for round in 0...retries.count where !addresses.isEmpty {
            // Nothing reports that an inviter has a place again.
            if round > 0 { try await Task.sleep(for: retries.pause(before: round)) }
            var closedEarly: [Invitation.Address] = []
            for address in addresses {
                try Task.checkCancellation()
                do {
                    return try await Self.join(invitation, again: member, name: name, at: address, network)
                } catch let error as Final {
                    throw error.cause
                } catch is CancellationError {
                    throw CancellationError()
                } catch {
                    try Task.checkCancellation()
                    logger.debug("The inviter was not reached at an address", metadata: ["reason": "\(error)"])
                    // The identity error of a machine that responded is more specific than an unreachable address.
                    if error is IdentityError || !(failure is IdentityError) { failure = error }
                    if IntroductionRetries.apply(to: error) { closedEarly.append(address) }
                }
            }
            addresses = closedEarly
        }
        throw failure
    }

    /// An error after which no other address is tried, because the inviter has responded, or may have.
    private struct Final: Error {
        var cause: any Error
    }

    // Not inlined: see Docs/decisions/0008-async-frames.md.
    @inline(never)
    private static func join(
        _ invitation: Invitation,
        again member: SystemIdentity?,
        name: String?,
        at address: Invitation.Address,
        _ network: TransportNetwork
    ) async throws -> JoinedAccount {
        var joiner: JoinJoiner
        let hello: JoinHello
        do {
            joiner = try JoinJoiner(invitation: invitation, again: member, name: name, now: Date())
            hello = try joiner.start()
        } catch {
            throw Final(cause: error)
        }
        let conversation = try await JoinConversation.connect(
            to: network.endpoint(host: address.host, port: Int(address.port)),
            tls: try JoinTLS(certificate: joiner.certificate, privateKeyPEM: joiner.privateKeyPEM),
            network,
            limit: JoinMessage.maxInviterBytes,
            advice: "An invitation works once, and only while the machine that made it waits. Check that it still "
                + "waits, and that the network allows the connection."
        )
        return try await conversation.run { certificate, messages in
            try await conversation.send(.hello(hello))
            let proof: JoinProof
            switch try await messages.next(isolation: #isolation) {
            case .challenge(let challenge):
                proof = try joiner.receive(challenge, peerCertificate: certificate, now: Date())
            case .refused(let refusal): throw Final(cause: joiner.receive(refusal))
            case nil: throw TransportError.brokenOff
            case .hello, .proof, .accepted: throw IdentityError.outOfTurn
            }
            do {
                try await conversation.send(.proof(proof))
                switch try await messages.next(isolation: #isolation) {
                case .accepted(let accepted): return try joiner.receive(accepted, now: Date())
                case .refused(let refusal): throw joiner.receive(refusal)
                case nil: throw TransportError.brokenOff
                case .hello, .challenge, .proof: throw IdentityError.outOfTurn
                }
            } catch let error as IdentityError {
                throw Final(cause: error)
            } catch {
                throw Final(cause: TransportError.outcomeUnknown(error))
            }
        }
    }
}

extension IdentityError {
    fileprivate static let outOfTurn = IdentityError(
        .joinFailed,
        "The other side broke the rules of joining: a message came out of turn. Nothing was changed here."
    )
}

extension TransportError {
    fileprivate static func outcomeUnknown(_ cause: any Error) -> TransportError {
        TransportError(
            .connectionLost,
            "The connection failed before the inviting machine had responded, so nothing was changed here. The "
                + "invitation may be used up: make a new one.",
            side: .network,
            canRetry: false,
            wasSent: true,
            cause: cause
        )
    }
}
