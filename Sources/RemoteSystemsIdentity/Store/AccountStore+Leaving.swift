// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A system leaves its account in three steps. A crash at any point leaves either the whole account or none:
///
/// 1. The directory `account` is renamed to `.left-` and the system's id. From then on there is no account.
/// 2. The files are deleted, private keys first. This needs no space on the disk.
/// 3. The id is added to the file `left-systems`. From it, running processes learn that their own account was left,
///   even if another account has already replaced it. Then the directory, whose name holds the id, is deleted.
///
/// If a process dies before it completes steps 2 and 3, they are completed before the next change of the store.
extension AccountStore {
    /// Deletes this system's identity: all files of the account, including its keys.
    ///
    /// - Parameter evenWithRootKey: Whether to delete the account's newest root key, too, if it is here.
    /// - Throws: ``IdentityError/Code/rootKeyWouldBeLost`` if that key is here and may not be deleted;
    ///   ``IdentityError/Code/fileMissing`` if there is no account. Nothing is changed in these two cases. After any
    ///   other error, the account has been left unless it still exists, and the file that the error names may remain.
    ///   Calling it again then deletes what remains.
    package func leave(evenWithRootKey: Bool) throws(IdentityError) -> AccountDeparture {
        guard try self.holdsAccount() else {
            if let state = try SecretDirectory.open(path: self.directory) {
                // What an earlier departure has left over.
                let failure = try state.withLock { () throws(IdentityError) in try Self.finishLeaving(state) }
                if let failure { throw failure }
            }
            throw .noAccount(in: self.directory)
        }
        return try self.withAccount { (account, stored) throws(IdentityError) in
            // A root key that was replaced on another machine is of no use, and does not keep this system.
            let hasRootKey = stored.identity.isAuthority
            guard !hasRootKey || evenWithRootKey else {
                // A revoked system does not work already. The list may be lost, which is no reason to stay.
                let revoked = (try? StoredAccount.revocations(from: stored.identity, in: account))?.allSystems ?? []
                let joined = Set(try Self.joinedSystems(in: account)).subtracting(revoked)
                let isKnown = try !Self.hasDamagedLines(StoredAccount.File.joinedSystems, in: account)
                throw .rootKeyWouldBeLost(joined: isKnown ? joined.count : nil)
            }
            guard let state = try SecretDirectory.open(path: self.directory) else {
                throw .noAccount(in: self.directory)
            }
            let system = stored.identity.systemID
            try state.rename(Self.accountName, to: Self.leftPrefix + "\(system)")
            let failure = try Self.finishLeaving(state)
            if let failure { throw failure }
            return AccountDeparture(
                account: stored.identity.accountID,
                system: system,
                heldRootKey: hasRootKey,
                setAside: try state.names().filter { $0.hasPrefix(Self.setAsidePrefix) }.sorted()
                    .map { state.path(of: $0) }
            )
        }
    }

    /// Whether this system left its account under this id. Ids are never reused.
    package func hasLeft(_ system: SystemID) throws(IdentityError) -> Bool {
        guard let state = try SecretDirectory.open(path: self.directory) else { return false }
        return try Self.hasLeft(system, in: state)
    }

    private static func hasLeft(
        _ system: SystemID,
        in state: borrowing SecretDirectory
    ) throws(IdentityError) -> Bool {
        if try Self.leftSystems(in: state).contains("\(system)") { return true }
        // The directory is there until the file names the id.
        return try state.names().contains(Self.leftPrefix + "\(system)")
    }

    /// The systems as which this process uses accounts, by the store's directory. For all parts of the process, also
    /// those that read the files without an account context, and whatever path they use.
    private static let used = Mutex<[SecretDirectory.Identifier: SystemID]>([:])

    /// Notes that this process uses the account as this system. If the system leaves the account, the process creates
    /// no other one: its parts would use different accounts, and it may be about to end because of that.
    package func noteUse(as system: SystemID) throws(IdentityError) {
        guard let state = try SecretDirectory.open(path: self.directory) else { return }
        let directory = try state.identifier()
        Self.used.withLock { $0[directory] = system }
    }

    /// Checks that this process may create an account.
    ///
    /// - Throws: ``IdentityError/Code/accountLeft`` if its own account was left.
    static func checkCreation(in state: borrowing SecretDirectory) throws(IdentityError) {
        let directory = try state.identifier()
        guard let system = Self.used.withLock({ $0[directory] }), try Self.hasLeft(system, in: state) else { return }
        throw IdentityError(
            .accountLeft,
            """
            This system has left its account. Start this program again: it then uses the account that is stored, or \
            creates a new one.
            """
        )
    }

    static let leftPrefix = ".left-"
    private static let leftSystemsName = "left-systems"
    /// The maximum number of ids in the file; the oldest are dropped. A running process needs only the id that it
    /// started with, so old ids can go.
    private static let maxLeftSystems = 256

    private static func leftSystems(in state: borrowing SecretDirectory) throws(IdentityError) -> [String] {
        guard let bytes = try state.read(Self.leftSystemsName) else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Completes interrupted departures: records the ids and deletes the files. Call it only while holding the lock.
    ///
    /// - Returns: The first error that prevented the deletion of a file. It must not prevent this system from getting
    ///   another account.
    @discardableResult
    static func finishLeaving(_ state: borrowing SecretDirectory) throws(IdentityError) -> IdentityError? {
        var failure: IdentityError?
        for name in try state.names() where name.hasPrefix(Self.leftPrefix) {
            do throws(IdentityError) {
                let undeleted = try Self.deleteFiles(in: name, of: state)
                try Self.record(left: String(name.dropFirst(Self.leftPrefix.count)), in: state)
                if let undeleted { throw undeleted }
                try state.removeEmptySubdirectory(name)
            } catch {
                failure = failure ?? error
            }
        }
        return failure
    }

    private static func deleteFiles(
        in name: String,
        of state: borrowing SecretDirectory
    ) throws(IdentityError) -> IdentityError? {
        try state.subdirectory(name)?.deleteFiles(first: [
            StoredAccount.File.rootKey, StoredAccount.File.nextRootKey, StoredAccount.File.systemKey,
            StoredAccount.File.discoveryKey, StoredAccount.File.formerDiscoveryKeys, StoredAccount.File.links,
        ])
    }

    private static func record(left system: String, in state: borrowing SecretDirectory) throws(IdentityError) {
        var systems = try Self.leftSystems(in: state)
        guard !systems.contains(system) else { return }
        systems.append(system)
        let text = systems.suffix(Self.maxLeftSystems).map { "\($0)\n" }.joined()
        try state.replace(Self.leftSystemsName, Array(text.utf8))
    }
}

extension IdentityError {
    static func noAccount(in directory: String) -> IdentityError {
        IdentityError(.fileMissing, "\(directory) holds no account, so there is nothing to leave.", path: directory)
    }

    /// - Parameter count: The number of systems that joined here and were not revoked; `nil` if it is not known.
    fileprivate static func rootKeyWouldBeLost(joined count: Int?) -> IdentityError {
        let others =
            switch count {
            case nil:
                "The record of the systems that were admitted here is damaged, so their number is not known; they stop "
                    + "working within 90 days."
            case 0?: "No other system that is still a member was admitted here."
            case 1?: "1 other system was admitted here and not revoked; it stops working within 90 days."
            case let count?:
                "\(count) other systems were admitted here and not revoked; they stop working within 90 days."
            }
        return IdentityError(
            .rootKeyWouldBeLost,
            """
            This system holds the account's root key. If it is the only one that does, the account ends: no system can \
            join or be revoked any more, and no certificate is renewed. \(others) Nothing was changed. To keep the \
            account, write its recovery file first ('remotesystems account export') and read it on another machine \
            ('remotesystems account import'). To delete the key all the same, confirm that ('--force').
            """
        )
    }
}
