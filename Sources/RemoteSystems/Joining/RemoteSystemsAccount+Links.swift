// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import RemoteSystemsIdentity

/// Links with other people's accounts. `remotesystems pair` makes a link. Only a machine with the account's root key
/// can make, change or withdraw one.
extension RemoteSystemsAccount {
    /// Returns the links with other accounts, withdrawn ones included, in ascending order of the accounts' ids.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when the account's files cannot be
    ///   read. Its cause is an ``IdentityError``.
    public func links() throws(RemoteSystemError) -> [AccountLink] {
        try self.withStore { store throws(IdentityError) in try store.links().links }
    }

    /// Changes the rights that this account grants to a linked account.
    ///
    /// Programs of this machine apply the change within two seconds; other systems of the account receive it as they
    /// receive revocations. Open connections with systems of the linked account end, so that they continue with the new
    /// rights only.
    ///
    /// - Parameters:
    ///   - grants: the rights, in place of all earlier ones.
    ///   - account: the id of the linked account.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity``. Its cause is an ``IdentityError`` such
    ///   as ``IdentityError/Code/notAuthority``, ``IdentityError/Code/unknownLink``, or
    ///   ``IdentityError/Code/invalidLink`` for grants that break a rule.
    public func grant(_ grants: Grants, to account: AccountID) throws(RemoteSystemError) {
        try self.withStore { store throws(IdentityError) in _ = try store.grant(grants, to: account, now: Date()) }
    }

    /// Withdraws the link with an account. Its systems lose all rights on the systems of this account, and this account
    /// uses none of the rights that it was granted.
    ///
    /// Programs of this machine close their connections with systems of that account within two seconds; other systems
    /// of this account do so when they receive the change. The systems of the other account that have such a connection
    /// learn of it as it ends, and pass it on; the others when they next connect. To notify those that are reachable,
    /// run a ``RemoteSystemWatcher`` that lists systems of linked accounts meanwhile. To link the accounts again, pair
    /// them again.
    ///
    /// - Parameter account: the id of the linked account.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity``. Its cause is an ``IdentityError`` such
    ///   as ``IdentityError/Code/notAuthority`` or ``IdentityError/Code/unknownLink``.
    public func unlink(_ account: AccountID) throws(RemoteSystemError) {
        try self.withStore { store throws(IdentityError) in _ = try store.unlink(account, now: Date()) }
    }
}
