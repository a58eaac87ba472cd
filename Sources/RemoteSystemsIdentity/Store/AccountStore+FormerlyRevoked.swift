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

    /// Adds the systems on the list of a stolen root key to the record. Can be repeated after a crash.
    ///
    /// The thief can have revoked any number of invented systems. So those that joined here come first, and the record
    /// is as bounded as a list.
    static func recordFormerlyRevoked(
        _ list: RevocationList?,
        of own: SystemIdentity,
        in account: borrowing SecretDirectory
    ) throws(IdentityError) {
        // Damaged files must not keep a stolen key from being replaced.
        let known = (try? Self.formerlyRevoked(in: account)) ?? []
        let joined = Set((try? Self.joinedSystems(in: account)) ?? [])
        let all = Set(known).union(list?.allSystems ?? []).subtracting([own.systemID])
        guard all != Set(known) else { return }
        let record = all.intersection(joined).sorted() + all.subtracting(joined).sorted()
        try account.replace(
            StoredAccount.File.formerlyRevoked,
            StoredAccount.systemsFile(Array(record.prefix(RevocationList.maxSystems)))
        )
    }

    /// Removes a system from the record, because the owner has admitted it again.
    static func forgetRevocation(
        of system: SystemID,
        in account: borrowing SecretDirectory
    ) throws(IdentityError) {
        // A damaged record must not keep a system from joining.
        let known = (try? Self.formerlyRevoked(in: account)) ?? []
        guard known.contains(system) else { return }
        try account.replace(
            StoredAccount.File.formerlyRevoked,
            StoredAccount.systemsFile(known.filter { $0 != system })
        )
    }
}
