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
    ///   - invitation: the invitation that ``invite(hosts:port:_:)`` created on the other machine, where it must still
    ///     be running.
    ///   - evenIfShared: whether to leave an account that other systems belong to. Defaults to `false`.
    /// - Returns: this system's new identity, and the directory of its previous account.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/unreachable``, with
    ///   ``RemoteSystemError/Code/connectionLost``, or with ``RemoteSystemError/Code/identity`` and an
    ///   ``IdentityError`` as its cause (``IdentityError/Code/invitationExpired``,
    ///   ``IdentityError/Code/invitationUsed``, ``IdentityError/Code/wrongSecret``,
    ///   ``IdentityError/Code/wrongAccount``, ``IdentityError/Code/accountInUse`` and others); `CancellationError`.
    ///   After an error nothing has changed on this system.
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
