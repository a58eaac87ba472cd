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

/// Makes this process an application that other systems of the account find and talk to.
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
/// It runs inside ``run()`` and nowhere else: it listens, announces itself, tells watchers of its services, and answers.
/// On graceful shutdown it withdraws the announcement, refuses new connections (status 2), and lets requests under way
/// finish. When its task is cancelled it ends its connections at once; what is under way fails on both sides.
public final class RemoteSystemHost: Service {
    /// How the host appears and what it listens on.
    public struct Options: Sendable {
        /// The application's name for people, 1 to 1024 bytes of UTF-8; its id unless set.
        public var displayName: String?
        /// What the application says of itself to systems of its account; at most 256 entries, with names and texts of at
        /// most 1 KiB each.
        public var attributes: [String: String] = [:]
        /// The port to listen on. 0, the default, lets the system choose: callers learn it by discovery. Valid range: 0–65535.
        public var port = 0
        /// Whether to announce itself. Without it the host can be reached by its address only, and through a host daemon on its
        /// machine: that tells systems of the account that it runs, and watchers list it.
        public var isDiscoverable = true
        /// Whether other processes of this system may run at the same time under the same application id. Off unless set:
        /// the second host to start then fails with ``RemoteSystemError/Code/applicationAlreadyRunning``, since callers
        /// would reach either of the two. Processes that share an id all set it; they must offer the same services, and a
        /// caller reaches any one of them.
        public var allowsSeveralProcesses = false
        /// Whether systems of other accounts on the same network may find the application and call those of its services
        /// that are offered to ``AppServiceCallers/anyoneNearby``. Off unless set. They learn the machine's display
        /// name and kind, and come in at addresses only that neighbours have: loopback, link-local, private.
        public var allowsAnyoneNearby = false
        /// What this host speaks for beside itself: it lists these applications, and starts them when they are called. `nil`,
        /// the default, for an application that speaks for itself only.
        public var installedApplications: (any InstalledApplications)?
        /// How long an installed application may take from its start until it can be reached. Defaults to 10 s. Valid range:
        /// 0.1 s–5 min. Callers wait for it as long as their own ``RemoteSystemsConfiguration/startTimeout`` says, 15 s unless set.
        public var startTimeout = Duration.seconds(10)
        /// A listening socket to use instead of opening one, as a service manager hands it over. It is closed with the host.
        /// One that takes connections from more than the configuration's network is refused.
        package var listeningSocket: Int32?
        /// Receives every event of the host's connections; for the conformance host.
        package var connectionObserver: ConnectionObserver?
        /// Keys that this version of the protocol does not know, for every `accept`.
        package var unknownAcceptKeys: ValueSet = [:]
        /// Opens URIs that other systems launch here; `nil`, the default, for none.
        public var launchURIProvider: (any LaunchURIProvider)?

        /// The defaults.
        public init() {}
    }

    /// The id of the application that speaks for a machine as a whole: its host daemon. Launches go to it for whatever
    /// no application in particular is meant to open.
    public static let machineApplicationID = "remote-systems.host"

    private let configuration: RemoteSystemsConfiguration
    let options: Options
    let context: ApplicationContext
    let core: HostCore
    private let running: RunningApplications?
    private let launching: LaunchService?
    private let listening = HostListening()
    let advertising: ObservableValue<Advertising>
    let advertised = AdvertisedInstances()
    private let hasRun = Mutex(false)
    let registering: HostRegistration

    /// A host with the default configuration.
    ///
    /// - Parameters:
    ///   - application: the application's id, in reverse-DNS form.
    ///   - services: what it offers. Of two with one name the first is used.
    public convenience init(application: String, services: [AppService]) {
        self.init(RemoteSystemsConfiguration(applicationID: application), services: services)
    }

    /// A host with a configuration of its own.
    public init(_ configuration: RemoteSystemsConfiguration, services: [AppService], options: Options = Options()) {
        self.configuration = configuration
        self.options = options
        let context = ApplicationContext(configuration)
        let running = context.account.running
        let launching = options.launchURIProvider.map { LaunchService(provider: $0, context: context) }
        self.context = context
        self.running = running
        self.launching = launching
        self.advertising = ObservableValue(Advertising(isWanted: options.isDiscoverable))
        self.registering = HostRegistration { try? context.security().identity }
        self.core = HostCore(
            context: context,
            services: services,
            builtIns: [DiagnosisService(context: context, advertised: self.advertised)]
                + (launching.map { [$0] } ?? []),
            referral: ApplicationReferral(options, running: running, context: context),
            application: SystemDescription.Application(
                id: configuration.applicationID,
                displayName: options.displayName ?? configuration.applicationID,
                attributes: options.attributes,
                services: services.map { $0.published },
                uriSchemes: launching?.schemes ?? []
            ),
            allowsAnonymous: options.allowsAnyoneNearby
        )
    }

    /// The port on which the host listens. Waits until it does.
    ///
    /// - Throws: the error with which ``run()`` ended before it listened; `CancellationError`.
    public var port: Int {
        get async throws {
            let first = try await self.core.port.value
            return self.listening.port ?? first
        }
    }

    /// How many connections others have with it.
    var openConnections: Int { self.core.connections.all.count }

    /// Changes what the application says of itself. Watchers are told at once.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse`` when there are more than 256 attributes, or one
    ///   has an empty name, or a name or a text of more than 1 KiB; nothing has changed then.
    public func update(attributes: [String: String]) async throws(RemoteSystemError) {
        try SystemDescription.check(attributes: attributes)
        await self.core.update(attributes: attributes)
    }

    /// What ``update(attributes:)`` demands of them.
    package static func check(attributes: [String: String]) throws(RemoteSystemError) {
        try SystemDescription.check(attributes: attributes)
    }

    /// Changes the name that the system shows; `nil` for the machine's own. Watchers are told at once.
    package func update(systemDisplayName: String?) async {
        await self.core.update(systemDisplayName: systemDisplayName)
    }

    /// Changes how long an installed application may take to start. Starts under way keep what held when they began.
    package func update(startTimeout: Duration) async {
        await self.core.referral?.starter.update(timeout: startTimeout)
    }

    /// Changes whether the host is announced. Who is connected stays so.
    package func update(isDiscoverable: Bool) {
        self.advertising.change { $0.isWanted = isDiscoverable }
    }

    /// Takes connections at another port from now on; 0 for any free one. Nothing changes for a host that was given its socket, or that
    /// does not listen yet. Open connections go on, but for those of watchers, who come back to the new address a little later.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/cannotListen``: it goes on to listen where it did.
    package func update(port: Int) async throws(RemoteSystemError) {
        guard self.options.listeningSocket == nil, let current = self.listening.port, current != port else { return }
        let listener = try await self.listen(port: port)
        let before = self.listening.replace(with: listener, note: self.noteRunning(port: listener.port))
        self.advertising.change { $0.port = listener.port }
        await before?.stop()
    }

    /// Changes what opens URIs, in a host that was made with something that does; watchers are told of its schemes at once.
    /// Launches under way go on with what they began with.
    package func update(launchURIProvider provider: any LaunchURIProvider) async {
        guard let launching else { return }
        launching.update(provider)
        await self.core.update(uriSchemes: launching.schemes)
    }

    /// Runs the host until its task is cancelled, or a graceful shutdown is asked for (as `ServiceGroup` does on a signal).
    ///
    /// A graceful shutdown finishes requests under way first, for at most the configuration's `drainTimeout`; cancelling,
    /// also in the middle of a graceful shutdown, waits for nothing. It returns normally after either.
    ///
    /// - Throws: ``RemoteSystemError``: ``RemoteSystemError/Code/identity`` when the account cannot be used or this system left it,
    ///   ``RemoteSystemError/Code/applicationAlreadyRunning`` when another process of this system runs as the same application,
    ///   ``RemoteSystemError/Code/cannotListen`` when the port cannot be had, ``RemoteSystemError/Code/discovery`` when
    ///   the announcement can never be made, ``RemoteSystemError/Code/invalidArgument`` when a number of the configuration, the
    ///   options or a service is outside its range, or a name is not valid, ``RemoteSystemError/Code/misuse`` when called
    ///   twice, or when the attributes are longer than allowed.
    public func run() async throws {
        try await self.run(isStaged: false)
    }

    /// - Parameter isStaged: true for a host on a test's stage. It takes cancellation for a graceful shutdown: the lifecycle
    ///   library passes that on in a task of its own, which the stage would not know of.
    package func run(isStaged: Bool) async throws {
        let isFirst = self.hasRun.withLock { hasRun in
            defer { hasRun = true }
            return !hasRun
        }
        guard isFirst else {
            throw RemoteSystemError(.misuse, "A host runs once. Make another one.", side: .local)
        }
        let claim: (any ApplicationClaim)?
        let listener: Listener
        do {
            try self.core.validate()
            try self.options.validate()
            try SystemDescription.check(attributes: self.options.attributes)
            claim = try self.claimApplication()
            try await self.core.begin()
            listener = try await self.listen(port: self.options.port)
        } catch {
            self.core.port.fail(error)
            throw error
        }
        defer { withExtendedLifetime(claim) {} }
        _ = self.listening.replace(with: listener, note: self.noteRunning(port: listener.port))
        self.advertising.change { $0.port = listener.port }
        await self.takeInstalled()
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
            // The usual end.
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

    /// Takes the application id for as long as the host runs. Where that cannot be checked the host runs without: the state
    /// directory may be one that this process can only read.
    private func claimApplication() throws(RemoteSystemError) -> (any ApplicationClaim)? {
        // Makes the state directory on first use.
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
                "Whether this application runs already cannot be checked",
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

    /// Others of this system that run here find this process by it. It serves without, too.
    private func noteRunning(port: Int) -> RunningNote? {
        guard let running else { return nil }
        do {
            return try running.note(
                RunningApplication(
                    application: self.configuration.applicationID,
                    port: port,
                    pid: getpid(),
                    isOnLoopback: self.configuration.network == .loopback ? true : nil,
                    program: RunningApplication.ownProgram
                )
            )
        } catch {
            self.context.logger.warning(
                "That this application runs cannot be noted; the host daemon will not know that it does",
                metadata: ["reason": "\(error)"]
            )
            return nil
        }
    }

    private func takeInstalled() async {
        guard let installed = self.options.installedApplications else { return }
        await self.core.update(installed: installed.applications())
    }

    /// Returns once every event loop and the host itself have done something: proof that they live, for a watchdog.
    package func proveAlive() async throws {
        for eventLoop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
            try await eventLoop.submit {}.get()
        }
        _ = await self.core.isClosing
    }

    /// Whoever connects while requests under way finish is told that the application is shutting down, which says more than
    /// an address where nobody answers.
    private func stop() async {
        await self.core.closeAll()
        await self.listening.end()?.stop()
    }

    /// Until cancelled.
    private func advertiseAndRenew() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { try await self.advertiseWhenWanted() }
            group.addTask { await self.sendWatchersOn() }
            group.addTask { try await self.followCertificate() }
            group.addTask {
                await self.context.account.observeAccount { await self.core.publishTrust() }
                try self.context.account.checkMembership()
            }
            if let installed = self.options.installedApplications {
                group.addTask {
                    let changes = installed.changes()
                    // What changed since they were read first, and before anybody listened.
                    await self.takeInstalled()
                    for await _ in changes { await self.takeInstalled() }
                }
            }
            if let referral = self.core.referral { group.addTask { try await self.notifyOfRunning(referral) } }
            group.addTask {
                while true {
                    try await self.context.environment.time.sleep(for: .seconds(6 * 3600))
                    try await self.renewIfDue()
                }
            }
        }
    }

    /// A process that comes or goes tells of it by its note alone: this looks once a second, and tells the watchers what changed.
    private func notifyOfRunning(_ referral: ApplicationReferral) async throws {
        var reported: [[String]]?
        while true {
            try await self.context.environment.time.sleep(for: .seconds(1))
            // What watchers elsewhere are told may change by itself.
            let running = [true, false].map {
                referral.running(beside: self.configuration.applicationID, isLocal: $0)
            }
            guard running != reported else { continue }
            reported = running
            await self.core.publish()
        }
    }

    /// Where the account's key is, loading the identity renews it. Elsewhere a short look around finds a system that has the
    /// key, and asks it.
    private func renewIfDue() async throws {
        await self.context.account.reloadIdentityInBackground()
        guard let identity = try? self.context.security().identity, !identity.isAuthority,
            identity.isRenewalDue(at: Date())
        else { return }
        let watcher = RemoteSystemWatcher(self.configuration)
        try? await watcher.start()
        try? await self.context.environment.time.sleep(for: .seconds(15))
        await watcher.stop()
        await self.context.account.reloadIdentityInBackground()
    }
}
