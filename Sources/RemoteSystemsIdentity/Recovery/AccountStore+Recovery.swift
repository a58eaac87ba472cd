// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
package import FoundationEssentials

extension AccountStore {
    /// Writes the account to a recovery file, which is encrypted with a passphrase.
    ///
    /// Import the file if this machine is lost. The call blocks for about half a second and uses 128 MiB of memory.
    /// This is deliberate: each guess at the passphrase costs the same.
    ///
    /// - Parameters:
    ///   - path: The path of a file that does not exist yet. Only this user will be able to read it.
    ///   - passphrase: At least 8 bytes. Read it from a terminal or a file descriptor, never from the command line.
    /// - Throws: ``IdentityError``, with ``IdentityError/Code/notAuthority`` if the account's root key is not on this
    ///   machine, ``IdentityError/Code/fileExists``, ``IdentityError/Code/weakPassphrase``, or
    ///   ``IdentityError/Code/cancelled`` if the calling task was cancelled meanwhile.
    public func exportRecovery(to path: String, passphrase: [UInt8]) throws(IdentityError) {
        try self.exportRecovery(to: path, passphrase: passphrase, factors: .standard)
    }

    /// Checks that a recovery file can be made, before a person chooses its passphrase. No file remains.
    ///
    /// - Throws: ``IdentityError``, with ``IdentityError/Code/notAuthority`` or ``IdentityError/Code/fileExists``.
    package func checkExport(to path: String) throws(IdentityError) {
        try self.withAccount(evenIfReadOnly: true) { (account, _) throws(IdentityError) in
            guard try StoredAccount.authority(in: account) != nil else { throw .notAuthority }
        }
        try OpenFile.checkCreation(of: path)
    }

    func exportRecovery(
        to path: String,
        passphrase: [UInt8],
        factors: RecoveryFile.WorkFactors
    ) throws(IdentityError) {
        guard try self.holdsAccount() else {
            throw IdentityError(
                .fileMissing,
                "\(self.directory) holds no account yet, so there is nothing to export.",
                path: self.directory
            )
        }
        // Under the lock, so that all parts are of one state. The slow encryption is not. A failing disk, which is
        // mounted read-only, is when the file is needed.
        let (account, content) = try self.withAccount(evenIfReadOnly: true) {
            (account, stored) throws(IdentityError) in
            guard let authority = try StoredAccount.authority(in: account) else { throw .notAuthority }
            let revocations = try StoredAccount.revocations(from: stored.identity, in: account)
            let content = RecoveryFile.Content(
                rootKey: authority.rootKey.derRepresentation,
                rootCertificate: Data(authority.rootCertificate),
                discoveryKey: Data(stored.identity.discoveryKey.storedBytes),
                revocations: revocations.map { $0.allBytes.map { Data($0) } },
                // A damaged file must not prevent the copy of the keys.
                links: (try? StoredAccount.linkList(of: stored.identity, in: account)).map { Data($0.bytes) },
                joined: [stored.identity.systemID] + ((try? Self.joinedSystems(in: account)) ?? []),
                created: stored.created
            )
            return (authority.accountID, content)
        }
        let text = try RecoveryFile.seal(content, passphrase: passphrase, account: account, factors: factors)
        try Self.checkCancellation()
        try OpenFile.create(path, path: path, Array(text.utf8))
    }

    /// Restores an account from its recovery file, with the account's root key.
    ///
    /// This system gets a certificate of the account. If it belonged to the account before, it keeps its id. The call
    /// blocks for about half a second and uses 128 MiB of memory.
    ///
    /// The revocations of the file and those that this machine knows stay in force. Other systems send newer ones. If
    /// the root key was replaced after the file was made, the file does not restore the account's newest key: a
    /// machine that knows the newer key refuses the file, and on another machine the restored system is an ordinary
    /// one as soon as it meets a system with the newer key.
    ///
    /// - Parameters:
    ///   - path: The path of the recovery file. The file is only read.
    ///   - passphrase: The passphrase with which the file was exported.
    ///   - evenIfShared: Whether to leave a present account that other systems belong to. Defaults to `false`. A
    ///     personal or damaged account is moved aside in any case.
    /// - Returns: This system's new identity, and the directory of its previous account.
    /// - Throws: ``IdentityError``, with ``IdentityError/Code/wrongPassphrase``,
    ///   ``IdentityError/Code/recoveryDamaged``, ``IdentityError/Code/accountInUse``,
    ///   ``IdentityError/Code/notAuthority`` if this machine knows a newer root key than the file has, or
    ///   ``IdentityError/Code/cancelled`` if the calling task was cancelled meanwhile.
    public func importRecovery(
        from path: String,
        passphrase: [UInt8],
        evenIfShared: Bool = false
    ) throws(IdentityError) -> AccountChange {
        try self.importRecovery(from: path, passphrase: passphrase, evenIfShared: evenIfShared, now: Date())
    }

    package func importRecovery(
        from path: String,
        passphrase: [UInt8],
        evenIfShared: Bool = false,
        now: Date
    ) throws(IdentityError) -> AccountChange {
        guard let file = try OpenFile(reading: path, path: path) else {
            throw IdentityError(.fileMissing, "There is no file \(path). Check the name.", path: path)
        }
        let bytes = try file.read(limit: RecoveryFile.largestFile)
        let content = try RecoveryFile.open(String(decoding: bytes, as: UTF8.self), passphrase: passphrase, path: path)
        try Self.checkCancellation()
        guard let rootKey = try? P256.Signing.PrivateKey(derRepresentation: content.rootKey),
            let authority = AccountAuthority(rootCertificate: Array(content.rootCertificate), key: rootKey),
            let discoveryKey = try? DiscoveryKey(stored: Array(content.discoveryKey), of: authority.roots),
            let lists = try? (content.revocations ?? []).map({
                try RevocationList(Array($0), of: authority.roots)
            })
        else {
            throw IdentityError(
                .recoveryDamaged,
                "\(path) opens, but the keys in it do not match each other. Use another copy of the file.",
                path: path
            )
        }
        return try self.restore(
            authority,
            discoveryKey: discoveryKey,
            revocations: lists.reduce(nil) { $0?.merging($1) ?? $1 },
            joined: content.joined ?? [],
            links: content.links.flatMap { try? LinkList(Array($0), of: authority.roots) },
            created: content.created,
            evenIfShared: evenIfShared,
            now: now
        )
    }

    /// Ends a call whose task was cancelled during the slow work with the passphrase, before anything is written.
    private static func checkCancellation() throws(IdentityError) {
        guard Task.isCancelled else { return }
        throw IdentityError(.cancelled, "The call was cancelled. Nothing was changed.")
    }
}
