// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import RemoteSystemsIdentity

/// The account of this user on this machine: its identity, its systems and its keys.
///
/// An account is a set of systems that trust each other. Its root key signs the certificates of its systems. The root
/// key is stored on the machine where the account was created or recovered, and in recovery files. Only a machine with
/// the root key can invite and revoke systems.
///
/// The synchronous methods read and write small files, which blocks for a few milliseconds. Do not call them on event
/// loops. An error with the cause ``IdentityError/Code/busy`` may be retried: another process kept the files locked.
public struct RemoteSystemsAccount: Sendable {
    let context: ApplicationContext

    /// Creates access to the account that programs with this configuration use. Reads no file yet.
    ///
    /// - Parameter configuration: the configuration. Its state directory decides which account is used.
    public init(_ configuration: RemoteSystemsConfiguration) {
        self.context = ApplicationContext(configuration)
    }

    /// The absolute path of the directory that holds the account.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when the configuration names no state
    ///   directory and none of `REMOTE_SYSTEMS_STATE`, `XDG_STATE_HOME` and `HOME` gives one.
    public var directory: String {
        get throws(RemoteSystemError) { try self.withStore { store throws(IdentityError) in store.directory } }
    }

    /// Returns the identity of this system. Creates a personal account if there is none.
    ///
    /// Blocks for a few milliseconds of file access.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when the account's files cannot be
    ///   used. Its cause is an ``IdentityError``, with ``IdentityError/Code/accountLeft`` when there is no account and
    ///   this process used the one that was left.
    public func identity() throws(RemoteSystemError) -> SystemIdentity {
        try self.withStore { store throws(IdentityError) in try store.identity() }
    }

    /// Returns the systems that this machine admitted to the account, by an invitation or by pairing, oldest first.
    ///
    /// Systems that were revoked later stay in the list.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when the account's files cannot be
    ///   read. Its cause is an ``IdentityError``.
    public func systemsThatJoined() throws(RemoteSystemError) -> [SystemID] {
        try self.withStore { store throws(IdentityError) in try store.joinedSystems() }
    }

    /// Whether the record of ``systemsThatJoined()`` is damaged, so that some may be missing. Creates no account.
    package func isJoinRecordDamaged() throws(RemoteSystemError) -> Bool {
        try self.withStore { store throws(IdentityError) in try store.isJoinRecordDamaged() }
    }

    /// Returns the systems that were revoked before a stolen root key was replaced on this machine, and that it has not
    /// admitted since. Empty on a machine without the root key.
    package func formerlyRevokedSystems() throws(RemoteSystemError) -> [SystemID] {
        try self.withStore { store throws(IdentityError) in
            try store.identity().isAuthority ? store.formerlyRevokedSystems() : []
        }
    }

    /// Whether this system belongs to an account whose root key is not on this machine. Creates no account.
    package func isMember() throws(RemoteSystemError) -> Bool {
        try self.withStore { store throws(IdentityError) in
            try store.storedIdentity(now: Date()).map { !$0.isAuthority } ?? false
        }
    }

    /// Whether the account's root key was stored on this machine and is now missing.
    package func lacksKey() throws(RemoteSystemError) -> Bool {
        try self.withStore { store throws(IdentityError) in try store.lacksRootKey() }
    }

    /// Runs ``withStore(_:)`` on the account's queue, so that the calling task's thread does not block on files.
    func withStoreInBackground<Result: Sendable>(
        _ body: @escaping @Sendable (AccountStore) throws -> Result
    ) async throws(RemoteSystemError) -> Result {
        do {
            let store = try self.context.account.store()
            return try await self.context.account.accountQueue.run { try body(store) }
        } catch {
            throw RemoteSystemError(error)
        }
    }

    func withStore<Result>(
        _ body: (AccountStore) throws(IdentityError) -> Result
    ) throws(RemoteSystemError) -> Result {
        do {
            return try body(try self.context.account.store())
        } catch {
            throw RemoteSystemError(error)
        }
    }
}
