// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import RemoteSystemsIdentity

extension RemoteSystemsAccount {
    /// Replaces the account's root key by a new one. The account keeps its id, and every system keeps its own.
    ///
    /// Only a system that holds the root key can replace it. Other systems receive the new key from a host or a watcher
    /// that runs on this machine, and pass it on. Unless the old key was stolen, they then renew their certificates by
    /// themselves, within seconds if this machine is connected. A system that receives no new certificate within 90
    /// days has to join again (``join(_:evenIfShared:)``); it keeps its id.
    ///
    /// Recovery files of the old key do not restore the authority of the account any more: make a new one
    /// (``exportRecovery(to:passphrase:)``). Another machine that held the old key becomes an ordinary system.
    ///
    /// - Parameters:
    ///   - isStolen: whether another person may have the old key. Everything that it signed is then invalid as soon as
    ///     a system learns of the new key: the certificates of all other systems, each of which has to join again; the
    ///     revocations, since no certificate is left that they are about; and the links with other accounts. Defaults
    ///     to `false`.
    ///   - keptLinks: the linked accounts whose links stay, with the rights that they have now, although the key was
    ///     stolen. A thief can have made links and widened rights: compare ``links()`` before. Defaults to none.
    ///     Without `isStolen`, all links stay.
    /// - Returns: the time at which certificates of the old key become invalid.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity``. Its cause is an ``IdentityError``
    ///   such as ``IdentityError/Code/notAuthority``, ``IdentityError/Code/unknownLink``, or
    ///   ``IdentityError/Code/rootKeysUsedUp`` after 16 root keys. Its text says whether the key was replaced.
    @discardableResult
    public func rotateRootKey(
        isStolen: Bool = false,
        keepingLinks keptLinks: Set<AccountID> = []
    ) throws(RemoteSystemError) -> Date {
        try self.withStore { store throws(IdentityError) in
            _ = try store.identity()
            return try store.rotateRootKey(isStolen: isStolen, keepingLinks: keptLinks, now: Date()).retirement
        }
    }
}
