// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import RemoteSystemsIdentity
internal import RemoteSystemsTransport

extension RemoteSystemsAccount {
    /// Makes this system one of the account that the invitation is from.
    ///
    /// The personal account that this user had on this machine is moved aside, never deleted. Programs that are running
    /// go on under the old account until they are started again.
    ///
    /// - Parameters:
    ///   - invitation: what ``invite(hosts:port:_:)`` gave on the other machine, where it must still be waiting.
    ///   - evenIfShared: whether to leave an account, too, that other systems belong to.
    /// - Returns: who this system is now, and where the account is that it had.
    /// - Throws: ``RemoteSystemError``: ``RemoteSystemError/Code/unreachable``; ``RemoteSystemError/Code/identity`` with an
    ///   ``IdentityError`` as its cause (``IdentityError/Code/invitationExpired``,
    ///   ``IdentityError/Code/invitationUsed``, ``IdentityError/Code/wrongSecret``, ``IdentityError/Code/wrongAccount``,
    ///   ``IdentityError/Code/accountInUse`` and more); ``RemoteSystemError/Code/connectionLost``. Nothing has changed
    ///   here then. `CancellationError`.
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
