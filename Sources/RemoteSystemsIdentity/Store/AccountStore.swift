// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
public import FoundationEssentials

/// The directory that holds one user's identity on one machine: the account, the system's key and its certificate.
///
/// On the machine where the account was created or recovered, the directory also holds the account's root key, which
/// signs the certificates of the account's systems.
///
/// Several processes can use the directory at the same time and share one identity. Reading takes no lock unless the
/// files are being changed. Calls block for a few milliseconds of file access: do not make them on an
/// event loop.
public struct AccountStore: Sendable {
    /// The path of the store's directory.
    public let directory: String

    static let accountName = "account"
    private static let incomingName = "incoming"
    static let setAsidePrefix = "previous-"

    /// Creates a store in a directory.
    ///
    /// - Parameter directory: The path of the directory, which is created on first use.
    public init(directory: String) {
        self.directory = directory
    }

    /// Creates the user's own store: `$REMOTE_SYSTEMS_STATE`, else `$XDG_STATE_HOME/remote-systems`, else
    /// `~/.local/state/remote-systems` (XDG Base Directory Specification).
    ///
    /// - Parameter environment: The environment to read. Defaults to the environment of the process.
    /// - Throws: ``IdentityError/Code/noStateDirectory`` if none of these variables (`HOME` for the last) is set to an
    ///   absolute path, or if `REMOTE_SYSTEMS_STATE` is set to a relative path. A relative path in one of the others is
    ///   ignored, as the XDG specification requires.
    public init(environment: [String: String] = ProcessInfo.processInfo.environment) throws(IdentityError) {
        func absolute(_ name: String) -> String? {
            guard let path = environment[name], path.hasPrefix("/") else { return nil }
            return path
        }
        if let directory = environment["REMOTE_SYSTEMS_STATE"], !directory.isEmpty {
            // A relative path is refused, because ignoring it would silently select another identity.
            guard directory.hasPrefix("/") else {
                throw IdentityError(
                    .noStateDirectory,
                    """
                    REMOTE_SYSTEMS_STATE is a relative path. It would name another directory, and so another identity, \
                    in each directory from which a program is started. Set it to an absolute path.
                    """
                )
            }
            self.init(directory: directory)
        } else if let state = absolute("XDG_STATE_HOME") {
            self.init(directory: state + "/remote-systems")
        } else if let home = absolute("HOME") {
            self.init(directory: home + "/.local/state/remote-systems")
        } else {
            throw IdentityError(
                .noStateDirectory,
                """
                There is no directory for this system's identity: neither REMOTE_SYSTEMS_STATE nor XDG_STATE_HOME nor \
                HOME is set to an absolute path. Set REMOTE_SYSTEMS_STATE to a directory of this user's own.
                """
            )
        }
    }

    /// Returns this system's identity. On first use, creates a personal account without asking.
    ///
    /// Processes that start at the same time agree on one account. On the machine that holds the account's root key,
    /// this call also renews a certificate that is in the last third of its life. Blocks for a few milliseconds of file
    /// access.
    ///
    /// - Throws: ``IdentityError`` if the files cannot be read, written or used. They are then never overwritten. After
    ///   ``IdentityError/Code/busy``, trying again can help. With the code ``IdentityError/Code/accountLeft`` if there
    ///   is no account and this process used the one that was left.
    public func identity() throws(IdentityError) -> SystemIdentity {
        try self.identity(now: Date())
    }

    package func identity(now: Date) throws(IdentityError) -> SystemIdentity {
        try self.renewing(try self.loadOrCreate(now: now), now: now)
    }

    /// Returns this system's identity without creating an account; `nil` if there is none.
    package func storedIdentity(now: Date) throws(IdentityError) -> SystemIdentity? {
        guard let state = try SecretDirectory.open(path: self.directory) else { return nil }
        if let stored = try Self.load(from: state) { return try self.renewing(stored.identity, now: now) }
        // Another process may be in the middle of replacing the account.
        let settled = try state.withLock { () throws(IdentityError) in try Self.loadSettled(from: state)?.identity }
        return if let settled { try self.renewing(settled, now: now) } else { nil }
    }

    private func renewing(_ identity: SystemIdentity, now: Date) throws(IdentityError) -> SystemIdentity {
        guard identity.isAuthority, identity.isRenewalDue(at: now) else { return identity }
        do {
            return try self.renewIfDue(now: now)
        } catch {
            // While the old certificate is valid, a failed renewal must not interrupt service. The same applies if the
            // clock is not set yet: the old certificate may be valid once it is.
            guard identity.certificateValidity.contains(now) || error.code == .wrongClock else { throw error }
            return identity
        }
    }

    /// Whether the store holds an account, usable or not. Does not create one.
    package func holdsAccount() throws(IdentityError) -> Bool {
        guard let state = try SecretDirectory.open(path: self.directory) else { return false }
        let names = try state.names()
        return names.contains(Self.accountName) || names.contains(Self.incomingName)
    }

    private func loadOrCreate(now: Date) throws(IdentityError) -> SystemIdentity {
        if let state = try SecretDirectory.open(path: self.directory), let stored = try Self.load(from: state) {
            return stored.identity
        }
        let state = try SecretDirectory.make(path: self.directory)
        return try state.withLock { () throws(IdentityError) in
            if let stored = try Self.loadSettled(from: state) {
                return stored.identity
            }
            try Self.checkCreation(in: state)
            let authority = try AccountAuthority(creatingAt: now)
            let identity = try SystemIdentity.founding(authority, now: now)
            try Self.install(
                StoredAccount.files(of: identity, rootKey: authority.rootKey, created: now),
                in: state
            )
            return identity
        }
    }

    /// Returns the account's root key, for signing.
    ///
    /// - Throws: ``IdentityError/Code/notAuthority`` if the root key is not on this machine.
    package func authority() throws(IdentityError) -> AccountAuthority {
        let authority = try self.reading { (account, _) throws(IdentityError) in
            try StoredAccount.authority(in: account)
        }
        guard let authority = authority ?? nil else { throw .notAuthority }
        return authority
    }

    /// Whether the account's root key was stored here and is missing. Without it, no system can join, be revoked or be
    /// renewed.
    package func lacksRootKey() throws(IdentityError) -> Bool {
        guard let state = try SecretDirectory.open(path: self.directory),
            let account = try state.subdirectory(Self.accountName)
        else { return false }
        return try StoredAccount.lacksRootKey(in: account)
    }

    // MARK: Renewing

    /// Renews this system's certificate if that is due and the account's root key is here. Returns the identity in
    /// force.
    package func renewIfDue(now: Date) throws(IdentityError) -> SystemIdentity {
        try self.withAccount { (account, stored) throws(IdentityError) in
            guard stored.identity.isRenewalDue(at: now), let authority = try StoredAccount.authority(in: account) else {
                return stored.identity
            }
            return try Self.completeRotation(to: authority, of: stored, in: account, now: now)
        }
    }

    /// Replaces this system's certificate with one that the authority renewed, after checking that it is better.
    ///
    /// - Throws: ``IdentityError/Code/rejectedCertificate``. The present certificate then stays.
    package func install(renewedCertificate der: [UInt8], now: Date) throws(IdentityError) -> SystemIdentity {
        try self.withAccount { (account, stored) throws(IdentityError) in
            do throws(TrustError) {
                _ = try stored.identity.trustStore().authenticate(peerCertificate: der, now: now)
            } catch {
                throw .rejectedRenewal("is not one of this account (\(error.code))", cause: error)
            }
            let renewed = try stored.identity.replacingCertificate(with: der)
            let present = stored.identity.certificateValidity
            guard
                renewed.certificateValidity.upperBound > present.upperBound || !present.contains(now)
                    || renewed.root > stored.identity.root
            else {
                throw .rejectedRenewal("does not expire later than the present one")
            }
            try account.replace(StoredAccount.File.systemCertificate, StoredAccount.certificateFile(der))
            return renewed
        }
    }

    // MARK: Members

    /// Checks that the record of a system that joins can be written, before an invitation is shown. After joining it is
    /// too late.
    package func checkAdmission() throws(IdentityError) {
        try self.checkGrowth(of: [StoredAccount.File.joinedSystems])
    }

    /// Checks that files of the account can be written, each with one more entry.
    func checkGrowth(of names: [String]) throws(IdentityError) {
        let state = try SecretDirectory.make(path: self.directory)
        try state.withLock { () throws(IdentityError) in
            var sizes: [Int] = []
            if let account = try state.subdirectory(Self.accountName) {
                for name in names {
                    let bytes = try account.read(name) ?? []
                    // The entry, rounded up to a page.
                    sizes.append(bytes.count + 4096)
                }
            }
            try state.checkSpace(for: Self.accountName, sizes)
        }
    }

    /// Records that a system received a certificate of this account. The account then counts as shared.
    ///
    /// - Parameters:
    ///   - accountID: The account that issued the certificate.
    ///   - position: The position of the revocation list when the system was invited; `nil` if there was none.
    /// - Throws: ``IdentityError/Code/invitationUsed`` if a system was revoked since then, or the root key or the
    ///   account was replaced, which withdraws open invitations; ``IdentityError/Code/tooManySystems``.
    package func recordJoined(
        _ system: SystemID,
        in accountID: AccountID,
        invitedAt position: TrustPosition?
    ) throws(IdentityError) {
        try self.withAccount { (account, stored) throws(IdentityError) in
            guard stored.identity.accountID == accountID else { throw .formerInvitation }
            let list = try StoredAccount.revocations(from: stored.identity, in: account)
            guard list?.position == position else {
                // A new root key signs the list again, and signs an empty one if there was none.
                throw (list?.root ?? 1) > (position?.root ?? 1)
                    ? IdentityError.outdatedInvitation : IdentityError.withdrawnInvitation
            }
            try Self.add(system, to: account)
            try Self.forgetRevocation(of: system, from: stored, in: account)
        }
    }

    /// Records a system whatever was revoked since it was invited.
    package func recordJoined(_ system: SystemID) throws(IdentityError) {
        try self.withAccount { (account, stored) throws(IdentityError) in
            try Self.add(system, to: account)
            try Self.forgetRevocation(of: system, from: stored, in: account)
        }
    }

    private static func add(_ system: SystemID, to account: borrowing SecretDirectory) throws(IdentityError) {
        let systems = try Self.joinedSystems(in: account)
        guard !systems.contains(system) else { return }
        guard systems.count < Self.maxJoinedSystems else {
            throw IdentityError(
                .tooManySystems,
                "This account has \(systems.count) systems, which is the maximum. Create another account."
            )
        }
        // Damaged lines stay, and with them the warning about them.
        let lines = try Self.lines(of: StoredAccount.File.joinedSystems, in: account) + ["\(system)"]
        try account.replace(StoredAccount.File.joinedSystems, Array(lines.map { "\($0)\n" }.joined().utf8))
    }

    /// The systems that received a certificate from this machine, oldest first.
    package func joinedSystems() throws(IdentityError) -> [SystemID] {
        guard let state = try SecretDirectory.open(path: self.directory),
            let account = try state.subdirectory(Self.accountName)
        else { return [] }
        return try Self.joinedSystems(in: account)
    }

    private static let maxJoinedSystems = 10_000

    static func joinedSystems(in account: borrowing SecretDirectory) throws(IdentityError) -> [SystemID] {
        try Self.systems(listedIn: StoredAccount.File.joinedSystems, of: account)
    }

    /// The ids in a file with one id on each line. None if there is no such file.
    ///
    /// Damaged lines are left out. Nothing is trusted because of such a record, so it must not stop the account.
    static func systems(
        listedIn name: String,
        of account: borrowing SecretDirectory
    ) throws(IdentityError) -> [SystemID] {
        try Self.lines(of: name, in: account).compactMap { SystemID($0) }
    }

    static func lines(
        of name: String,
        in account: borrowing SecretDirectory
    ) throws(IdentityError) -> [String] {
        let bytes = try account.read(name) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { String($0) }
    }

    /// The paths of the records of systems that have damaged lines.
    package func damagedRecords() throws(IdentityError) -> [String] {
        try self.reading { (account, _) throws(IdentityError) -> [String] in
            var paths: [String] = []
            for name in [StoredAccount.File.joinedSystems, StoredAccount.File.formerlyRevoked] {
                if try Self.hasDamagedLines(name, in: account) { paths.append(account.path(of: name)) }
            }
            return paths
        } ?? []
    }

    /// Whether the record of the systems that joined here has damaged lines, so that their number is not known.
    package func isJoinRecordDamaged() throws(IdentityError) -> Bool {
        try self.reading { (account, _) throws(IdentityError) -> Bool in
            try Self.hasDamagedLines(StoredAccount.File.joinedSystems, in: account)
        } ?? false
    }

    static func hasDamagedLines(
        _ name: String,
        in account: borrowing SecretDirectory
    ) throws(IdentityError) -> Bool {
        try !Self.lines(of: name, in: account).allSatisfy { SystemID($0) != nil }
    }

    /// Whether no system has joined here. With a damaged record, one may have.
    static func isPersonal(_ account: borrowing SecretDirectory) throws(IdentityError) -> Bool {
        try Self.lines(of: StoredAccount.File.joinedSystems, in: account).isEmpty
    }
}

extension AccountStore {
    // MARK: The directory

    static func load(
        from state: borrowing SecretDirectory,
        isForRecovery: Bool = false
    ) throws(IdentityError) -> StoredAccount? {
        guard let account = try state.subdirectory(Self.accountName) else { return nil }
        return try StoredAccount(reading: account, isForRecovery: isForRecovery)
    }

    /// Loads the account after completing or undoing interrupted changes. Call it only while holding the lock.
    static func loadSettled(
        from state: borrowing SecretDirectory,
        isForRecovery: Bool = false
    ) throws(IdentityError) -> StoredAccount? {
        try Self.settle(state)
        return try Self.load(from: state, isForRecovery: isForRecovery)
    }

    /// Completes or undoes what a process that died left unfinished. Call it only while holding the lock.
    ///
    /// A directory `incoming` is always complete. If `account` exists, `incoming` never took effect and is removed.
    /// Without `account`, the replacement had already moved the old account away, and only the last rename is missing.
    private static func settle(_ state: borrowing SecretDirectory) throws(IdentityError) {
        let names = try state.names()
        try Self.finishLeaving(state)
        for name in names where name.hasPrefix(SecretDirectory.temporaryPrefix) {
            state.removeSubdirectory(name)
        }
        try state.subdirectory(Self.accountName)?.sweep()
        guard names.contains(Self.incomingName) else { return }
        if names.contains(Self.accountName) {
            state.removeSubdirectory(Self.incomingName)
        } else {
            try state.rename(Self.incomingName, to: Self.accountName)
        }
    }

    /// Makes `files` the account of this store. Call it only while holding the lock, after `settle`.
    ///
    /// - Returns: The path to which the previous account was moved; `nil` if there was none.
    @discardableResult
    static func install(
        _ files: [(name: String, bytes: [UInt8])],
        in state: borrowing SecretDirectory,
        settingAsideAt now: Date? = nil
    ) throws(IdentityError) -> String? {
        let temporary = SecretDirectory.temporaryPrefix + SecretDirectory.uniqueSuffix()
        try state.makeSubdirectory(temporary, for: Self.accountName, files: files)
        guard let now, try state.names().contains(Self.accountName) else {
            try state.rename(temporary, to: Self.accountName)
            return nil
        }
        // Three renames. `settle` can complete or undo each intermediate state, so an old account is never lost.
        let date = now.formatted(.iso8601.timeSeparator(.omitted))
        let aside = "\(Self.setAsidePrefix)\(date)-\(SecretDirectory.uniqueSuffix().prefix(4))"
        try state.rename(temporary, to: Self.incomingName)
        try state.rename(Self.accountName, to: aside)
        try state.rename(Self.incomingName, to: Self.accountName)
        return state.path(of: aside)
    }

    /// Runs `body` with the present account, without a lock. Returns `nil` if there is none.
    ///
    /// Each file is replaced as a whole, but a change of several files is not. If another process changes some while
    /// `body` reads, they do not match. Then `body` runs again, while no other process can change them.
    func reading<Result>(
        _ body: (borrowing SecretDirectory, StoredAccount) throws(IdentityError) -> Result
    ) throws(IdentityError) -> Result? {
        guard let state = try SecretDirectory.open(path: self.directory) else { return nil }
        do throws(IdentityError) {
            return try Self.reading(state, body)
        } catch  where error.code == .damaged || error.code == .notAuthority || error.code == .revocationsLost {
            return try state.withLock { () throws(IdentityError) in try Self.reading(state, body) }
        }
    }

    private static func reading<Result>(
        _ state: borrowing SecretDirectory,
        _ body: (borrowing SecretDirectory, StoredAccount) throws(IdentityError) -> Result
    ) throws(IdentityError) -> Result? {
        guard let account = try state.subdirectory(Self.accountName) else { return nil }
        return try body(account, try StoredAccount(reading: account))
    }

    /// Runs `body` with the present account while no other process can change it.
    ///
    /// - Parameter evenIfReadOnly: whether to run `body` on a read-only file system, too. Only for a `body` that reads.
    func withAccount<Result>(
        evenIfReadOnly: Bool = false,
        _ body: (borrowing SecretDirectory, StoredAccount) throws(IdentityError) -> Result
    ) throws(IdentityError) -> Result {
        let state = try SecretDirectory.make(path: self.directory)
        return try state.withLock(evenIfReadOnly: evenIfReadOnly) { () throws(IdentityError) in
            try Self.settle(state)
            guard let account = try state.subdirectory(Self.accountName) else {
                throw IdentityError(
                    .fileMissing,
                    "\(self.directory) holds no account yet. Start a program that uses it once, then try again.",
                    path: self.directory
                )
            }
            return try body(account, try StoredAccount(reading: account))
        }
    }
}

extension SystemIdentity {
    /// Creates the identity of the system that holds the account's root key.
    static func founding(
        _ authority: AccountAuthority,
        discoveryKey: DiscoveryKey = DiscoveryKey(),
        systemKey: P256.Signing.PrivateKey = .init(),
        now: Date
    ) throws(IdentityError) -> SystemIdentity {
        let certificate = try authority.issueCertificate(for: systemKey.publicKey, now: now)
        do throws(TrustError) {
            return try SystemIdentity(
                rootCertificate: authority.rootCertificate,
                certificate: certificate,
                systemKey: systemKey,
                discoveryKey: discoveryKey,
                isAuthority: true
            )
        } catch {
            throw .rejectedRenewal("is invalid (\(error.code)); please report this", cause: error)
        }
    }

    func replacingCertificate(with der: [UInt8]) throws(IdentityError) -> SystemIdentity {
        do throws(TrustError) {
            return try SystemIdentity(
                roots: self.roots,
                certificate: der,
                systemKey: self.systemKey,
                discoveryKey: self.discoveryKey,
                isAuthority: self.isAuthority
            ).after(self.formerDiscoveryKeys)
        } catch {
            throw .rejectedRenewal("is not for this system (\(error.code))", cause: error)
        }
    }
}

extension IdentityError {
    package static var notAuthority: IdentityError {
        IdentityError(
            .notAuthority,
            """
            This needs the account's root key, which is not on this machine. Do it on the machine that holds the key: \
            'remotesystems account show' there prints the role 'authority'. If that machine is lost, import the \
            account's recovery file here ('remotesystems account import').
            """
        )
    }

    fileprivate static func rejectedRenewal(_ what: String, cause: (any Error)? = nil) -> IdentityError {
        IdentityError(
            .rejectedCertificate,
            "The new certificate \(what). It was not installed; the present one stays in use.",
            cause: cause
        )
    }
}
