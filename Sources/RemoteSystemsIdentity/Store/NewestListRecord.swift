// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// The position of the newest revocation list, or list of links, that a system stored in an account's directory, kept
/// outside the state directory: in `$XDG_CACHE_HOME/remote-systems`, else `~/.cache/remote-systems`.
///
/// A backup of the whole state directory holds an older `account.json` with the older list, so neither shows that the
/// list is older than before. This record does, if it was not restored, too. Without it, for example because the user
/// emptied the cache or the cache cannot be written, only other systems notice. So no error of its file matters.
struct NewestListRecord {
    /// The lists whose positions are recorded, each with the beginning of the names of its records.
    enum Kind: String {
        case revocations = "newest-list-"
        case links = "newest-links-"
    }

    /// The maximum number of records of a user for each kind of list. The oldest ones are removed.
    static let maxRecords = 256

    private let kind: Kind
    private let directory: String
    private let name: String

    /// - Parameters:
    ///   - kind: the list whose position is recorded.
    ///   - system: the system whose account the directory holds.
    ///   - account: the directory of the account. A copy of it elsewhere has a record of its own.
    ///   - environment: the environment of the process.
    /// - Returns: `nil` if neither `XDG_CACHE_HOME` nor `HOME` is set to an absolute path.
    init?(
        _ kind: Kind = .revocations,
        of system: SystemID,
        in account: borrowing SecretDirectory,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        if let cache = environment["XDG_CACHE_HOME"], cache.hasPrefix("/") {
            self.directory = cache + "/remote-systems"
        } else if let home = environment["HOME"], home.hasPrefix("/") {
            self.directory = home + "/.cache/remote-systems"
        } else {
            return nil
        }
        self.kind = kind
        let key = SHA256.hash(data: Array("\(system) \(account.path)".utf8)).prefix(20)
        self.name = "\(kind.rawValue)\(Base32.encode(key)).json"
    }

    /// The recorded position; `nil` if there is none that can be read.
    var position: TrustPosition? {
        do throws(IdentityError) {
            guard let directory = try SecretDirectory.open(path: self.directory),
                let bytes = try directory.read(self.name)
            else { return nil }
            return try? JSONDecoder().decode(TrustPosition.self, from: Data(bytes))
        } catch {
            return nil
        }
    }

    /// Records a position, unless a newer one is recorded. If it is the recorded one, its file gets the present date:
    /// the directory is in use.
    func raise(to position: TrustPosition) {
        let present = self.position
        guard present != position else {
            try? FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: self.path)
            return
        }
        if let present, present > position { return }
        try? self.write(position)
    }

    /// Records the position of an account that replaces the one in the directory, which may be older.
    ///
    /// - Parameter position: `nil` if the account has no revocation list.
    func replace(by position: TrustPosition?) {
        do throws(IdentityError) {
            guard let position else { return self.remove() }
            try self.write(position)
        } catch {
            // A record of a newer list would refuse the account.
            self.remove()
        }
    }

    private func write(_ position: TrustPosition) throws(IdentityError) {
        guard let bytes = try? JSONEncoder().encode(position) else { return }
        let directory = try SecretDirectory.make(path: self.directory)
        try directory.replace(self.name, Array(bytes))
        self.removeOldest()
    }

    private var path: String { "\(self.directory)/\(self.name)" }

    private func remove() { try? FileManager.default.removeItem(atPath: self.path) }

    /// A user may have any number of state directories, for example of tests.
    private func removeOldest() {
        let files = FileManager.default
        let names = ((try? files.contentsOfDirectory(atPath: self.directory)) ?? []).filter {
            $0.hasPrefix(self.kind.rawValue)
        }
        guard names.count > Self.maxRecords else { return }
        let dated = names.map { name in
            let attributes = try? files.attributesOfItem(atPath: "\(self.directory)/\(name)")
            return (name: name, date: attributes?[.modificationDate] as? Date ?? .distantPast)
        }
        for (name, _) in dated.sorted(by: { $0.date < $1.date }).dropLast(Self.maxRecords) where name != self.name {
            try? files.removeItem(atPath: "\(self.directory)/\(name)")
        }
    }
}

extension AccountStore {
    /// Records the positions of the newest lists outside the state directory, if they are not recorded yet: an earlier
    /// version of this software stored the lists, or the user emptied the cache.
    package func noteNewestLists() throws(IdentityError) {
        _ = try self.reading { (account, stored) throws(IdentityError) in
            let system = stored.identity.systemID
            if let list = try StoredAccount.revocations(from: stored.identity, in: account) {
                NewestListRecord(of: system, in: account)?.raise(to: list.position)
            }
            if let list = try StoredAccount.linkList(of: stored.identity, in: account) {
                NewestListRecord(.links, of: system, in: account)?.raise(to: list.position)
            }
        }
    }

    /// The path of the list of links if it is older than one that was stored before, as one of a backup; `nil`
    /// otherwise. Links that were withdrawn since are in force again then, and earlier grants.
    package func restoredLinks() throws(IdentityError) -> String? {
        try self.reading { (account, stored) throws(IdentityError) -> String? in
            // Read before the list, because a list is stored before its position.
            guard let recorded = NewestListRecord(.links, of: stored.identity.systemID, in: account)?.position,
                let list = try StoredAccount.linkList(of: stored.identity, in: account), list.position < recorded
            else { return nil }
            return account.path(of: StoredAccount.File.links)
        } ?? nil
    }

    /// Records the positions of the lists that an account has which was just installed. Call it only while holding the
    /// lock.
    static func recordNewestLists(
        _ revocations: RevocationList?,
        of identity: SystemIdentity,
        in state: borrowing SecretDirectory
    ) throws(IdentityError) {
        guard let account = try state.subdirectory(Self.accountName) else { return }
        NewestListRecord(of: identity.systemID, in: account)?.replace(by: revocations?.position)
        let links = try? StoredAccount.linkList(of: identity, in: account)
        NewestListRecord(.links, of: identity.systemID, in: account)?.replace(by: links?.position)
    }
}
