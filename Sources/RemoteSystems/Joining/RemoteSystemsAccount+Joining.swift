// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import RemoteSystemsIdentity
internal import RemoteSystemsTransport

extension RemoteSystemsAccount {
    /// Joins the account of an invitation.
    ///
    /// A system whose certificate has expired, or was signed by a root key that is retired, can join its account
    /// again. It keeps its id. A revoked system gets a new one.
    ///
    /// This user's previous personal account on this machine is moved aside, never deleted. Running programs keep the
    /// old account until they are restarted.
    ///
    /// - Parameters:
    ///   - invitation: an invitation that ``invite(hosts:port:_:)`` created on the other machine. The method must still
    ///     be running there.
    ///   - evenIfShared: whether to leave a present account that other systems belong to. Defaults to `false`.
    /// - Returns: this system's new identity, and the directory of its previous account.
    /// - Throws: ``RemoteSystemError``:
    ///   - ``RemoteSystemError/Code/unreachable`` or ``RemoteSystemError/Code/connectionLost`` when the other machine
    ///     cannot be reached; a retry may succeed while the invitation is valid,
    ///   - ``RemoteSystemError/Code/identity`` with an ``IdentityError`` as its cause, such as
    ///     ``IdentityError/Code/invitationExpired``, ``IdentityError/Code/invitationUsed``,
    ///     ``IdentityError/Code/wrongSecret``, ``IdentityError/Code/wrongAccount`` or
    ///     ``IdentityError/Code/accountInUse``.
    ///
    ///   Also `CancellationError`. After an error nothing has changed on this system.
    public func join(_ invitation: Invitation, evenIfShared: Bool = false) async throws -> AccountChange {
        do {
            let configured = self.context.configuration.systemDisplayName
            let (member, name) = try await self.withStoreInBackground { store in
                let member = try store.checkAdoption(
                    of: invitation.accountID,
                    evenIfShared: evenIfShared,
                    evenIfMember: true,
                    now: Date()
                )
                let name = configured ?? store.systemName() ?? MachineFacts.read().displayName
                return (member, name)
            }
            try FileDescriptorBudget.check()
            let joined = try await self.join(invitation, again: member, name: name)
            return try await self.withStoreInBackground { store in
                try store.adopt(
                    joined.identity,
                    revocations: joined.revocations,
                    evenIfShared: evenIfShared,
                    now: Date()
                )
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw RemoteSystemError(error)
        }
    }

    /// Joins with the key of `member`, or with a new one if the inviter states that the key was revoked. A refusal for
    /// that reason does not use up the invitation.
    private func join(
        _ invitation: Invitation,
        again member: SystemIdentity?,
        name: String
    ) async throws -> JoinedAccount {
        let (network, logger) = (self.context.account.network, self.context.logger)
        do {
            return try await JoinCall.join(invitation, again: member, name: name, logger: logger, network: network)
        } catch let error as IdentityError where error.code == .systemRevoked && member != nil {
            return try await JoinCall.join(invitation, name: name, logger: logger, network: network)
        }
    }
}
