// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import RemoteSystemsIdentity
internal import RemoteSystemsTransport

extension RemoteSystemsAccount {
    /// Joins the account of an invitation.
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
            try await self.withStoreInBackground { store in
                try store.checkAdoption(of: invitation.accountID, evenIfShared: evenIfShared)
            }
            try FileDescriptorBudget.check()
            let identity = try await JoinCall.join(
                invitation,
                logger: self.context.logger,
                network: self.context.account.network
            )
            return try await self.withStoreInBackground { store in
                try store.adopt(identity, evenIfShared: evenIfShared, now: Date())
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw RemoteSystemError(error)
        }
    }
}
