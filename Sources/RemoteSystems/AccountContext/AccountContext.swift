// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// An account as all of this process sees it that use the same files, network and discovery sources: identity, TLS, one
/// browse of each source, and one set of presence connections. See ``AccountContexts`` for who shares one.
///
/// Its background work lives only while it has users: the browser while a watcher runs, the looking for changes of the
/// files while a host runs, a watcher runs or a connection is open.
final class AccountContext: Sendable {
    let sources: [any DiscoverySource]
    /// How connections come about, on the part of the network that may be used.
    let network: TransportNetwork
    let environment: RuntimeEnvironment
    /// That of the first application context, for what concerns the account.
    let logger: Logger
    /// Where the account's files are changed.
    let accountQueue = AccountQueue()
    private let stateDirectory: String?
    private let reach: NetworkReach
    private let loaded = Mutex<Loaded?>(nil)
    /// Held while the files are read again, so that what was read last is what is in use last.
    private let reloading = Mutex(())
    /// Reads the files for all who are about to connect.
    private let changeReading = Mutex<Task<Void, Never>?>(nil)
    private let follower: AccountObserver
    private let lastBrowser = Mutex(WeakBrowser())

    private struct Loaded {
        var security: TransportSecurity
        /// The newest revocation list that is in use.
        var revocations: RevocationList?
        /// What the store held when it was last read; `nil` for an identity that is in no store.
        var version: AccountStore.Version?
        /// Whether this system has left the account. It stays so for as long as the process uses this object.
        var hasLeft = false
        /// Whether another account is in the store by now. This one stays in use by those who have begun with it.
        var isReplaced = false
    }

    private struct WeakBrowser: Sendable {
        weak var browser: SystemBrowser?
    }

    /// What is read of an account.
    private struct Account {
        var identity: SystemIdentity
        var version: AccountStore.Version?
        var revocations: RevocationList?
    }

    init(_ configuration: RemoteSystemsConfiguration, sources: [any DiscoverySource]) {
        self.sources = sources
        self.network = configuration.environment.network.limited(to: configuration.network.reach)
        self.environment = configuration.environment
        self.logger = configuration.logger
        self.stateDirectory = configuration.stateDirectory
        self.reach = configuration.network.reach
        self.follower = AccountObserver(configuration.environment)
    }

    /// The browser that all watchers share. It works while at least one of them runs.
    func browser() throws(RemoteSystemError) -> SystemBrowser {
        let security = try self.security()
        do {
            return try self.lastBrowser.withLock { last throws(TransportError) in
                if let browser = last.browser { return browser }
                let new = try SystemBrowser(account: self, security: security)
                last.browser = new
                return new
            }
        } catch {
            throw RemoteSystemError(error)
        }
    }

    /// The identity made ready for TLS. Reads a few small files on first use, and makes a personal account if there is
    /// none.
    func security() throws(RemoteSystemError) -> TransportSecurity {
        do {
            return try self.loaded.withLock { loaded in
                if let loaded {
                    guard !loaded.hasLeft else { throw Self.left(loaded.security.identity.accountID) }
                    return loaded.security
                }
                try FileDescriptorBudget.check()
                let account = try self.readAccount()
                let new = try TransportSecurity(
                    identity: account.identity,
                    trust: account.identity.trustStore(revocations: account.revocations),
                    learned: { [weak self] in self?.keep(roots: $0) }
                )
                loaded = Loaded(security: new, revocations: account.revocations, version: account.version)
                return new
            }
        } catch {
            throw RemoteSystemError(error)
        }
    }

    /// Reads the account, and makes one if there is none.
    private func readAccount() throws -> Account {
        if let identity = self.environment.identity { return Account(identity: try identity()) }
        let store = try self.store()
        return try self.readUnchanged(store) { version in
            Account(identity: try store.identity(), version: version, revocations: try store.revocations())
        }
    }

    /// Reads the account; `nil` if there is none.
    private func readStoredAccount() throws -> Account? {
        if let identity = self.environment.identity { return Account(identity: try identity()) }
        let store = try self.store()
        return try self.readUnchanged(store) { version in
            try store.storedIdentity(now: Date()).map {
                Account(identity: $0, version: version, revocations: try store.revocations())
            }
        }
    }

    /// Reads until nothing changes meanwhile, so that the version is that of what was read: reading may itself make or
    /// renew what is there. If it goes on changing, the version is an older one, and the change is noticed afterwards.
    private func readUnchanged<Result>(
        _ store: AccountStore,
        _ read: (AccountStore.Version) throws -> Result
    ) rethrows -> Result {
        for _ in 0..<2 {
            let version = store.version()
            let result = try read(version)
            if store.version() == version { return result }
        }
        return try read(store.version())
    }

    /// The newest revocation list that is in use; `nil` if nobody ever was revoked, as far as is known here.
    var revocations: RevocationList? { self.loaded.withLock { $0?.revocations } }

    func store() throws(IdentityError) -> AccountStore {
        guard self.environment.identity == nil else {
            throw IdentityError(
                .noStateDirectory,
                "This system's identity is kept in memory alone, as tests do; nothing of it can be read or changed."
            )
        }
        if let directory = self.stateDirectory { return AccountStore(directory: directory) }
        return try AccountStore()
    }

    /// Takes into use what this or another process has changed in the account meanwhile: a renewed certificate, a system
    /// that was revoked. Where the account's key is, reading the identity renews it when it is time. For processes that run
    /// for long.
    func reloadIdentity() {
        do {
            let shouldReport = try self.reloading.withLock { _ in try self.reload() }
            if shouldReport { self.follower.notify() }
        } catch {
            self.logger.warning("The account could not be read again", metadata: ["reason": "\(error)"])
        }
    }

    /// ``reloadIdentity()`` on the account's queue, since it opens files and may sign a certificate. Does nothing when too
    /// much waits there already.
    func reloadIdentityInBackground() async {
        // In memory there is nothing to wait for.
        guard self.environment.identity == nil else { return self.reloadIdentity() }
        try? await self.accountQueue.run { self.reloadIdentity() }
    }

    /// - Returns: whether other systems are revoked now, or this one has left.
    private func reload() throws -> Bool {
        _ = try self.security()
        // Others who want to know what is in use do not wait for files.
        guard let present = self.loaded.withLock({ $0 }) else { return false }
        guard try !self.noticeLeaving(present) else { return true }
        guard let account = try self.readStoredAccount() else {
            guard try !self.noticeLeaving(present) else { return true }
            // It was removed by hand. What is in memory stays in use until the program ends.
            self.loaded.withLock { $0?.version = try? self.store().version() }
            return false
        }
        // Another account is in the store now. Who joined one goes on under the old until it is started again.
        let isSameAccount = account.identity.accountID == present.security.identity.accountID
        let isChanged =
            account.identity.certificateValidity != present.security.identity.certificateValidity
            || account.revocations != present.revocations
            || account.identity.roots != present.security.trust.own.roots
        guard isSameAccount, isChanged else {
            self.loaded.withLock { loaded in
                loaded?.version = account.version
                loaded?.isReplaced = !isSameAccount
            }
            return false
        }
        // If this fails, the version stays the old one, and it is tried again when the files are next looked at.
        try present.security.update(
            identity: account.identity,
            revocations: account.revocations
        )
        self.loaded.withLock { loaded in
            loaded?.version = account.version
            loaded?.revocations = account.revocations
        }
        self.logger.debug("What changed in the account is in use")
        return account.revocations != present.revocations
    }

    // MARK: Leaving

    /// Whether who begins now would get the same: not once this system has left the account, or joined another.
    var isCurrent: Bool {
        if self.loaded.withLock({ $0 }) != nil, self.isAccountChanged { self.reloadIdentity() }
        return self.loaded.withLock { !($0?.hasLeft ?? false) && !($0?.isReplaced ?? false) }
    }

    /// Whether this system has left the account.
    var hasLeft: Bool { self.loaded.withLock { $0?.hasLeft ?? false } }

    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when this system has left the account.
    func checkMembership() throws(RemoteSystemError) {
        if self.hasLeft { _ = try self.security() }
    }

    /// Ends every connection under the account if this system has left it.
    private func noticeLeaving(_ present: Loaded) throws -> Bool {
        guard self.environment.identity == nil, try self.store().hasLeft(present.security.systemID) else {
            return false
        }
        self.loaded.withLock { $0?.hasLeft = true }
        present.security.end()
        self.logger.notice("This system has left its account")
        return true
    }

    private static func left(_ account: AccountID) -> IdentityError {
        IdentityError(
            .accountLeft,
            """
            This system has left account \(account.short). Start this program again: it then runs under the account \
            that is there, or makes a new one.
            """
        )
    }

    // MARK: Revoked systems

    /// Takes a revocation list that another system passed on, for this process at once and for others of this
    /// machine within a second or two. Does nothing about one that says nothing new.
    ///
    /// - Throws: ``RemoteSystemError``.
    func take(revocations bytes: [UInt8]) async throws {
        let store = try self.store()
        guard try !self.isKnown(bytes) else { return }
        try await self.accountQueue.run {
            // Signed at all? Whoever shows anything must not have it looked for with the files locked. And another connection
            // may have brought the same one.
            let security = try self.security()
            let list = try security.trust.own.revocationList(bytes, now: Date())
            guard try !self.isKnown(bytes, list) else { return }
            // A root key that is not stored yet may have signed it.
            if list.root > security.identity.roots.count { try store.install(roots: security.trust.own.roots) }
            _ = try store.install(revocations: bytes, now: Date())
            self.reloadIdentity()
        }
    }

    /// Whether a list says no more than the one in use.
    ///
    /// - Parameter list: the same, once it is known to be signed. Where the account's key is, an older one may name a system
    ///   that the newer does not, so that the number alone does not tell.
    private func isKnown(_ bytes: [UInt8], _ list: RevocationList? = nil) throws(RemoteSystemError) -> Bool {
        guard let own = self.revocations else { return false }
        if bytes == own.bytes { return true }
        let security = try self.security()
        if let list {
            guard !list.isNewer(than: own) else { return false }
        } else {
            // Numbers compare only among the lists of one root key.
            guard own.root == security.trust.own.roots.count, let number = RevocationList.number(in: bytes),
                number <= own.number
            else { return false }
        }
        guard security.identity.isAuthority else { return true }
        return list.map { Set(own.systems).isSuperset(of: $0.systems) } ?? false
    }

    // MARK: Root keys

    /// Stores root keys that a peer has shown, for other processes of this machine and after a restart. If too much waits
    /// for the files already, they are stored when a peer shows them again to a new process.
    private func keep(roots: RootChain) {
        guard self.environment.identity == nil else { return }
        Task(executorPreference: self.environment.taskExecutor) {
            try? await self.accountQueue.run { self.store(roots: roots) }
        }
    }

    /// Blocks while it waits for the files.
    private func store(roots: RootChain) {
        do {
            try self.store().install(roots: roots)
            self.reloadIdentity()
            // The others are told of it, too.
            self.follower.notify()
            self.logger.notice("The account has a new root key", metadata: ["number": "\(roots.count)"])
        } catch {
            self.logger.warning("The account's new root key was not stored", metadata: ["reason": "\(error)"])
        }
    }

    // MARK: Following

    /// Until cancelled, or until this system has left the account (``hasLeft``), takes into use what other processes
    /// change in the account, and calls back when there are revoked systems to tell others of.
    func observeAccount(_ revoked: () async -> Void) async {
        // One that is kept in memory alone is changed by nobody.
        guard self.environment.identity == nil else { return }
        let (change, listener) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let holder = self.follower.hold(listener) { await self.lookAtAccountInBackground() }
        defer { self.follower.release(holder) }
        for await _ in change {
            guard !self.hasLeft else { return }
            await revoked()
        }
    }

    /// The same while a connection is open, so that it ends when its system is revoked.
    private func observeAccount(whileOpen connection: any AuthenticatedConnection) {
        guard self.environment.identity == nil else { return }
        let holder = self.follower.hold { await self.lookAtAccountInBackground() }
        connection.onClose { _ in self.follower.release(holder) }
    }

    /// Returns when what other processes have changed so far is in use. However many wait, the files are read once.
    private func takeChangesIntoUse() async {
        // A reading that was under way may have begun before the change.
        for _ in 0..<2 where self.isAccountChanged {
            let reading = self.changeReading.withLock { reading in
                if let reading { return reading }
                let new = Task(executorPreference: self.environment.taskExecutor) {
                    await self.reloadIdentityInBackground()
                    self.changeReading.withLock { $0 = nil }
                }
                reading = new
                return new
            }
            await reading.value
        }
    }

    private func lookAtAccountInBackground() async {
        if self.isAccountChanged { await self.reloadIdentityInBackground() }
    }

    private var isAccountChanged: Bool {
        guard !self.hasLeft, let store = try? self.store() else { return false }
        return self.loaded.withLock { $0?.version } != store.version()
    }

    /// What makes connections under the account.
    func connector(
        limits: ConnectionLimits,
        timeout: TimeAmount,
        logger: Logger
    ) async throws(RemoteSystemError) -> Connector {
        // Who was revoked meanwhile, and what was renewed, holds for every connection that is made from now on. Read
        // elsewhere: the caller may be on an event loop, and another process may hold the lock on the files.
        if self.loaded.withLock({ $0 }) != nil { await self.takeChangesIntoUse() }
        var connector = Connector(
            security: try self.security(),
            limits: limits,
            timeout: timeout,
            logger: logger,
            network: self.network
        )
        connector.opened = { self.observeAccount(whileOpen: $0) }
        return connector
    }

    /// The network, whose sockets listen on one that was given to this process.
    func network(listeningOn socket: CInt) -> TransportNetwork {
        var network = self.network
        network.register(SocketTransport(listeningSocket: socket, reach: self.reach))
        return network
    }
}
