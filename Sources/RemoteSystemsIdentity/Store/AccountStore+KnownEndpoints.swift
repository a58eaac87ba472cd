// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The file `known-endpoints.json` of the account: where the account's systems were met. This layer only keeps it with
/// the account, so that leaving the account deletes it and replacing the account moves it aside.
extension AccountStore {
    static let knownEndpointsName = "known-endpoints.json"

    /// The contents of the file; `nil` if there is none.
    ///
    /// - Throws: ``IdentityError``, also if other users can access the file.
    package func knownEndpoints() throws(IdentityError) -> [UInt8]? {
        guard let state = try SecretDirectory.open(path: self.directory),
            let account = try state.subdirectory(Self.accountName)
        else { return nil }
        return try account.read(Self.knownEndpointsName)
    }

    /// Replaces the file while no other process changes it. Does nothing if the store no longer holds the system's
    /// account.
    ///
    /// - Parameters:
    ///   - system: this system, whose account the endpoints belong to.
    ///   - update: returns the new contents; `nil` to leave the file as it is. Gets the present ones, and `nil` if
    ///     there is no file or it cannot be read.
    /// - Throws: ``IdentityError``; ``IdentityError/Code/busy`` if the store's lock is not free within a second.
    package func updateKnownEndpoints(
        of system: SystemID,
        _ update: ([UInt8]?) -> [UInt8]?
    ) throws(IdentityError) {
        guard let state = try SecretDirectory.open(path: self.directory) else { return }
        try state.withLock(waiting: .seconds(1)) { () throws(IdentityError) in
            guard let account = try state.subdirectory(Self.accountName),
                try StoredAccount(reading: account).identity.systemID == system,
                let bytes = update(try? account.read(Self.knownEndpointsName))
            else { return }
            try account.replace(Self.knownEndpointsName, bytes)
        }
    }
}
