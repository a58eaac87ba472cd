// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A file of the store with choices of the user, whose contents other layers define.
package enum SettingsFile: String, Sendable, CaseIterable {
    /// What hand-off may do.
    case handOff = "hand-off.json"
}

/// The user's choices. They stay when the account changes, because they are about the machine.
extension AccountStore {
    /// The path of a file, for error messages.
    package func path(of file: SettingsFile) -> String { "\(self.directory)/\(file.rawValue)" }

    /// The contents of a file; `nil` if there is none.
    ///
    /// - Throws: ``IdentityError``, also if other users can access the file.
    package func contents(of file: SettingsFile) throws(IdentityError) -> [UInt8]? {
        guard let state = try SecretDirectory.open(path: self.directory) else { return nil }
        return try state.read(file.rawValue)
    }

    /// Replaces a file while no other process changes it.
    ///
    /// - Parameter update: returns the new contents. Gets the present ones; `nil` if there is no file.
    /// - Throws: ``IdentityError``, also if other users can access the file; the error of `update`.
    package func update(
        _ file: SettingsFile,
        _ update: ([UInt8]?) throws(IdentityError) -> [UInt8]
    ) throws(IdentityError) {
        let state = try SecretDirectory.make(path: self.directory)
        try state.withLock { () throws(IdentityError) in
            try state.replace(file.rawValue, try update(try state.read(file.rawValue)))
        }
    }
}
