// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity

extension RemoteSystemsAccount {
    /// Writes the account, encrypted with a passphrase, to a recovery file, from which another machine can restore it.
    ///
    /// Blocks for about half a second and uses 128 MiB of memory, so that each guess at the passphrase costs as much.
    ///
    /// - Parameters:
    ///   - path: the path of a new file. The file is readable by this user only.
    ///   - passphrase: at least 8 bytes. Read it from a terminal or a file, never from the command line.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity``. Its cause is an ``IdentityError`` such
    ///   as ``IdentityError/Code/notAuthority`` when the account's root key is not on this machine,
    ///   ``IdentityError/Code/fileExists``, ``IdentityError/Code/weakPassphrase``, or ``IdentityError/Code/cancelled``
    ///   when the calling task was cancelled meanwhile.
    public func exportRecovery(to path: String, passphrase: [UInt8]) throws(RemoteSystemError) {
        try self.withStore { store throws(IdentityError) in
            try store.exportRecovery(to: path, passphrase: passphrase)
        }
    }

    /// Checks that a recovery file can be made, before a person chooses its passphrase.
    package func checkExport(to path: String) throws(RemoteSystemError) {
        try self.withStore { store throws(IdentityError) in try store.checkExport(to: path) }
    }

    /// Restores an account from its recovery file. This system then holds the account's root key.
    ///
    /// Blocks for about half a second and uses 128 MiB of memory, as ``exportRecovery(to:passphrase:)`` does.
    ///
    /// - Parameters:
    ///   - path: the path of the recovery file, which is only read.
    ///   - passphrase: the passphrase with which the file was exported.
    ///   - evenIfShared: whether to leave a present account that other systems belong to. Defaults to `false`. A
    ///     personal or damaged account is always moved aside.
    /// - Returns: this system's new identity, and the directory of its previous account.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity``. Its cause is an ``IdentityError`` such
    ///   as ``IdentityError/Code/wrongPassphrase``, ``IdentityError/Code/recoveryDamaged``,
    ///   ``IdentityError/Code/notAuthority`` when the root key in the file was replaced later or, for a shared account
    ///   while `evenIfShared` is `false`, ``IdentityError/Code/accountInUse``; ``IdentityError/Code/cancelled`` when
    ///   the calling task was cancelled meanwhile.
    public func importRecovery(
        from path: String,
        passphrase: [UInt8],
        evenIfShared: Bool = false
    ) throws(RemoteSystemError) -> AccountChange {
        try self.withStore { store throws(IdentityError) in
            try store.importRecovery(from: path, passphrase: passphrase, evenIfShared: evenIfShared)
        }
    }
}
