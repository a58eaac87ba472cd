// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// The run-time state of an account in this process: the identity, TLS, one browse per source, and one set of presence
/// connections.
///
/// Watchers, hosts and connections with the same state directory, network and discovery sources share one account
/// context (``AccountContexts``). Background work runs only while it is needed: the browser while a watcher runs; the
/// check for changed files while a host or a watcher runs or a connection is open.
final class AccountContext: Sendable {
    let sources: [any DiscoverySource]
    /// Opens and accepts connections on the permitted part of the network.
    let network: TransportNetwork
    let environment: RuntimeEnvironment
    /// The logger of the first application context, for messages about the account.
    let logger: Logger
    /// Limits what is logged about peers.
    let incidents: IncidentLog
    /// The queue that runs the changes of the account's files.
    let accountQueue = AccountQueue()
    /// Limits how often signatures are verified that peers publish.
    let trustPace = Mutex(TrustPace())
    /// Limits how fast peers publish what they trust.
    let trustStatePace = StatePace()
    /// The certificates that this process signed lately for other systems.
    let renewed = Mutex(RenewedCertificates())
    private let stateDirectory: String?
    private let reach: NetworkReach
    private let remembersSystems: Bool
    private let loaded = Mutex<Loaded?>(nil)
    /// A lock that is held while the files are read again, so that the state read last is also applied last.
    private let reloading = Mutex(())
    /// The task that reads the files once for all concurrent connection attempts; `nil` while none runs.
    private let changeReading = Mutex<Task<Void, Never>?>(nil)
    /// The task that stores the root keys that a peer has shown last; `nil` if none has shown any.
    private let rootKeeping = Mutex<Task<Void, Never>?>(nil)
    private let follower: AccountObserver
    /// Whether this process pairs under the account now. Its person can compare the digits of one pairing at a time.
    let isPairing = Mutex(false)
    let renewer = CertificateRenewer()
    private let lastBrowser = Mutex(WeakBrowser())

    private struct Loaded {
        var security: TransportSecurity
        /// The newest revocation list in use.
        var revocations: RevocationList?
        /// The links with other accounts in use.
        var links: AccountLinks
        /// The name that the user chose for this system.
        var systemName: String?
        /// The user's choices.
        var settings: [[UInt8]?] = []
        /// The store's version when it was last read; `nil` for an identity outside a store.
        var version: AccountStore.Version?
        /// Whether this system has left the account. Never reset during the life of this object.
        var hasLeft = false
        /// Whether the store now holds another account. Application contexts that began with this account keep it.
        var isReplaced = false
    }

    private struct WeakBrowser: Sendable {
        weak var browser: SystemBrowser?
    }

    /// The contents of the account's files.
    private struct Account {
        var identity: SystemIdentity
        var systemName: String?
        var version: AccountStore.Version?
        var revocations: RevocationList?
        var links = AccountLinks.none
        /// The user's choices, as bytes: only whether they change matters here.
        var settings: [[UInt8]?] = []
    }

    init(_ configuration: RemoteSystemsConfiguration, sources: [any DiscoverySource]) {
        self.sources = sources
        self.network = configuration.environment.network.limited(to: configuration.network.reach)
        self.environment = configuration.environment
        self.logger = configuration.logger
        self.incidents = IncidentLog(configuration.logger)
        self.stateDirectory = configuration.stateDirectory
        self.reach = configuration.network.reach
        // Remembered endpoints replace announcements. A program that has only configured peers must not connect to
        // other systems.
        self.remembersSystems =
            configuration.discovery.remembersSystems && configuration.environment.isReal
            && sources.contains { $0.origin == .announced }
        self.follower = AccountObserver(configuration.environment)
    }

    /// Returns the browser that all watchers share. The browser runs while at least one watcher runs.
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

    /// The systems that were met before, in the account's directory; `nil` if they are not remembered.
    ///
    /// - Parameter system: this system.
    func knownSystems(of system: SystemID) -> KnownSystems? {
        guard self.remembersSystems, let store = try? self.store() else { return nil }
        return KnownSystems(
            store: store,
            ownSystem: system,
            reach: self.reach,
            queue: self.accountQueue,
            logger: self.logger
        )
    }

    /// Notes that a system of the account was met by its address, for lists of the account's systems.
    func noteMeeting(with system: SystemID, named name: String, certificateEnd: Date) async {
        guard self.remembersSystems, let store = try? self.store(), let own = try? self.security().systemID,
            own != system
        else { return }
        try? await self.accountQueue.run {
            store.noteMeeting(with: system, named: name, certificateEnd: certificateEnd, by: own, now: Date())
        }
    }

    /// Returns the identity, prepared for TLS. Reads a few small files on first use, and creates a personal account if
    /// there is none.
    func security() throws(RemoteSystemError) -> TransportSecurity {
        do {
            return try self.loaded.withLock { loaded in
                if let loaded {
                    guard !loaded.hasLeft else { throw Self.left(loaded.security.identity.accountID) }
                    return loaded.security
                }
                try FileDescriptorBudget.check()
                let account = try self.readAccount()
                var trust = account.identity.trustStore(revocations: account.revocations)
                trust.update(links: account.links.links)
                let new = try TransportSecurity(
                    identity: account.identity,
                    trust: trust,
                    learned: { [weak self] in self?.keep(roots: $0) }
                )
                loaded = Loaded(
                    security: new,
                    revocations: account.revocations,
                    links: account.links,
                    systemName: account.systemName,
                    settings: account.settings,
                    version: account.version
                )
                return new
            }
        } catch {
            throw RemoteSystemError(error)
        }
    }

    /// Reads the account, and creates one if there is none.
    private func readAccount() throws -> Account {
        if let identity = self.environment.identity {
            return Account(
                identity: try identity(),
                links: AccountLinks(inMemory: try self.environment.links?() ?? [])
            )
        }
        let store = try self.store()
        return try self.readUnchanged(store) { version in
            Account(
                identity: try store.identity(),
                systemName: store.systemName(),
                version: version,
                revocations: try store.revocations(),
                links: try store.links(),
                settings: Self.settings(store)
            )
        }
    }

    /// Reads the account; returns `nil` if there is none.
    ///
    /// - Parameter known: what this process knows of the account. If a file was deleted, or replaced by an older one,
    ///   it is repaired.
    private func readStoredAccount(repairing known: TrustedAccount) throws -> Account? {
        if let identity = self.environment.identity {
            return Account(
                identity: try identity(),
                links: AccountLinks(inMemory: try self.environment.links?() ?? [])
            )
        }
        let store = try self.store()
        return try self.readUnchanged(store) { version in
            guard let identity = try store.storedIdentity(now: Date()) else { return nil }
            let links = try store.links()
            guard identity.accountID == known.id else {
                return Account(identity: identity, version: version, links: links)
            }
            let revocations = try self.repair(store, identity, from: known)
            return Account(
                identity: identity,
                systemName: store.systemName(),
                version: version,
                revocations: revocations,
                links: links,
                settings: Self.settings(store)
            )
        }
    }

    private static func settings(_ store: AccountStore) -> [[UInt8]?] {
        StateFile.followed.map { try? store.contents(of: $0) }
    }

    /// The name that the user chose for this system; `nil` for the machine's own name.
    var systemName: String? { self.loaded.withLock { $0?.systemName } }

    /// Reads until the store's version is the same before and after, so that the version belongs to the result.
    ///
    /// Reading may itself create or renew files. If the store keeps changing, the version returned is older than the
    /// result, and the change is detected later.
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

    /// The newest revocation list in use; `nil` if no revocation is known.
    var revocations: RevocationList? { self.loaded.withLock { $0?.revocations } }

    /// The links with other accounts in use.
    var links: AccountLinks { self.loaded.withLock { $0?.links } ?? .none }

    /// Whether the account is stored in files. It is not in tests that hold an identity in memory.
    var hasFiles: Bool { self.environment.identity == nil }

    func store() throws(IdentityError) -> AccountStore {
        guard self.environment.identity == nil else {
            throw IdentityError(
                .noStateDirectory,
                "This system's identity is held only in memory, as in tests. It cannot be read from files or changed."
            )
        }
        if let directory = self.stateDirectory { return AccountStore(directory: directory) }
        return try AccountStore()
    }

    /// Reloads the account after this or another process changed it (renewed certificate, new revocation list).
    ///
    /// On the system that holds the account's root key, reading the identity also renews the certificate when it is
    /// due. Intended for long-running processes.
    func reloadIdentity() {
        do {
            let shouldReport = try self.reloading.withLock { _ in try self.reload() }
            if shouldReport { self.follower.notify() }
        } catch {
            self.logger.warning("The account could not be reloaded", metadata: ["reason": "\(error)"])
        }
    }

    /// Runs ``reloadIdentity()`` on the account's queue, since it opens files and may sign a certificate. Does nothing
    /// when the queue is full.
    func reloadIdentityInBackground() async {
        // An identity in memory needs no file access.
        guard self.environment.identity == nil else { return self.reloadIdentity() }
        try? await self.accountQueue.run { self.reloadIdentity() }
    }

    /// Reads the account again, after this or another process changed it.
    ///
    /// - Returns: whether the revocations, the root keys, the discovery key, the links, this system's name or the
    ///   user's choices changed, or this system has left the account.
    private func reload() throws -> Bool {
        _ = try self.security()
        // The lock is not held while files are read, so that other users do not wait.
        guard let present = self.loaded.withLock({ $0 }) else { return false }
        guard try !self.noticeLeaving(present) else { return true }
        guard let account = try self.readStoredAccount(repairing: present.security.trust.own) else {
            guard try !self.noticeLeaving(present) else { return true }
            // The files were removed by hand. The account in memory stays in use until the process ends.
            self.loaded.withLock { $0?.version = try? self.store().version() }
            return false
        }
        // The store may hold another account now. A process keeps the old one until it is restarted.
        // An older list, for example from a backup, must not restore a withdrawn link.
        let links = account.links.isOlder(than: present.links) ? present.links : account.links
        let isSameAccount = account.identity.accountID == present.security.identity.accountID
        let isTrustChanged =
            account.revocations != present.revocations || account.identity.roots != present.security.trust.own.roots
            || account.identity.discoveryKey != present.security.identity.discoveryKey
        let isDescriptionChanged = account.systemName != present.systemName || account.settings != present.settings
        let isChanged =
            isTrustChanged || isDescriptionChanged || links != present.links
            || account.identity.certificateValidity != present.security.identity.certificateValidity
        guard isSameAccount, isChanged else {
            self.loaded.withLock { loaded in
                loaded?.version = account.version
                loaded?.isReplaced = !isSameAccount
            }
            return false
        }
        // If the update fails, the version stays unchanged, so the next check tries again.
        try present.security.update(
            identity: account.identity,
            revocations: account.revocations
        )
        if links != present.links { try present.security.update(links: links.links) }
        self.loaded.withLock { loaded in
            loaded?.version = account.version
            loaded?.systemName = account.systemName
            loaded?.settings = account.settings
            loaded?.revocations = present.security.trust.own.revocations
            loaded?.links = links
        }
        self.logger.debug("The account was reloaded")
        self.audit(links, after: present.links)
        return isTrustChanged || isDescriptionChanged || links != present.links
    }

    // MARK: Leaving

    /// Whether a new user would get the same account: not after this system left the account or joined another.
    var isCurrent: Bool {
        if self.loaded.withLock({ $0 }) != nil, self.isAccountChanged { self.reloadIdentity() }
        return self.loaded.withLock { !($0?.hasLeft ?? false) && !($0?.isReplaced ?? false) }
    }

    /// Whether this system has left the account.
    var hasLeft: Bool { self.loaded.withLock { $0?.hasLeft ?? false } }

    /// Checks that this system still belongs to its account.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when this system has left the account.
    func checkMembership() throws(RemoteSystemError) {
        if self.hasLeft { _ = try self.security() }
    }

    /// Closes all connections under the account if this system has left it.
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
            This system has left account \(account.short). Start this program again: it then uses the account that is \
            stored, or creates a new one.
            """
        )
    }

    // MARK: Root keys

    /// Stores root keys that a peer presented, for other processes of this machine and for later starts. If the queue
    /// is full, they are stored when a peer presents them to another process.
    private func keep(roots: RootChain) {
        guard self.environment.identity == nil else { return }
        self.rootKeeping.withLock { keeping in
            let earlier = keeping
            keeping = Task(executorPreference: self.environment.taskExecutor) {
                await earlier?.value
                try? await self.accountQueue.run { self.store(roots: roots) }
            }
        }
    }

    /// Returns when the root keys that peers have shown are stored.
    ///
    /// A host may refuse this system at once because its root key was replaced. A program that then ends would forget
    /// the new key before it is stored, and a machine with the old key would continue to admit systems with it.
    func untilRootsAreStored() async {
        let keeping = self.rootKeeping.withLock { $0 }
        await keeping?.value
    }

    /// Blocks while it waits for the lock on the files.
    private func store(roots: RootChain) {
        do {
            let own = try self.security().trust.own.id
            guard own == roots.accountID else {
                try self.store().learn(LearnedLink(roots: roots, of: own), now: Date())
                return self.reloadIdentity()
            }
            try self.store().install(roots: roots)
            self.reloadIdentity()
            // Peers receive the new root key, too.
            self.follower.notify()
            self.logger.notice("The account has a new root key", metadata: ["number": "\(roots.count)"])
        } catch {
            self.logger.warning("The account's new root key was not stored", metadata: ["reason": "\(error)"])
        }
    }

    // MARK: Following

    /// Reloads the account when other processes change it, and calls back when revocations must be sent to peers.
    /// Returns when cancelled, or when this system has left the account (``hasLeft``).
    func observeAccount(_ revoked: () async -> Void) async {
        // No other process changes an identity in memory.
        guard self.environment.identity == nil else { return }
        let (change, listener) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let holder = self.follower.hold(listener) { await self.lookAtAccountInBackground() }
        defer { self.follower.release(holder) }
        for await _ in change {
            guard !self.hasLeft else { return }
            await revoked()
        }
    }

    /// Observes the account while a connection is open, so that the connection is closed when its system is revoked.
    private func observeAccount(whileOpen connection: any AuthenticatedConnection) {
        guard self.environment.identity == nil else { return }
        let holder = self.follower.hold { await self.lookAtAccountInBackground() }
        connection.onClose { _ in self.follower.release(holder) }
    }

    /// Loads all changes that other processes have made so far. Concurrent calls read the files once.
    private func takeChangesIntoUse() async {
        // A read in progress may have begun before the change. Usually nothing has changed, and the files are looked at
        // once: that takes a fortieth of the time of opening a connection.
        for _ in 0..<2 {
            guard self.isAccountChanged else { return }
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

    /// Closes connections whose trust has ended by the wall clock, and reloads the account if another process changed
    /// it.
    private func lookAtAccountInBackground() async {
        self.loaded.withLock { $0?.security }?.closeExpired(at: self.environment.time.date)
        if self.isAccountChanged { await self.reloadIdentityInBackground() }
    }

    private var isAccountChanged: Bool {
        guard !self.hasLeft, let store = try? self.store() else { return false }
        return self.loaded.withLock { $0?.version } != store.version()
    }

    /// Creates a connector for connections under the account.
    func connector(
        limits: ConnectionLimits,
        timeout: TimeAmount,
        logger: Logger,
        incidents: IncidentLog? = nil
    ) async throws(RemoteSystemError) -> Connector {
        // New connections must use the current revocations and certificates. The files are read on another thread: the
        // caller may be on an event loop, and another process may hold the lock on the files.
        if self.loaded.withLock({ $0 }) != nil { await self.takeChangesIntoUse() }
        var connector = Connector(
            security: try self.security(),
            limits: limits,
            timeout: timeout,
            logger: logger,
            network: self.network
        )
        connector.incidents = incidents ?? self.incidents
        connector.opened = { self.observeAccount(whileOpen: $0) }
        return connector
    }

    /// The network, with sockets that listen on one that was passed to this process.
    func network(listeningOn socket: CInt) -> TransportNetwork {
        var network = self.network
        network.register(SocketTransport(listeningSocket: socket, reach: self.reach))
        return network
    }
}
