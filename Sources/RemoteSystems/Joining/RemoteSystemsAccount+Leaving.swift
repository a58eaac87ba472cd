// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity

extension RemoteSystemsAccount {
    /// Leaves the account: deletes this system's identity with its keys and certificates.
    ///
    /// Programs of this user that run under the account notice within two seconds: their connections close, the `run()`
    /// of a ``RemoteSystemHost`` fails with ``RemoteSystemError/Code/identity`` (its cause has
    /// ``IdentityError/Code/accountLeft``), and a ``RemoteSystemWatcher`` reports an error and stops. Such a program
    /// creates no other account. The next program to start creates a new personal account;
    /// ``join(_:evenIfShared:)`` joins another one.
    ///
    /// Other systems need not be reachable and are not notified: without its keys this system can no longer
    /// authenticate. If a copy of the keys may exist elsewhere, also revoke this system's id
    /// (``revoke(_:evenIfListIsLost:)``) on a system that holds the account's root key. Files are deleted but not
    /// overwritten. Accounts that were moved aside earlier are kept.
    ///
    /// - Parameter evenWithRootKey: whether to leave even if this system holds the account's root key. Defaults to
    ///   `false`. If no other system and no recovery file (``exportRecovery(to:passphrase:)``) has the key, no system
    ///   can join or be revoked any more, and the other systems stop working when their certificates expire, at most 90
    ///   days later.
    /// - Returns: what was deleted.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity``; its cause is an ``IdentityError``:
    ///   ``IdentityError/Code/rootKeyWouldBeLost`` when this system holds the root key and `evenWithRootKey` is
    ///   `false`, ``IdentityError/Code/fileMissing`` when there is no account. After an error nothing has changed.
    @discardableResult
    public func leave(evenWithRootKey: Bool = false) throws(RemoteSystemError) -> AccountDeparture {
        try self.withStore { store throws(IdentityError) in try store.leave(evenWithRootKey: evenWithRootKey) }
    }
}
