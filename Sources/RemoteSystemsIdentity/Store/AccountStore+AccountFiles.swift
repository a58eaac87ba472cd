// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A file of the account whose contents other layers define. This layer keeps it with the account, so that leaving the
/// account deletes it and replacing the account moves it aside.
package struct AccountFile: Sendable, Hashable {
    let name: String
    /// Whether the file can be made again. If it cannot be read, it is replaced, and a writer waits only a second.
    let isCache: Bool

    /// Where the account's systems were met.
    package static let knownEndpoints = AccountFile(name: "known-endpoints.json", isCache: true)
    /// The systems that names meant.
    package static let namedSystems = AccountFile(name: "named-systems.json", isCache: false)
}

extension AccountStore {
    /// The path of a file, for error messages.
    package func path(of file: AccountFile) -> String { "\(self.directory)/\(Self.accountName)/\(file.name)" }

    /// The contents of a file; `nil` if there is none.
    ///
    /// - Throws: ``IdentityError``, also if other users can access the file.
    package func contents(of file: AccountFile) throws(IdentityError) -> [UInt8]? {
        guard let state = try SecretDirectory.open(path: self.directory),
            let account = try state.subdirectory(Self.accountName)
        else { return nil }
        return try account.read(file.name)
    }

    /// Replaces a file while no other process changes it. Does nothing if there is no account.
    ///
    /// - Parameters:
    ///   - system: the system whose account the contents belong to. Does nothing if the store no longer holds it.
    ///     Defaults to `nil`: any system.
    ///   - update: returns the new contents; `nil` to leave the file as it is. Gets the present ones, and `nil` if
    ///     there is no file, or if it is a cache that cannot be read.
    /// - Throws: ``IdentityError``, also if other users can access a file that is not a cache;
    ///   ``IdentityError/Code/busy`` if the store's lock is not free in time; the error of `update`.
    package func update(
        _ file: AccountFile,
        of system: SystemID? = nil,
        _ update: ([UInt8]?) throws(IdentityError) -> [UInt8]?
    ) throws(IdentityError) {
        guard let state = try SecretDirectory.open(path: self.directory) else { return }
        try state.withLock(waiting: .seconds(file.isCache ? 1 : 10)) { () throws(IdentityError) in
            guard let account = try state.subdirectory(Self.accountName) else { return }
            if let system, try StoredAccount(reading: account).identity.systemID != system { return }
            let present = file.isCache ? try? account.read(file.name) : try account.read(file.name)
            guard let bytes = try update(present) else { return }
            try account.replace(file.name, bytes)
        }
    }
}
