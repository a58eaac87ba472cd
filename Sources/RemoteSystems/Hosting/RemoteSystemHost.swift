// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import RemoteSystemsIdentity
package import RemoteSystemsTransport
public import ServiceLifecycle
internal import Synchronization
package import ValueSets

/// Makes this process an application that other systems of the account can find and call.
///
/// ```swift
/// let host = RemoteSystemHost(application: "com.example.player", services: [
///     AppService("com.example.ping") { request in
///         ["Type": "pong", "CreationDate": request.message["CreationDate"] ?? .null]
///     },
/// ])
/// try await ServiceGroup(services: [host], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
///
/// The host works only inside ``run()``: it listens, advertises itself, publishes its services to watchers, and
/// responds to requests. On graceful shutdown it withdraws the advertisement, refuses new connections
/// (``AppServiceConnectionStatus/appUnavailable``), and lets running requests finish. When its task is cancelled it
/// closes its connections at once; running requests then fail on both sides.
public final class RemoteSystemHost: Service {
    /// The settings that decide how a host is published and where it listens.
    public struct Options: Sendable {
        /// The application's name as users see it. Valid length: 1–1024 bytes of UTF-8.
        ///
        /// Defaults to `nil`: the application's id.
        public var displayName: String?
        /// Attributes that the application publishes to systems of its account. At most 256 entries, with keys and
        /// values of at most 1 KiB each. Defaults to none.
        public var attributes: [String: String] = [:]
        /// The port to listen on. Defaults to 0: the kernel chooses a free port, which callers learn by discovery.
        /// Valid range: 0–65535.
        public var port = 0
        /// Whether the host advertises itself. Defaults to `true`.
        ///
        /// With `false`, the host does not advertise itself, and callers need its address. If the host daemon of the
        /// machine runs (a host with ``installedApplications``), watchers list the host nevertheless, because the
        /// daemon publishes which hosts run on its machine.
        public var isDiscoverable = true
        /// Whether other processes of this system may run under the same application id at the same time. Defaults to
        /// `false`.
        ///
        /// With `false`, the second host to start fails with ``RemoteSystemError/Code/applicationAlreadyRunning``,
        /// because a caller could not choose which of the two it reaches. Processes that share an id must all set this
        /// to `true` and offer the same services; a caller reaches any one of them. Applications with hand-off
        /// (`UserActivityHost`) cannot share an id.
        public var allowsSeveralProcesses = false
        /// Whether systems of other accounts on the same network may find the application and call its services that
        /// are offered to ``AppServiceCallers/anyoneNearby``. Defaults to `false`.
        ///
        /// Such systems learn the machine's display name and kind. Their connections are accepted only from loopback,
        /// link-local and private addresses.
        public var allowsAnyoneNearby = false
        /// The installed applications that this host lists, and starts when they are called. Defaults to `nil`: the
        /// host represents only its own application.
        public var installedApplications: (any InstalledApplications)?
        /// The maximum time from the start of an installed application until it can be reached. Defaults to 10 s. Valid
        /// range: 0.1 s–5 min.
        ///
        /// Callers wait for as long as their own ``RemoteSystemsConfiguration/Transport/startTimeout``, which defaults
        /// to 15 s.
        public var startTimeout = Duration.seconds(10)
        /// Finds the host daemon of this machine when its socket in the state directory cannot be reached by path, for
        /// example in a sandbox. Defaults to `nil`: the daemon is found by the path only.
        ///
        /// `SessionBusDaemon` of the module RemoteSystemsDesktop is a locator.
        public var hostDaemonLocator: (any HostDaemonLocator)?
        /// A listening socket to use instead of opening one, as service managers pass it. The host closes it when it
        /// ends. A socket that accepts connections from more than the configuration's network is refused.
        package var listeningSocket: Int32?
        /// What other modules add to the host. Defaults to nothing.
        package var features: [HostFeature] = []
        /// The receiver of every event of the host's connections. For the conformance host.
        package var connectionObserver: ConnectionObserver?
        /// Additional keys, unknown to this protocol version, for every `accept`.
        package var unknownAcceptKeys: ValueSet = [:]
        /// Opens URIs that other systems launch on this host. Defaults to `nil`: no URIs are opened.
        public var launchURIProvider: (any LaunchURIProvider)?

        /// Creates options with the default values.
        public init() {}
    }

    /// The application id of a machine's host daemon: `remote-systems.host`.
    ///
    /// The host daemon is the host with ``Options/installedApplications``, such as `remotesystems host run`. It
    /// receives launches that are not meant for a particular application.
    public static let machineApplicationID = "remote-systems.host"

    private let configuration: RemoteSystemsConfiguration
    let options: Options
    let context: ApplicationContext
    let core: HostCore
    let running: RunningApplications?
    private let launching: LaunchService?
    private let listening = HostListening()
    /// The claim on the application id while the host runs.
    private let claim = Mutex<(any ApplicationClaim)?>(nil)
    let advertising: ObservableValue<Advertising>
    let advertised = AdvertisedInstances()
    private let hasRun = Mutex(false)
    let registering: HostRegistration
    let registryPlace: RegistryPlace?
    let registryConnection = RegistryConnection()
    /// The listener for registrations of other programs; `nil` unless this is the machine's host daemon.
    private let registryListener: RegistryListener?

    /// Creates a host with the default configuration and options.
    ///
    /// - Parameters:
    ///   - application: the application's id, in reverse-DNS form. Valid length: 1–256 bytes of UTF-8.
    ///   - services: the app services that the host offers. If two services have the same name, ``run()`` throws
    ///     ``RemoteSystemError/Code/invalidArgument``.
    public convenience init(application: String, services: [AppService]) {
        self.init(RemoteSystemsConfiguration(applicationID: application), services: services)
    }

    /// Creates a host. ``run()`` starts it and checks the arguments.
    ///
    /// - Parameters:
    ///   - configuration: the process's configuration.
    ///   - services: the app services that the host offers. If two services have the same name, ``run()`` throws
    ///     ``RemoteSystemError/Code/invalidArgument``.
    ///   - options: how the host is published, and where it listens. Defaults to `Options()`.
    public init(_ configuration: RemoteSystemsConfiguration, services: [AppService], options: Options = Options()) {
        self.configuration = configuration
        self.options = options
        let context = ApplicationContext(configuration)
        var running = context.account.running
        if options.installedApplications != nil { running = running?.with(ProgramRegistry()) }
        let registryPlace = Self.registryPlace(configuration, running)
        let advertising = ObservableValue(Advertising(isWanted: options.isDiscoverable))
        let launching = options.launchURIProvider.map { LaunchService(provider: $0, context: context) }
        let services = services + options.features.flatMap(\.services)
        let topics = options.features.flatMap(\.topics)
        self.context = context
        self.running = running
        self.launching = launching
        self.advertising = advertising
        self.registryPlace = registryPlace
        self.registering = HostRegistration { try? context.security().identity }
        self.core = HostCore(
            context: context,
            services: services,
            builtIns: [DiagnosisService(context: context, advertised: self.advertised).builtIn]
                + (launching.map { [$0.builtIn] } ?? []),
            referral: ApplicationReferral(options, running: running, context: context),
            application: SystemDescription.Application(
                id: configuration.applicationID,
                displayName: options.displayName ?? configuration.applicationID,
                attributes: options.attributes,
                services: services.map { $0.published },
                uriSchemes: launching?.schemes ?? [],
                topics: topics.map(\.name)
            ),
            topics: topics,
            allowsAnonymous: options.allowsAnyoneNearby
        )
        guard let running, let programs = running.registered, registryPlace != nil else {
            self.registryListener = nil
            return
        }
        self.registryListener = RegistryListener(
            programs,
            running: running,
            context: context,
            topics: self.core.topics,
            advertised: self.advertised,
            vouching: options.installedApplications as? any PublisherVouching
        ) {
            advertising.value.isWanted
        } publish: { [core = self.core] in
            await core.publishPrograms()
        }
    }

    /// The TCP port that the host listens on. Waits until the host listens.
    ///
    /// - Throws: the error with which ``run()`` failed before the host listened; `CancellationError`.
    public var port: Int {
        get async throws {
            let first = try await self.core.port.value
            return self.listening.port ?? first
        }
    }

    /// The number of open connections of other systems.
    var openConnections: Int { self.core.connections.all.count }

    /// Replaces the application's attributes. Watchers are notified at once.
    ///
    /// - Parameter attributes: the new attributes. At most 256 entries, with keys and values of at most 1 KiB each.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse`` when there are more than 256 attributes,
    ///   a key is empty, or a key or value exceeds 1 KiB. The attributes are then unchanged.
    public func update(attributes: [String: String]) async throws(RemoteSystemError) {
        try SystemDescription.check(attributes: attributes)
        await self.core.update(attributes: attributes)
    }

    /// Checks the limits of ``update(attributes:)``.
    package static func check(attributes: [String: String]) throws(RemoteSystemError) {
        try SystemDescription.check(attributes: attributes)
    }

    /// Changes the system's display name; `nil` for the machine's own name. Watchers are notified at once.
    package func update(systemDisplayName: String?) async {
        await self.core.update(systemDisplayName: systemDisplayName)
    }

    /// Changes the start timeout of installed applications. Running starts keep theirs.
    package func update(startTimeout: Duration) async {
        await self.core.referral?.starter.update(timeout: startTimeout)
    }

    /// Changes whether the host is advertised. Open connections are kept. Programs that are registered with this host
    /// receive the change when they next check whether it responds, within 2 s.
    package func update(isDiscoverable: Bool) {
        guard self.advertising.value.isWanted != isDiscoverable else { return }
        self.advertising.change { $0.isWanted = isDiscoverable }
    }

    /// Changes the port that the host listens on; 0 for any free port.
    ///
    /// Does nothing for a host that was given its socket, or that does not listen yet. Open connections are kept,
    /// except those of watchers, which reconnect at the new port a little later.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/cannotListen``. The host then keeps listening on
    ///   the previous port.
    package func update(port: Int) async throws(RemoteSystemError) {
        guard self.options.listeningSocket == nil, let current = self.listening.port, current != port else { return }
        let listener = try await self.listen(port: port)
        let before = self.listening.replace(with: listener)
        self.claim.withLock { $0 }?.listens(at: listener.port, isOnLoopback: self.configuration.network == .loopback)
        self.advertising.change { $0.port = listener.port }
        await before?.stop()
    }

    /// Changes the provider that opens URIs. Watchers are notified of its schemes at once. Running launches keep the
    /// previous provider.
    ///
    /// Does nothing for a host that was created without a provider.
    package func update(launchURIProvider provider: any LaunchURIProvider) async {
        guard let launching else { return }
        launching.update(provider)
        await self.core.update(uriSchemes: launching.schemes)
    }

    /// Runs the host until its task is cancelled or a graceful shutdown is triggered (as `ServiceGroup` does on a
    /// signal).
    ///
    /// A graceful shutdown first finishes running requests, for at most
    /// ``RemoteSystemsConfiguration/Transport/drainTimeout``. Cancellation, also during a graceful shutdown, waits for
    /// no request. In both cases the method returns normally. A host can run once.
    ///
    /// - Throws: ``RemoteSystemError``:
    ///   - ``RemoteSystemError/Code/identity`` when the account cannot be used or this system left it (its cause then
    ///     has ``IdentityError/Code/accountLeft``),
    ///   - ``RemoteSystemError/Code/applicationAlreadyRunning`` when another process of this system runs as the same
    ///     application,
    ///   - ``RemoteSystemError/Code/cannotListen`` when the port cannot be opened,
    ///   - ``RemoteSystemError/Code/discovery`` when the host can never be advertised,
    ///   - ``RemoteSystemError/Code/invalidArgument`` when a number in the configuration, the options or a service is
    ///     outside its range, or a name is not valid or used by two services,
    ///   - ``RemoteSystemError/Code/misuse`` when called twice, or when the attributes, the number of services or the
    ///     URI schemes exceed their limits.
    public func run() async throws {
        try await self.run(isStaged: false)
    }

    /// Runs the host as ``run()`` does.
    ///
    /// - Parameter isStaged: true for a host in a simulated test. Cancellation then acts as a graceful shutdown:
    ///   ServiceLifecycle handles the shutdown in a task of its own, which the simulation does not control.
    package func run(isStaged: Bool) async throws {
        let isFirst = self.hasRun.withLock { hasRun in
            defer { hasRun = true }
            return !hasRun
        }
        guard isFirst else {
            throw RemoteSystemError(.misuse, "A host can run only once. Create a new one.", side: .local)
        }
        let listener: Listener
        do {
            try self.core.validate()
            try self.options.validate()
            try SystemDescription.check(attributes: self.options.attributes)
            let claim = try self.claimApplication()
            self.claim.withLock { $0 = claim }
            self.expectPrograms()
            try await self.core.begin()
            // A caller may be waiting at the socket already, for an application that it expects to be listed.
            await self.takeInstalled()
            listener = try await self.listen(port: self.options.port)
        } catch {
            self.claim.withLock { $0 = nil }
            self.core.port.fail(error)
            throw error
        }
        defer { self.claim.withLock { $0 = nil } }
        _ = self.listening.replace(with: listener)
        self.claim.withLock { $0 }?.listens(at: listener.port, isOnLoopback: self.configuration.network == .loopback)
        self.refreshTags()
        self.advertising.change { $0.port = listener.port }
        if let registryPlace { await self.registryListener?.start(at: registryPlace) }
        self.expectDaemon()
        self.registering.listens(true)
        defer { self.registering.end() }
        self.core.port.succeed(listener.port)
        self.context.logger.debug("The host listens", metadata: ["port": "\(listener.port)"])
        do {
            try await withTaskExecutorPreference(self.context.environment.taskExecutor) {
                if isStaged {
                    try await self.advertiseAndRenew()
                } else {
                    try await cancelWhenGracefulShutdown { try await self.advertiseAndRenew() }
                }
            }
        } catch is CancellationError {
            // The normal end.
        } catch {
            await self.stop()
            throw error
        }
        if isStaged {
            await Task(executorPreference: self.context.environment.taskExecutor) { await self.stop() }.value
        } else {
            await self.stop()
        }
    }

    /// Claims the application id for as long as the host runs. The host runs without a claim where that is not
    /// possible, for example in a read-only state directory.
    private func claimApplication() throws(RemoteSystemError) -> (any ApplicationClaim)? {
        // Creates the state directory on first use.
        _ = try self.context.security()
        let claims =
            self.context.environment.applicationClaims ?? self.running.map { ApplicationLocks(running: $0) }
        guard let claims else { return nil }
        do {
            return try claims.claim(self.configuration.applicationID, isShared: self.options.allowsSeveralProcesses)
        } catch let taken as ApplicationIsTaken {
            throw RemoteSystemError(alreadyRunning: self.configuration.applicationID, taken)
        } catch {
            self.context.logger.warning(
                "Cannot check whether this application is running already",
                metadata: ["reason": "\(error)"]
            )
            return nil
        }
    }

    private func listen(port: Int) async throws(RemoteSystemError) -> Listener {
        do {
            let security = try self.context.security()
            return try await Listener.start(
                host: nil,
                port: port,
                security: security,
                limits: self.context.limits,
                logger: self.context.logger,
                network: self.options.listeningSocket.map { self.context.account.network(listeningOn: $0) }
                    ?? self.context.account.network,
                accepting: self.options.allowsAnyoneNearby
                    ? [.sameAccount, .linked, .anonymous] : [.sameAccount, .linked],
                incidents: self.context.incidents,
                observer: self.options.connectionObserver
            ) { [core = self.core, unknownKeys = self.options.unknownAcceptKeys] hello, peer in
                let admission = await core.admit(hello, peer: peer, own: security.systemID)
                guard !unknownKeys.isEmpty, case .accept(var accepted) = admission else { return admission }
                accepted.acceptance.unknownKeys = unknownKeys
                return .accept(accepted)
            }
        } catch {
            throw RemoteSystemError(error)
        }
    }

    private func takeInstalled() async {
        guard let installed = self.options.installedApplications else { return }
        await self.core.update(installed: installed.applications())
        await self.registryListener?.vouchAgain()
    }

    /// Returns once every event loop and the host's actor have run a task, which proves to a watchdog that they
    /// respond.
    package func proveAlive() async throws {
        for eventLoop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
            try await eventLoop.submit {}.get()
        }
        _ = await self.core.isClosing
    }

    /// Starts an installed application unless it runs, and waits until it can be reached.
    package func bringUp(_ application: String) async { _ = await self.core.referral?.starter.bringUp(application) }

    /// Closes all connections, then the listener. It keeps listening while running requests finish: new callers then
    /// get the refusal "shutting down", which is more precise than a failed connection.
    private func stop() async {
        await self.core.close { await self.registryListener?.stop() }
        await self.listening.end()?.stop()
    }

    /// Runs all background work until cancelled.
    private func advertiseAndRenew() async throws {
        let (renewals, renewal) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { try await self.advertiseWhenWanted() }
            group.addTask { try await self.keepRegistered() }
            group.addTask { await self.sendWatchersOn() }
            group.addTask { try await self.followCertificate() }
            group.addTask {
                await self.context.account.observeAccount {
                    await self.core.accountChanged()
                    self.refreshTags()
                    for feature in self.options.features { feature.accountChanged() }
                    renewal.yield()
                }
                try self.context.account.checkMembership()
            }
            if let installed = self.options.installedApplications {
                group.addTask {
                    let changes = installed.changes()
                    // Reads again what has changed between the first read and the subscription.
                    await self.takeInstalled()
                    for await _ in changes { await self.takeInstalled() }
                }
            }
            if let programs = self.running?.registered { group.addTask { try await self.awaitExpected(programs) } }
            group.addTask {
                while true {
                    try await self.context.environment.time.sleep(for: .seconds(6 * 3600))
                    renewal.yield()
                }
            }
            group.addTask {
                for await _ in renewals { try await self.renewIfDue() }
            }
        }
    }

    /// Renews the certificate if it is due.
    ///
    /// Where the account's root key is stored, loading the identity renews the certificate. On other systems a watcher
    /// runs for 15 s to find a system that has the key and to request a certificate from it.
    private func renewIfDue() async throws {
        await self.context.account.reloadIdentityInBackground()
        guard let identity = try? self.context.security().identity, !identity.isAuthority,
            identity.isRenewalDue(at: Date())
        else { return }
        await self.core.renewIfDue()
        guard let identity = try? self.context.security().identity, identity.isRenewalDue(at: Date()) else { return }
        let watcher = RemoteSystemWatcher(self.configuration)
        try? await watcher.start()
        try? await self.context.environment.time.sleep(for: .seconds(15))
        await watcher.stop()
        await self.context.account.reloadIdentityInBackground()
    }
}
