// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
package import FoundationEssentials

extension AccountStore {
    /// Checks that ``adopt(_:revocations:evenIfShared:now:)`` will succeed, before an invitation is used for it.
    ///
    /// - Parameter evenIfMember: Whether a system that belongs to `account` already may join it again although it does
    ///   not know that it has to. It may not have heard of its revocation or of a stolen root key.
    /// - Returns: The identity whose key this system should keep, so that it keeps its id; `nil` for a new key. A
    ///   system that belongs to `account` already may join it again if it cannot use its membership any more: its
    ///   certificate has expired, the root key that signed the certificate is retired, or the revocation list is lost.
    ///   A system that was revoked also may, with a new key.
    /// - Throws: ``IdentityError/Code/accountInUse`` if this system already is a usable system of `account`, or holds
    ///   its root key, or if its present account is shared and may not be left; the errors of a store that cannot be
    ///   used.
    @discardableResult
    package func checkAdoption(
        of account: AccountID,
        evenIfShared: Bool,
        evenIfMember: Bool = false,
        now: Date
    ) throws(IdentityError) -> SystemIdentity? {
        let state = try SecretDirectory.make(path: self.directory)
        return try state.withLock { () throws(IdentityError) in
            let present = try Self.loadSettled(from: state)
            try Self.checkFreeSpace(in: state, isSameAccount: present?.identity.accountID == account)
            guard let present else { return nil }
            guard present.identity.accountID == account else {
                if !evenIfShared { try Self.checkUnshared(present, in: state) }
                return nil
            }
            guard !present.identity.isAuthority else {
                throw IdentityError(
                    .accountInUse,
                    """
                    This system holds the root key of account \(account.short), so there is nothing to join. If other \
                    systems refuse it because the root key was replaced on another machine, this key is of no use: run \
                    'remotesystems account leave --force' here, then join again. This system then gets a new id.
                    """
                )
            }
            if !evenIfMember, try !Self.mustRejoin(present, in: state, now: now) {
                throw IdentityError(
                    .accountInUse,
                    """
                    This system belongs to account \(account.short) already, so there is nothing to join. If others \
                    refuse it, use an invitation ('remotesystems account invite' there, \
                    'remotesystems account join' here).
                    """
                )
            }
            let list = try? Self.knownRevocations(of: present, in: state)
            return list?.contains(present.identity.systemID) == true ? nil : present.identity
        }
    }

    /// The account by which another system of it recognises that there is nothing to pair with this one.
    ///
    /// - Returns: `nil` if this system has no account, or may join its account again
    ///   (``checkAdoption(of:evenIfShared:evenIfMember:now:)``).
    package func pairingAccount(now: Date) throws(IdentityError) -> PairingAccount? {
        let state = try SecretDirectory.make(path: self.directory)
        return try state.withLock { () throws(IdentityError) in
            guard let present = try Self.loadSettled(from: state) else { return nil }
            let identity = present.identity
            if !identity.isAuthority, try Self.mustRejoin(present, in: state, now: now) { return nil }
            return PairingAccount(identity.accountID, identity.discoveryKey)
        }
    }

    /// Whether a system cannot use its membership any more.
    private static func mustRejoin(
        _ present: StoredAccount,
        in state: borrowing SecretDirectory,
        now: Date
    ) throws(IdentityError) -> Bool {
        let identity = present.identity
        do throws(IdentityError) {
            if try Self.knownRevocations(of: present, in: state)?.contains(identity.systemID) == true { return true }
        } catch {
            guard error.code == .revocationsLost || error.code == .damaged else { throw error }
            return true
        }
        if identity.roots.isRetired(identity.root, at: now) { return true }
        return identity.certificateValidity.upperBound <= now
    }

    private static func knownRevocations(
        of present: StoredAccount,
        in state: borrowing SecretDirectory
    ) throws(IdentityError) -> RevocationList? {
        guard let account = try state.subdirectory(Self.accountName) else { return nil }
        return try StoredAccount.revocations(from: present.identity, in: account)
    }

    /// Checks that the files of an account that this system may join can be written, before it is known which one.
    func checkNewAccount() throws(IdentityError) {
        let state = try SecretDirectory.make(path: self.directory)
        try state.withLock { () throws(IdentityError) in try Self.checkFreeSpace(in: state, isSameAccount: false) }
    }

    /// Checks that the files of a joined account can be written. After joining it is too late: the invitation is used
    /// by then.
    private static func checkFreeSpace(
        in state: borrowing SecretDirectory,
        isSameAccount: Bool
    ) throws(IdentityError) {
        // As many files as a new account has, each at least as large.
        var sizes = [Int](repeating: 4096, count: 6)
        if isSameAccount, let account = try state.subdirectory(Self.accountName) {
            // Most of the present files are carried over, such as the links. The inviter may send a revocation list.
            sizes = [4096]
            for name in try account.names() {
                if let bytes = try? account.read(name) { sizes.append(bytes.count) }
            }
        }
        try state.checkSpace(for: Self.accountName, sizes)
    }

    /// Makes the account that this system joined the store's account.
    ///
    /// A previous account is moved to a dated directory beside it.
    ///
    /// What names meant in the same account stays.
    ///
    /// - Parameters:
    ///   - revocations: The account's revocation list, as the inviter sent it. The list that this system knew of the
    ///     same account is added, if the root keys of `joined` signed it.
    ///   - evenIfShared: Whether to leave the present account even if other systems belong to it.
    /// - Throws: ``IdentityError/Code/accountInUse`` if the present account is shared and may not be left;
    ///   ``IdentityError/Code/notAuthority`` if this system knows a newer root key of the account than `joined` has,
    ///   and may not leave the present account. An older root key may be in other hands.
    package func adopt(
        _ joined: SystemIdentity,
        revocations: RevocationList? = nil,
        evenIfShared: Bool = false,
        now: Date
    ) throws(IdentityError) -> AccountChange {
        let state = try SecretDirectory.make(path: self.directory)
        return try state.withLock { () throws(IdentityError) in
            var list = revocations
            var kept: [(name: String, bytes: [UInt8])] = []
            var formerlyRevoked: Int?
            if let present = try Self.loadSettled(from: state) {
                if present.identity.accountID == joined.accountID {
                    if !evenIfShared { try Self.check(joined.roots, areNewestIn: present.identity.roots) }
                    for bytes in (try? Self.knownRevocations(of: present, in: state))?.allBytes ?? [] {
                        // In a conflict of root keys, the list may be one that the joined account cannot verify.
                        guard let known = try? RevocationList(bytes, of: joined.roots) else { continue }
                        list = list?.merging(known) ?? known
                    }
                    kept = try Self.filesToKeep(of: present, verifiedBy: joined.roots, in: state)
                    formerlyRevoked = present.formerlyRevoked
                } else if !evenIfShared {
                    try Self.checkUnshared(present, in: state)
                }
            }
            let files = try StoredAccount.files(
                of: joined,
                rootKey: nil,
                revocations: list,
                formerlyRevoked: formerlyRevoked,
                created: now
            )
            let setAside = try Self.install(files + kept, in: state, settingAsideAt: now)
            try Self.recordNewestLists(list, of: joined, in: state)
            return AccountChange(identity: joined, setAside: setAside)
        }
    }

    /// The files that stay when a system joins or recovers the account that it has: those of the links, if the root
    /// keys verify them, because only this system may have received a revocation of a linked account; the record of
    /// formerly revoked systems; and those of other layers. Those that cannot be read are set aside with the rest.
    private static func filesToKeep(
        of present: StoredAccount,
        verifiedBy roots: RootChain,
        in state: borrowing SecretDirectory
    ) throws(IdentityError) -> [(name: String, bytes: [UInt8])] {
        guard let account = try state.subdirectory(Self.accountName) else { return [] }
        var files = StoredAccount.linkFiles(of: present.identity, verifiedBy: roots, in: account)
        for name in StateFile.ofAccount.map(\.name) + [StoredAccount.File.formerlyRevoked] {
            if let bytes = try? account.read(name) { files.append((name, bytes)) }
        }
        return files
    }

    /// Checks that an account to join has no older root key than this system knows.
    private static func check(_ joined: RootChain, areNewestIn known: RootChain) throws(IdentityError) {
        // With a conflict of root keys, the person has decided by the invitation.
        guard joined.count < known.count, let extended = try? joined.extended(by: known), extended == known else {
            return
        }
        throw IdentityError(
            .notAuthority,
            """
            The inviting machine's root key was replaced by a newer one, which this machine knows, so nothing was \
            joined. Make an invitation on the machine with the newest root key. If that key is lost: \
            'remotesystems account join --leave-account'.
            """
        )
    }

    /// Stores a recovered account, with a new certificate for this system.
    ///
    /// If this system already belongs to that account, it keeps its id and becomes the account's authority.
    func restore(
        _ authority: AccountAuthority,
        discoveryKey: DiscoveryKey,
        revocations recovered: RevocationList?,
        joined: [SystemID],
        links: LinkList?,
        created: Date,
        evenIfShared: Bool,
        now: Date
    ) throws(IdentityError) -> AccountChange {
        let state = try SecretDirectory.make(path: self.directory)
        return try state.withLock { () throws(IdentityError) in
            let present = try Self.loadForRecovery(from: state)
            let isSame = present?.identity.accountID == authority.accountID
            if let present, !isSame, !evenIfShared {
                try Self.checkUnshared(present, in: state)
            }
            if isSame, let present { try Self.check(authority, isNewestIn: present.identity.roots) }
            var systemKey = P256.Signing.PrivateKey()
            var joinedSystems = joined
            var (revocations, discoveryKey) = (recovered, discoveryKey)
            var kept: [(name: String, bytes: [UInt8])] = []
            if isSame, let present, let account = try state.subdirectory(Self.accountName) {
                systemKey = present.identity.systemKey
                // A damaged file must not prevent the recovery that replaces it.
                let known = (try? Self.joinedSystems(in: account)) ?? []
                joinedSystems = known + joined.filter { !known.contains($0) }
                // A damaged list must not prevent the recovery that repairs it. Other systems send the list again.
                if let known = try? StoredAccount.readRevocations(of: present.identity.roots, in: account) {
                    revocations = revocations?.merging(known) ?? known
                }
                if present.identity.discoveryKey.isNewer(than: discoveryKey) {
                    discoveryKey = present.identity.discoveryKey
                }
                kept = try Self.filesToKeep(of: present, verifiedBy: authority.roots, in: state)
            }
            if let links, !kept.contains(where: { $0.name == StoredAccount.File.links }) {
                kept.append((StoredAccount.File.links, StoredAccount.linksFile(links)))
            }
            let identity = try SystemIdentity.founding(
                authority,
                discoveryKey: discoveryKey,
                systemKey: systemKey,
                now: now
            )
            let files = try StoredAccount.files(
                of: identity,
                rootKey: authority.rootKey,
                joinedSystems: joinedSystems.filter { $0 != identity.systemID },
                revocations: revocations,
                formerlyRevoked: isSame ? present?.formerlyRevoked : nil,
                created: created
            )
            let setAside = try Self.install(files + kept, in: state, settingAsideAt: now)
            try Self.recordNewestLists(revocations, of: identity, in: state)
            guard let list = revocations, !list.older.isEmpty, let account = try state.subdirectory(Self.accountName)
            else { return AccountChange(identity: identity, setAside: setAside) }
            // A machine that joins, or an account that is linked, receives one list only. After a failure the lists
            // stay in force as they are, and the next one is signed with the systems of all.
            _ = try? Self.sign(Set(list.allSystems), after: list, by: authority, in: account, now: now)
            return AccountChange(identity: try StoredAccount(reading: account).identity, setAside: setAside)
        }
    }

    /// Checks that the recovered root key was not replaced after its file was written.
    private static func check(_ authority: AccountAuthority, isNewestIn known: RootChain) throws(IdentityError) {
        do throws(TrustError) {
            guard try authority.roots.extended(by: known).count > authority.roots.count else { return }
        } catch {
            throw IdentityError(.conflictingRoots, error.message, cause: error)
        }
        throw IdentityError(
            .notAuthority,
            """
            The root key in the recovery file has been replaced by a newer one, so it cannot be used. Nothing was \
            changed. Use a recovery file that was written after the replacement.
            """
        )
    }

    /// The present account; `nil` if there is none, or if it is damaged. Recovery sets a damaged account aside.
    private static func loadForRecovery(
        from state: borrowing SecretDirectory
    ) throws(IdentityError) -> StoredAccount? {
        do throws(IdentityError) {
            return try Self.loadSettled(from: state, isForRecovery: true)
        } catch  where error.code == .damaged {
            return nil
        }
    }

    private static func checkUnshared(
        _ present: StoredAccount,
        in state: borrowing SecretDirectory
    ) throws(IdentityError) {
        let isPersonal =
            if present.identity.isAuthority, let account = try state.subdirectory(Self.accountName) {
                try Self.isPersonal(account)
            } else {
                false
            }
        guard isPersonal else {
            throw IdentityError(
                .accountInUse,
                """
                This system belongs to account \(present.identity.accountID.short), which it shares with others, so it \
                was not replaced. To leave that account, use '--leave-account'; its files are moved aside, not deleted.
                """
            )
        }
    }
}
