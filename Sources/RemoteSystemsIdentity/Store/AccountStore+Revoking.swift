// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

extension AccountStore {
    /// The newest revocation list that this machine has received, with the older ones that it does not include; `nil`
    /// if there is none.
    ///
    /// - Throws: ``IdentityError/Code/revocationsLost`` if the list that was stored is gone or older than before.
    package func revocations() throws(IdentityError) -> RevocationList? {
        try self.reading { (account, stored) throws(IdentityError) in
            try StoredAccount.revocations(from: stored.identity, in: account)
        } ?? nil
    }

    /// Revokes a system: signs a revocation list that names it and a new discovery key, and stores both.
    ///
    /// - Parameter evenIfListIsLost: Whether to make a new list if the present one is gone or damaged. The new list
    ///   names only `system` and what can still be read. Other systems keep the other revocations, and send them back.
    /// - Returns: The list in force. If the present list already names the system, this is the present list.
    /// - Throws: ``IdentityError/Code/notAuthority``; ``IdentityError/Code/accountInUse`` if `system` is this system
    ///   itself; ``IdentityError/Code/tooManySystems``; ``IdentityError/Code/revocationsLost``.
    package func revoke(
        _ system: SystemID,
        evenIfListIsLost: Bool = false,
        now: Date
    ) throws(IdentityError) -> RevocationList {
        try self.withAccount { (account, stored) throws(IdentityError) in
            guard let authority = try StoredAccount.authority(in: account) else { throw .notAuthority }
            guard system != stored.identity.systemID else {
                throw IdentityError(
                    .accountInUse,
                    """
                    This system holds the account's root key, so it cannot be revoked. To leave the account: \
                    'remotesystems account leave'.
                    """
                )
            }
            let present: RevocationList?
            do throws(IdentityError) {
                present = try StoredAccount.revocations(from: stored.identity, in: account)
            } catch {
                guard evenIfListIsLost, error.isAboutRevocations else { throw error }
                let readable = try? StoredAccount.readRevocations(of: stored.identity.roots, in: account)
                return try Self.sign(
                    Set(readable?.allSystems ?? []).union([system]),
                    after: readable,
                    by: authority,
                    in: account,
                    now: now
                )
            }
            // A process may have died between the list and its discovery key.
            let key = stored.identity.discoveryKey.position
            if let present, present.contains(system), key.map({ $0 >= present.position }) ?? false { return present }
            return try Self.sign(
                Set(present?.allSystems ?? []).union([system]),
                after: present,
                by: authority,
                in: account,
                now: now
            )
        }
    }

    /// Stores a revocation list that another system sent, if it adds revocations or is newer.
    ///
    /// No revocation is lost: if the newer list lacks systems that an older list of the same root key names, both stay
    /// in force. A machine with the account's root key signs one list of all instead. Another machine that holds the
    /// root key, or held it before this one was recovered, may have revoked systems that this one does not know of.
    ///
    /// If the stored list is lost or damaged, a list at least as new repairs it.
    ///
    /// - Returns: The list in force afterwards.
    /// - Throws: ``IdentityError/Code/rejectedCertificate`` if the list is malformed or no valid root key of the
    ///   account signed it. Nothing is changed then.
    @discardableResult
    package func install(revocations bytes: [UInt8], now: Date) throws(IdentityError) -> RevocationList {
        try self.withAccount { (account, stored) throws(IdentityError) in
            let list: RevocationList
            do throws(TrustError) {
                list = try stored.identity.trustedAccount().revocationList(bytes, now: now)
            } catch {
                throw IdentityError(.rejectedCertificate, error.message, cause: error)
            }
            var present: RevocationList?
            do throws(IdentityError) {
                present = try StoredAccount.revocations(from: stored.identity, in: account)
            } catch {
                guard error.isAboutRevocations,
                    try StoredAccount.recordedRevocations(in: account).map({ list.position >= $0 }) ?? true
                else { throw error }
                present = try? StoredAccount.readRevocations(of: stored.identity.roots, in: account)
            }
            let merged = present?.merging(list) ?? list
            if let authority = try StoredAccount.authority(in: account) {
                let all = Set(merged.allSystems).union(list.allSystems).subtracting([stored.identity.systemID])
                if all.count > merged.systems.count {
                    return try Self.sign(all, after: merged, by: authority, in: account, now: now)
                }
            }
            if merged != present { try StoredAccount.store(merged, in: account) }
            return merged
        }
    }

    /// Stores a signed discovery key that another system sent, if it is newer and the revocation list that was made
    /// with it is stored.
    ///
    /// - Returns: Whether the key was stored.
    /// - Throws: ``IdentityError/Code/rejectedCertificate`` if the key is malformed or no valid root key of the account
    ///   signed it.
    @discardableResult
    package func install(discoveryKey bytes: [UInt8], now: Date) throws(IdentityError) -> Bool {
        try self.withAccount { (account, stored) throws(IdentityError) in
            let own = stored.identity.trustedAccount(
                revocations: try StoredAccount.revocations(from: stored.identity, in: account)
            )
            let key: DiscoveryKey
            do throws(TrustError) {
                key = try own.discoveryKey(bytes, now: now)
            } catch {
                throw IdentityError(.rejectedCertificate, error.message, cause: error)
            }
            guard own.adopts(key) else { return false }
            try StoredAccount.replace(stored.identity, by: key, in: account)
            return true
        }
    }

    /// Signs and stores a revocation list of `systems`, except this one, and a new discovery key.
    ///
    /// Another machine with the root key may have revoked this system. A thief of the key could otherwise make the
    /// owner's own machine sign its revocation.
    static func sign(
        _ systems: Set<SystemID>,
        after list: RevocationList?,
        by authority: AccountAuthority,
        in account: borrowing SecretDirectory,
        now: Date
    ) throws(IdentityError) -> RevocationList {
        let recorded = try StoredAccount.recordedRevocations(in: account)
        let position = [list?.position, recorded].compactMap(\.self).max()
        let identity = try StoredAccount(reading: account).identity
        let others = systems.subtracting([identity.systemID])
        let new = try authority.revocationList(of: others, afterPosition: position, now: now)
        let key = try authority.discoveryKey(with: new)
        // The list first: after a crash between the two files, the system is revoked, and a repeated call signs another
        // key. A key without its list would only hide this system, since the others ignore it.
        try StoredAccount.store(new, in: account)
        try StoredAccount.replace(identity, by: key, in: account)
        return new
    }
}

extension IdentityError {
    /// Whether the stored revocation list cannot be used.
    fileprivate var isAboutRevocations: Bool {
        self.code == .revocationsLost
            || self.code == .damaged && self.path?.hasSuffix("/" + StoredAccount.File.revokedSystems) == true
    }
}
