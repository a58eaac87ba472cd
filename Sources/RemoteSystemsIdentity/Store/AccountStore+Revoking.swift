// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

extension AccountStore {
    /// The newest revocation list that this machine has received; `nil` if there is none.
    package func revocations() throws(IdentityError) -> RevocationList? {
        guard let state = try SecretDirectory.open(path: self.directory),
            let account = try state.subdirectory(Self.accountName)
        else { return nil }
        return try StoredAccount.revocations(from: StoredAccount(reading: account).identity, in: account)
    }

    /// Revokes a system: signs a revocation list that names it, and stores the list.
    ///
    /// - Returns: The list in force. If the present list already names the system, this is the present list.
    /// - Throws: ``IdentityError/Code/notAuthority``; ``IdentityError/Code/accountInUse`` if `system` is this system
    ///   itself; ``IdentityError/Code/tooManySystems``.
    package func revoke(_ system: SystemID, now: Date) throws(IdentityError) -> RevocationList {
        try self.withAccount { (account, stored) throws(IdentityError) in
            guard let authority = try StoredAccount.authority(in: account) else { throw .notAuthority }
            guard system != stored.identity.systemID else {
                throw IdentityError(
                    .accountInUse,
                    """
                    This system holds the account's root key, so it cannot be revoked. To leave the account, join \
                    another one (`remotesystems account join --leave-account`).
                    """
                )
            }
            let present = try StoredAccount.revocations(from: stored.identity, in: account)
            if let present, present.systems.contains(system) { return present }
            return try Self.install(
                Set(present?.systems ?? []).union([system]),
                after: present,
                signedBy: authority,
                in: account,
                now: now
            )
        }
    }

    /// Stores a revocation list that another system sent, if it is newer than the stored one.
    ///
    /// The newest list wins. On a machine with the account's root key, the two lists are merged instead if the older
    /// one names systems that the newer one lacks. Another machine that holds the root key, or held it before this one
    /// was recovered, may have revoked systems that this one does not know of.
    ///
    /// - Returns: The list in force afterwards.
    /// - Throws: ``IdentityError/Code/rejectedCertificate`` if the list is malformed or no valid root key of the
    ///   account signed it. Nothing is changed then.
    package func install(revocations bytes: [UInt8], now: Date) throws(IdentityError) -> RevocationList {
        try self.withAccount { (account, stored) throws(IdentityError) in
            let list: RevocationList
            do throws(TrustError) {
                list = try stored.identity.trustedAccount().revocationList(bytes, now: now)
            } catch {
                throw IdentityError(.rejectedCertificate, error.message, cause: error)
            }
            let present = try StoredAccount.revocations(from: stored.identity, in: account)
            if let present, let authority = try StoredAccount.authority(in: account) {
                let (older, newer) = list.isNewer(than: present) ? (present, list) : (list, present)
                if !Set(newer.systems).isSuperset(of: older.systems) {
                    let all = Set(present.systems).union(list.systems)
                    return try Self.install(all, after: newer, signedBy: authority, in: account, now: now)
                }
            }
            if let present, !list.isNewer(than: present) { return present }
            try account.replace(StoredAccount.File.revokedSystems, StoredAccount.revocationsFile(list))
            return list
        }
    }

    private static func install(
        _ systems: Set<SystemID>,
        after list: RevocationList?,
        signedBy authority: AccountAuthority,
        in account: borrowing SecretDirectory,
        now: Date
    ) throws(IdentityError) -> RevocationList {
        let list = try authority.revocationList(of: systems, after: list, now: now)
        try account.replace(StoredAccount.File.revokedSystems, StoredAccount.revocationsFile(list))
        return list
    }
}
