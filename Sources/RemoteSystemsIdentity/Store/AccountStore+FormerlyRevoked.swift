// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The systems that were revoked before a stolen root key was replaced here.
///
/// The new list of revoked systems is empty, because no certificate is left that it could be about. This record keeps
/// the owner from inviting such a system by mistake. It decides about no peer.
extension AccountStore {
    /// The systems that were revoked before a stolen root key was replaced here, and that this machine has not admitted
    /// since.
    package func formerlyRevokedSystems() throws(IdentityError) -> [SystemID] {
        guard let state = try SecretDirectory.open(path: self.directory),
            let account = try state.subdirectory(Self.accountName)
        else { return [] }
        return try Self.formerlyRevoked(in: account)
    }

    private static func formerlyRevoked(
        in account: borrowing SecretDirectory
    ) throws(IdentityError) -> [SystemID] {
        try Self.systems(listedIn: StoredAccount.File.formerlyRevoked, of: account)
    }

    /// The path of the record if it is missing, or has fewer lines than it had, as one of a backup; `nil` otherwise.
    ///
    /// Only a warning follows, and not an unusable account as after the loss of the revocation list: the record decides
    /// about no peer.
    package func lostFormerlyRevoked() throws(IdentityError) -> String? {
        let isLost =
            try self.reading { (account, stored) throws(IdentityError) -> Bool in
                try Self.lacksFormerlyRevoked(account, stored)
            } ?? false
        guard isLost else { return nil }
        // Another process may have been between the two files.
        return try self.withAccount(evenIfReadOnly: true) { (account, stored) throws(IdentityError) -> String? in
            try Self.lacksFormerlyRevoked(account, stored) ? account.path(of: StoredAccount.File.formerlyRevoked) : nil
        }
    }

    private static func lacksFormerlyRevoked(
        _ account: borrowing SecretDirectory,
        _ stored: StoredAccount
    ) throws(IdentityError) -> Bool {
        let lines = try Self.lines(of: StoredAccount.File.formerlyRevoked, in: account)
        return lines.count < stored.formerlyRevoked ?? 0
    }

    /// Adds the systems on the list of a stolen root key to the record. Can be repeated after a crash.
    ///
    /// The thief can have revoked any number of invented systems. So those that joined here come first, and the record
    /// is as bounded as a list.
    static func recordFormerlyRevoked(
        _ list: RevocationList?,
        of stored: StoredAccount,
        in account: borrowing SecretDirectory
    ) throws(IdentityError) {
        // Damaged files must not keep a stolen key from being replaced.
        let known = (try? Self.formerlyRevoked(in: account)) ?? []
        let joined = Set((try? Self.joinedSystems(in: account)) ?? [])
        let all = Set(known).union(list?.allSystems ?? []).subtracting([stored.identity.systemID])
        let sorted = all.intersection(joined).sorted() + all.subtracting(joined).sorted()
        let record = Array(sorted.prefix(RevocationList.maxSystems))
        if all != Set(known) {
            try account.replace(StoredAccount.File.formerlyRevoked, StoredAccount.systemsFile(record))
        }
        // After the file, and in the next function before it: a crash between the two must not look like a loss. What
        // was lost before stays lost: only what is new is added.
        let present = Set(known).count
        let count = max((stored.formerlyRevoked ?? present) + max(record.count - present, 0), record.count)
        guard count > 0 || stored.formerlyRevoked != nil else { return }
        try StoredAccount.record(formerlyRevoked: count, in: account)
    }

    /// Removes a system from the record, because the owner has admitted it again.
    static func forgetRevocation(
        of system: SystemID,
        from stored: StoredAccount,
        in account: borrowing SecretDirectory
    ) throws(IdentityError) {
        // A damaged record must not keep a system from joining.
        let known = (try? Self.formerlyRevoked(in: account)) ?? []
        guard known.contains(system) else { return }
        if let count = stored.formerlyRevoked {
            try StoredAccount.record(formerlyRevoked: max(count - 1, 0), in: account)
        }
        try account.replace(
            StoredAccount.File.formerlyRevoked,
            StoredAccount.systemsFile(known.filter { $0 != system })
        )
    }
}
