// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
package import FoundationEssentials

extension AccountStore {
    /// Makes sure, before an invitation is spent on it, that ``adopt(_:evenIfShared:now:)`` will not be refused.
    ///
    /// - Throws: ``IdentityError/Code/accountInUse`` when this system belongs to `account` already, or its present account
    ///   is shared and may not be left; what keeps the store from being used.
    package func checkAdoption(of account: AccountID, evenIfShared: Bool) throws(IdentityError) {
        let state = try SecretDirectory.make(path: self.directory)
        try state.withLock { () throws(IdentityError) in
            try Self.checkFreeSpace(in: state)
            guard let present = try Self.loadSettled(from: state) else { return }
            guard present.identity.accountID != account else {
                throw IdentityError(
                    .accountInUse,
                    "This system belongs to account \(account.short) already, so there is nothing to join."
                )
            }
            if !evenIfShared { try Self.checkUnshared(present, in: state) }
        }
    }

    /// Whether what a joined account takes can be written: an invitation is used up by then.
    private static func checkFreeSpace(in state: borrowing SecretDirectory) throws(IdentityError) {
        let page = [UInt8](repeating: 0, count: 4096)
        let trial = Self.temporaryPrefix + SecretDirectory.uniqueSuffix()
        // As many files as an account has, and no smaller.
        try state.makeSubdirectory(trial, files: (0..<6).map { ("\($0)", page) })
        state.removeSubdirectory(trial)
    }

    /// Makes the account that this system joined the store's own.
    ///
    /// The personal account that first use made is moved to a dated directory beside it.
    ///
    /// - Parameter evenIfShared: Whether to leave an account, too, that other systems belong to.
    /// - Throws: ``IdentityError/Code/accountInUse`` when the present account is shared and may not be left.
    package func adopt(
        _ joined: SystemIdentity,
        evenIfShared: Bool = false,
        now: Date
    ) throws(IdentityError) -> AccountChange {
        let files = try StoredAccount.files(of: joined, rootKey: nil, created: now)
        let state = try SecretDirectory.make(path: self.directory)
        return try state.withLock { () throws(IdentityError) in
            if let present = try Self.loadSettled(from: state), !evenIfShared {
                try Self.checkUnshared(present, in: state)
            }
            let setAside = try Self.install(files, in: state, settingAsideAt: now)
            return AccountChange(identity: joined, setAside: setAside)
        }
    }

    /// Puts a recovered account in the store, with a new certificate for this system.
    ///
    /// A system that belongs to that account already keeps its id and becomes the account's authority.
    func restore(
        _ authority: AccountAuthority,
        discoveryKey: DiscoveryKey,
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
            var joinedSystems: [UInt8]?
            var revocations: RevocationList?
            if isSame, let present, let account = try state.subdirectory(Self.accountName) {
                systemKey = present.identity.systemKey
                joinedSystems = try account.read(StoredAccount.File.joinedSystems)
                // A damaged list must not stand in the way of what repairs it: others bring it back.
                revocations = try? StoredAccount.revocations(from: present.identity, in: account)
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
                joinedSystems: joinedSystems,
                revocations: revocations,
                created: created
            )
            let setAside = try Self.install(files, in: state, settingAsideAt: now)
            return AccountChange(identity: identity, setAside: setAside)
        }
    }

    /// Makes sure that a recovered root key was not replaced since its file was written.
    private static func check(_ authority: AccountAuthority, isNewestIn known: RootChain) throws(IdentityError) {
        do throws(TrustError) {
            guard try authority.roots.extended(by: known).count > authority.roots.count else { return }
        } catch {
            throw IdentityError(.conflictingRoots, error.message, cause: error)
        }
        throw IdentityError(
            .notAuthority,
            """
            The root key in the recovery file was replaced by a newer one since, so it cannot be used. Nothing was \
            changed. Use a recovery file that was made after that.
            """
        )
    }

    /// The present account; nil, too, when it is damaged, which is what recovery is for and what it sets aside.
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
                try Self.joinedSystems(in: account).isEmpty
            } else {
                false
            }
        guard isPersonal else {
            throw IdentityError(
                .accountInUse,
                """
                This system belongs to account \(present.identity.accountID.short), which it shares with others, so it \
                was not replaced. To leave that account, say so (`--leave-account`); it is kept aside, not deleted.
                """
            )
        }
    }
}
