// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import RemoteSystemsIdentity

extension RemoteSystemsAccount {
    /// Revokes a system from the account, for ever: its open connections end, and no system of the account talks to it again.
    ///
    /// Programs of this machine take it into use within two seconds. Other systems hear of it from a ``RemoteSystemHost`` or
    /// through a ``RemoteSystemWatcher`` that runs here, and pass it on among themselves; one that hears of nobody trusts the
    /// revoked system until that one's certificate ends, at most 90 days. Only a machine that holds the account's key can
    /// revoke. To let the machine in again invite it anew: it gets another id then.
    ///
    /// Revoking a system again does nothing.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity``; its cause is an ``IdentityError`` such as
    ///   ``IdentityError/Code/notAuthority``, ``IdentityError/Code/accountInUse`` for this system itself, or
    ///   ``IdentityError/Code/tooManySystems`` beyond 4 096.
    public func revoke(_ system: SystemID) throws(RemoteSystemError) {
        try self.withStore { store throws(IdentityError) in
            _ = try store.identity()
            _ = try store.revoke(system, now: Date())
        }
    }

    /// The systems that were revoked from the account, as far as this machine has heard; in no particular order.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity``; its cause is an ``IdentityError``.
    public func revokedSystems() throws(RemoteSystemError) -> [SystemID] {
        try self.withStore { store throws(IdentityError) in try store.revocations()?.systems ?? [] }
    }
}
