// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity

extension RemoteSystemsAccount {
    /// Leaves the account: deletes this system's identity, its keys and certificates among it.
    ///
    /// Programs of this user that run under the account notice within two seconds: their connections close, a
    /// ``RemoteSystemHost`` ends its `run()` with ``RemoteSystemError/Code/identity``, and a ``RemoteSystemWatcher``
    /// reports an error and stops. What starts next makes a fresh personal account; ``join(_:evenIfShared:)`` joins
    /// another one.
    ///
    /// Other systems need not be reachable, and are not told: without its keys this system cannot be taken for the one
    /// that it was. If a copy of the keys may exist elsewhere, revoke the id as well (``revoke(_:)``), on a system that
    /// holds the account's root key. Files are deleted, not overwritten. Accounts that were set aside earlier stay
    /// where they are.
    ///
    /// - Parameter evenWithRootKey: whether to leave, too, when this system holds the account's root key. Defaults to
    ///   `false`. If no other system and no recovery file (``exportRecovery(to:passphrase:)``) has the key, the account
    ///   ends with it: no system can join or be revoked any more, and the others stop working when their certificates
    ///   end, at most 90 days later.
    /// - Returns: what was deleted.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity``; its cause is an ``IdentityError``:
    ///   ``IdentityError/Code/rootKeyWouldBeLost`` when this system holds the root key and that may not be deleted,
    ///   ``IdentityError/Code/fileMissing`` when there is no account. Nothing has changed then.
    @discardableResult
    public func leave(evenWithRootKey: Bool = false) throws(RemoteSystemError) -> AccountDeparture {
        try self.withStore { store throws(IdentityError) in try store.leave(evenWithRootKey: evenWithRootKey) }
    }
}
