// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The file `named-systems.json` of the account: the systems that names meant. This layer only keeps it with the
/// account, so that leaving the account deletes it and replacing the account moves it aside.
extension AccountStore {
    static let namedSystemsName = "named-systems.json"

    /// The path of the file, for error messages.
    package var namedSystemsPath: String { "\(self.directory)/\(Self.accountName)/\(Self.namedSystemsName)" }

    /// The contents of the file; `nil` if there is none.
    ///
    /// - Throws: ``IdentityError``, also if other users can access the file.
    package func namedSystems() throws(IdentityError) -> [UInt8]? {
        guard let state = try SecretDirectory.open(path: self.directory),
            let account = try state.subdirectory(Self.accountName)
        else { return nil }
        return try account.read(Self.namedSystemsName)
    }

    /// Replaces the file while no other process changes it. Does nothing if there is no account.
    ///
    /// - Parameter update: returns the new contents; `nil` to leave the file as it is. Gets the present ones, and `nil`
    ///   if there is no file.
    /// - Throws: ``IdentityError``, also if other users can access the file; the error of `update`.
    package func updateNamedSystems(
        _ update: ([UInt8]?) throws(IdentityError) -> [UInt8]?
    ) throws(IdentityError) {
        guard let state = try SecretDirectory.open(path: self.directory) else { return }
        try state.withLock { () throws(IdentityError) in
            guard let account = try state.subdirectory(Self.accountName),
                let bytes = try update(try account.read(Self.namedSystemsName))
            else { return }
            try account.replace(Self.namedSystemsName, bytes)
        }
    }
}
