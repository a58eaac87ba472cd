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
    let loaded = Mutex<Loaded?>(nil)
    /// A lock that is held while the files are read again, so that the state read last is also applied last. Holds the
    /// failure that was logged last; `nil` after a success.
    let reloading = Mutex<ReloadFailure?>(nil)
    /// The task that reads the files once for all concurrent connection attempts; `nil` while none runs.
    let changeReading = Mutex<Task<Void, Never>?>(nil)
    /// The task that stores the root keys that a peer has shown last; `nil` if none has shown any.
    let rootKeeping = Mutex<Task<Void, Never>?>(nil)
    let follower: AccountObserver
    /// Whether this process pairs under the account now. Its person can compare the digits of one pairing at a time.
    let isPairing = Mutex(false)
    let renewer = CertificateRenewer()
    private let lastBrowser = Mutex(WeakBrowser())

    /// What is in use of the account since its files were read last.
    struct Loaded {
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
        /// Whether the files are older than what is in use, and could not be repaired.
        var isUnrepaired = false
        /// The time from which files that have not changed may be read again; `nil` for at once.
        var nextReading: ContinuousClock.Instant?
        /// Whether this system has left the account. Never reset during the life of this object.
        var hasLeft = false
        /// Whether the store now holds another account. Application contexts that began with this account keep it.
        var isReplaced = false
        /// What the log says of the account's systems and keys.
        var membership: AccountMembership
    }

    private struct WeakBrowser: Sendable {
        weak var browser: SystemBrowser?
    }

    /// The contents of the account's files.
    struct Account {
        var identity: SystemIdentity
        var systemName: String?
        var version: AccountStore.Version?
        var revocations: RevocationList?
        var links = AccountLinks.none
        /// The systems that this machine has admitted; `nil` if their record cannot be read.
        var joined: [SystemID]?
        /// The user's choices, as bytes: only whether they change matters here.
        var settings: [[UInt8]?] = []
        /// Why files that are older than what this process knows were not repaired; `nil` if none are.
        var failedRepair: IdentityError?
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
        await self.accountQueue.run {
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
                    learned: { [weak self] in self?.keep(roots: $0) },
                    withdrawn: { [weak self] in self?.learnWithdrawal($1, from: $0) }
                )
                loaded = Loaded(
                    security: new,
                    revocations: account.revocations,
                    links: account.links,
                    systemName: account.systemName,
                    settings: account.settings,
                    version: account.version,
                    membership: AccountMembership(account)
                )
                return new
            }
        } catch {
            throw RemoteSystemError(error)
        }
    }

    /// Reads the account, and creates one if there is none.
    private func readAccount() throws -> Account {
        if let account = try self.accountInMemory() { return account }
        let store = try self.store()
        let account = try self.readUnchanged(store) { version in
            Account(
                identity: try store.identity(),
                systemName: store.systemName(),
                version: version,
                revocations: try store.revocations(),
                links: try store.links(),
                joined: try? store.joinedSystems(),
                settings: Self.settings(store)
            )
        }
        try store.noteUse(as: account.identity.systemID)
        try? store.noteNewestLists()
        if let path = try? store.restoredLinks() {
            self.logger.warning(
                """
                The list of links with other accounts is older than before, as one of a backup, so withdrawn links may \
                be in force again. 'remotesystems doctor' states what to do
                """,
                metadata: ["path": "\(path)"]
            )
        }
        return account
    }

    /// Reads the account; returns `nil` if there is none.
    ///
    /// - Parameter known: what this process knows of the account. If a file was deleted, or replaced by an older one,
    ///   it is repaired.
    func readStoredAccount(repairing known: TrustedAccount) throws -> Account? {
        if let account = try self.accountInMemory() { return account }
        let store = try self.store()
        return try self.readUnchanged(store) { version in
            guard let identity = try store.storedIdentity(now: self.environment.time.date) else { return nil }
            let links = try store.links()
            guard identity.accountID == known.id else {
                return Account(identity: identity, version: version, links: links)
            }
            let (revocations, failedRepair) = try self.repair(store, identity, from: known)
            return Account(
                identity: identity,
                systemName: store.systemName(),
                version: version,
                revocations: revocations,
                links: links,
                joined: try? store.joinedSystems(),
                settings: Self.settings(store),
                failedRepair: failedRepair
            )
        }
    }

    /// The account of an identity that is held only in memory, which is so in tests.
    private func accountInMemory() throws -> Account? {
        guard let identity = self.environment.identity else { return nil }
        return Account(identity: try identity(), links: AccountLinks(inMemory: try self.environment.links?() ?? []))
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

    /// The account's files.
    ///
    /// - Throws: ``IdentityError`` for an identity that is held only in memory.
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
