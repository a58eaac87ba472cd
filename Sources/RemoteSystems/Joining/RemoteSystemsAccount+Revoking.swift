// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import RemoteSystemsIdentity

extension RemoteSystemsAccount {
    /// Revokes a system permanently: its open connections close, and no system of the account connects to it again.
    ///
    /// Only a system that holds the account's root key can revoke. Programs of this machine apply the revocation within
    /// two seconds. Other systems receive it from a ``RemoteSystemHost`` or ``RemoteSystemWatcher`` that runs on this
    /// machine, and pass it on to each other. A system that does not receive it trusts the revoked system until the
    /// revoked system's certificate expires, at most 90 days.
    ///
    /// To readmit the machine, invite it again; it then gets another id. Revoking a system again has no effect.
    ///
    /// The account also gets a new discovery key, so that the revoked system no longer recognises the others on a
    /// network and cannot imitate their advertisements. Open invitations end.
    ///
    /// - Parameters:
    ///   - system: the id of the system to revoke.
    ///   - evenIfListIsLost: whether to make a new revocation list if the stored one is gone or damaged. Defaults to
    ///     `false`. Other systems that are met send back the revocations that they know.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity``. Its cause is an ``IdentityError`` such
    ///   as ``IdentityError/Code/notAuthority``, ``IdentityError/Code/accountInUse`` for this system itself,
    ///   ``IdentityError/Code/revocationsLost`` for a lost list, or ``IdentityError/Code/tooManySystems`` beyond 4096
    ///   revoked systems.
    public func revoke(_ system: SystemID, evenIfListIsLost: Bool = false) throws(RemoteSystemError) {
        _ = try self.revokeIfNeeded(system, evenIfListIsLost: evenIfListIsLost)
    }

    /// Revokes a system like ``revoke(_:evenIfListIsLost:)``, and completes a revocation during which a process died.
    ///
    /// - Returns: Whether the account was changed; `false` if the system was completely revoked before.
    package func revokeIfNeeded(
        _ system: SystemID,
        evenIfListIsLost: Bool = false
    ) throws(RemoteSystemError) -> Bool {
        try self.withStore { store throws(IdentityError) -> Bool in
            _ = try store.identity()
            let before = try? store.revocations()
            let list = try store.revoke(system, evenIfListIsLost: evenIfListIsLost, now: Date())
            return list.position != before?.position
        }
    }

    /// Returns the revoked systems that this machine knows of, in no particular order.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when the account's files cannot be
    ///   read. Its cause is an ``IdentityError``.
    public func revokedSystems() throws(RemoteSystemError) -> [SystemID] {
        try self.withStore { store throws(IdentityError) in try store.revocations()?.allSystems ?? [] }
    }
}
