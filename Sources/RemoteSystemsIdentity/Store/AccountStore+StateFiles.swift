// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// A file of the store whose contents other layers define.
package struct StateFile: Sendable, Hashable {
    let name: String
    /// Whether the file is kept with the account: leaving the account deletes it, and replacing the account moves it
    /// aside. Otherwise it stays when the account changes, because it is about the machine and its user.
    var isOfAccount = false
    /// Whether the file can be made again. If it cannot be read, it is replaced, and a writer waits only a second.
    var isCache = false

    /// Where the account's systems were met.
    package static let knownEndpoints = StateFile(name: "known-endpoints.json", isOfAccount: true, isCache: true)

    /// The systems that names meant.
    package static let namedSystems = StateFile(name: "named-systems.json", isOfAccount: true)

    /// The user's choices of what hand-off may do.
    package static let handOffSettings = StateFile(name: "hand-off.json")

    /// The user's choices of how sites are asked for the applications that they approve.
    package static let associationSettings = StateFile(name: "web-association-settings.json")

    /// What sites have said about applications, until it expires.
    package static let associations = StateFile(name: "web-associations.json")

    /// The activities that an application has saved.
    package static func savedActivities(of application: String) -> StateFile {
        StateFile(name: "saved-activities-\(Self.name(of: application))")
    }

    /// Where a program shows the notifications of offers.
    package static func offerNotifications(by application: String) -> StateFile {
        StateFile(name: "offer-notifications-\(Self.name(of: application))", isCache: true)
    }

    /// An id can be longer than a file name, and contain any character.
    private static func name(of application: String) -> String {
        Base32.encode(SHA256.hash(data: Array(application.utf8)).prefix(20))
    }

    /// The files that are kept with the account.
    static let ofAccount = [Self.knownEndpoints, Self.namedSystems]

    /// The files whose changes running hosts notice.
    package static let followed = [Self.handOffSettings]
}

extension AccountStore {
    /// The path of a file, for error messages.
    package func path(of file: StateFile) -> String {
        file.isOfAccount ? "\(self.directory)/\(Self.accountName)/\(file.name)" : "\(self.directory)/\(file.name)"
    }

    /// The contents of a file; `nil` if there is none.
    ///
    /// - Throws: ``IdentityError``, also if other users can access the file.
    package func contents(of file: StateFile) throws(IdentityError) -> [UInt8]? {
        guard let state = try SecretDirectory.open(path: self.directory) else { return nil }
        guard file.isOfAccount else { return try state.read(file.name) }
        return try state.subdirectory(Self.accountName)?.read(file.name)
    }

    /// Replaces a file while no other process changes it. Does nothing for a file of the account if there is no
    /// account.
    ///
    /// - Parameters:
    ///   - system: the system whose account the contents belong to. Does nothing if the store no longer holds it.
    ///     Defaults to `nil`: any system. Ignored for other files than those of the account.
    ///   - update: returns the new contents; `nil` to leave the file as it is. Gets the present ones, and `nil` if
    ///     there is no file, or if it is a cache that cannot be read.
    /// - Throws: ``IdentityError``, also if other users can access a file that is not a cache;
    ///   ``IdentityError/Code/busy`` if the store's lock is not free in time; the error of `update`.
    package func update(
        _ file: StateFile,
        of system: SystemID? = nil,
        _ update: ([UInt8]?) throws(IdentityError) -> [UInt8]?
    ) throws(IdentityError) {
        guard file.isOfAccount else {
            let state = try SecretDirectory.make(path: self.directory)
            return try state.withLock { () throws(IdentityError) in try Self.rewrite(file, in: state, update) }
        }
        guard let state = try SecretDirectory.open(path: self.directory) else { return }
        try state.withLock(waiting: .seconds(file.isCache ? 1 : 10)) { () throws(IdentityError) in
            guard let account = try state.subdirectory(Self.accountName) else { return }
            if let system, try StoredAccount(reading: account).identity.systemID != system { return }
            try Self.rewrite(file, in: account, update)
        }
    }

    private static func rewrite(
        _ file: StateFile,
        in directory: borrowing SecretDirectory,
        _ update: ([UInt8]?) throws(IdentityError) -> [UInt8]?
    ) throws(IdentityError) {
        let present = file.isCache ? try? directory.read(file.name) : try directory.read(file.name)
        guard let new = try update(present) else { return }
        try directory.replace(file.name, new)
    }
}
