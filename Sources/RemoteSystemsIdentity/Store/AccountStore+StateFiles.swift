// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// A file of the store whose contents other layers define. It stays when the account changes, because it is about the
/// machine and its user.
package struct StateFile: Sendable, Hashable {
    let name: String

    /// The user's choices of what hand-off may do.
    package static let handOffSettings = StateFile(name: "hand-off.json")

    /// The user's choices of how sites are asked for the applications that they approve.
    package static let associationSettings = StateFile(name: "web-association-settings.json")

    /// What sites have said about applications, until it expires.
    package static let associations = StateFile(name: "web-associations.json")

    /// The activities that an application has saved.
    package static func savedActivities(of application: String) -> StateFile {
        // An id can be longer than a file name, and contain any character.
        let digest = SHA256.hash(data: Array(application.utf8))
        return StateFile(name: "saved-activities-\(Base32.encode(digest.prefix(20)))")
    }

    /// The files whose changes running hosts notice.
    package static let followed = [Self.handOffSettings]
}

extension AccountStore {
    /// The path of a file, for error messages.
    package func path(of file: StateFile) -> String { "\(self.directory)/\(file.name)" }

    /// The contents of a file; `nil` if there is none.
    ///
    /// - Throws: ``IdentityError``, also if other users can access the file.
    package func contents(of file: StateFile) throws(IdentityError) -> [UInt8]? {
        guard let state = try SecretDirectory.open(path: self.directory) else { return nil }
        return try state.read(file.name)
    }

    /// Replaces a file while no other process changes it.
    ///
    /// - Parameter update: returns the new contents; `nil` to leave the file as it is. Gets the present ones; `nil` if
    ///   there is no file.
    /// - Throws: ``IdentityError``, also if other users can access the file; the error of `update`.
    package func update(
        _ file: StateFile,
        _ update: ([UInt8]?) throws(IdentityError) -> [UInt8]?
    ) throws(IdentityError) {
        let state = try SecretDirectory.make(path: self.directory)
        try state.withLock { () throws(IdentityError) in
            guard let new = try update(try state.read(file.name)) else { return }
            try state.replace(file.name, new)
        }
    }
}
