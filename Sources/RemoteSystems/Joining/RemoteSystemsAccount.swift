// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import RemoteSystemsIdentity

/// The account of this user on this machine: who this system is, who else was let in, and how it is kept safe.
///
/// Its calls read and write small files and block for a few milliseconds; make them off event loops.
public struct RemoteSystemsAccount: Sendable {
    let context: ApplicationContext

    /// The account that programs with this configuration use.
    public init(_ configuration: RemoteSystemsConfiguration) {
        self.context = ApplicationContext(configuration)
    }

    /// Where the account is kept.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when the environment names no place.
    public var directory: String {
        get throws(RemoteSystemError) { try self.withStore { store throws(IdentityError) in store.directory } }
    }

    /// Who this system is. Makes a personal account if there is none yet.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity``; its cause is an ``IdentityError``.
    public func identity() throws(RemoteSystemError) -> SystemIdentity {
        try self.withStore { store throws(IdentityError) in try store.identity() }
    }

    /// The systems that joined by an invitation from this one, oldest first.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity``; its cause is an ``IdentityError``.
    public func systemsThatJoined() throws(RemoteSystemError) -> [SystemID] {
        try self.withStore { store throws(IdentityError) in try store.joinedSystems() }
    }

    /// Whether the account's key was stored on this machine and is missing.
    package func lacksKey() throws(RemoteSystemError) -> Bool {
        try self.withStore { store throws(IdentityError) in try store.lacksRootKey() }
    }

    /// ``withStore(_:)`` on the account's queue: the calling task's thread stays free while files are locked, read and written.
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
