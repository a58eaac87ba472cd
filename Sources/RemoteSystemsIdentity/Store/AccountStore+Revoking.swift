// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

extension AccountStore {
    /// The systems that were revoked from the account, as far as this machine has heard; `nil` if none ever was.
    package func revocations() throws(IdentityError) -> RevocationList? {
        guard let state = try SecretDirectory.open(path: self.directory),
            let account = try state.subdirectory(Self.accountName)
        else { return nil }
        return try StoredAccount.revocations(from: StoredAccount(reading: account).identity, in: account)
    }

    /// Revokes a system: signs a list with it in, and stores that.
    ///
    /// - Returns: The list in force, which is the one that was there if it named the system already.
    /// - Throws: ``IdentityError/Code/notAuthority``; ``IdentityError/Code/accountInUse`` for this system itself;
    ///   ``IdentityError/Code/tooManySystems``.
    package func revoke(_ system: SystemID, now: Date) throws(IdentityError) -> RevocationList {
        try self.withAccount { (account, stored) throws(IdentityError) in
            guard let authority = try StoredAccount.authority(in: account) else { throw .notAuthority }
            guard system != stored.identity.systemID else {
                throw IdentityError(
                    .accountInUse,
                    """
                    This is the very system that holds the account's key, so it cannot be revoked. To leave the \
                    account, join another one (`remotesystems account join --leave-account`).
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

    /// Takes a list in that another system passed on, if it says more than the one that is here.
    ///
    /// The newest list wins. Where the account's key is, the two are made one instead: another machine that holds the
    /// key, too, or held it before this one was recovered, may have revoked systems of which this one never heard.
    ///
    /// - Returns: The list in force then.
    /// - Throws: ``IdentityError/Code/rejectedCertificate`` when the account's key did not sign it; nothing is changed then.
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
