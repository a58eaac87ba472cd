// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity

extension RemoteSystemsAccount {
    /// Writes the account to one file that a passphrase opens, for the day on which this machine is lost.
    ///
    /// Takes about half a second and 128 MiB of memory, on purpose: so does each guess at the passphrase.
    ///
    /// - Parameters:
    ///   - path: a file that does not exist yet; it will be readable by this user alone.
    ///   - passphrase: at least 8 bytes. Read it from a terminal or a file, never from the command line.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity``; its cause is an ``IdentityError`` such as
    ///   ``IdentityError/Code/notAuthority``, ``IdentityError/Code/fileExists``, ``IdentityError/Code/weakPassphrase``.
    public func exportRecovery(to path: String, passphrase: [UInt8]) throws(RemoteSystemError) {
        try self.withStore { store throws(IdentityError) in
            try store.exportRecovery(to: path, passphrase: passphrase)
        }
    }

    /// Brings an account back from its recovery file, with this system as the one that holds its key.
    ///
    /// - Parameters:
    ///   - path: the recovery file; it is only read.
    ///   - passphrase: the one that it was exported with.
    ///   - evenIfShared: whether to leave an account that other systems belong to. A personal or damaged account is
    ///     moved aside without asking.
    /// - Returns: who this system is now, and where the account is that it had.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity``; its cause is an ``IdentityError`` such as
    ///   ``IdentityError/Code/wrongPassphrase``, ``IdentityError/Code/recoveryDamaged``,
    ///   ``IdentityError/Code/accountInUse``.
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
