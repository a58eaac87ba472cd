// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
public import ServiceLifecycle
internal import Synchronization
internal import ValueSets

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
/// On graceful shutdown it withdraws the announcement, takes no more connections, and lets requests under way finish.
public final class RemoteSystemHost: Service {
    /// How the host appears and what it listens on.
    public struct Options: Sendable {
        /// The application's name for people; its id unless set.
        public var displayName: String?
        /// What the application says of itself to systems of its account; at most 256 entries, 1 KiB each.
        public var attributes: [String: String] = [:]
        /// The port to listen on; 0, the default, lets the system choose: callers learn it by discovery.
        public var port = 0
        /// Whether to announce itself. Without it the host can be reached by address only.
        public var isDiscoverable = true

        /// The defaults.
        public init() {}
    }

    private let configuration: RemoteSystemsConfiguration
    private let options: Options
    private let local: LocalSystem
    private let core: HostCore
    private let hasRun = Mutex(false)

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
        self.local = LocalSystem(configuration)
        self.core = HostCore(
            local: self.local,
            services: services,
            application: SystemDescription.Application(
                id: configuration.applicationID,
                displayName: options.displayName ?? configuration.applicationID,
                attributes: options.attributes,
                services: services.map {
                    RemoteSystemApplication.Service(
                        name: $0.name,
                        schema: $0.schema,
                        responseSchema: $0.responseSchema
                    )
                }
            )
        )
    }

    /// The port on which the host listens. Waits until it does.
    ///
    /// - Throws: the error with which ``run()`` ended before it listened; `CancellationError`.
    public var port: Int {
        get async throws { try await self.core.port.value }
    }

    /// Changes what the application says of itself. Watchers are told at once.
    public func update(attributes: [String: String]) async {
        await self.core.update(attributes: attributes)
    }

    /// Runs the host until its task is cancelled or a graceful shutdown is asked for.
    ///
    /// - Throws: ``RemoteSystemError``: ``RemoteSystemError/Code/identity`` when the account cannot be used,
    ///   ``RemoteSystemError/Code/cannotListen`` when the port cannot be had, ``RemoteSystemError/Code/discovery`` when
    ///   the announcement can never be made, ``RemoteSystemError/Code/misuse`` when called twice, or when a name or the
    ///   attributes are longer than allowed.
    public func run() async throws {
        try await self.run(endsOnGracefulShutdown: true)
    }

    /// - Parameter endsOnGracefulShutdown: false for a host that is only ever cancelled, as those of a test's stage are:
    ///   the lifecycle library passes a cancellation on in a task of its own, which the stage would not know of.
    package func run(endsOnGracefulShutdown: Bool) async throws {
        let isFirst = self.hasRun.withLock { hasRun in
            defer { hasRun = true }
            return !hasRun
        }
        guard isFirst else {
            throw RemoteSystemError(.misuse, "A host runs once. Make another one.", side: .local)
        }
        let listener: Listener
        do {
            try self.core.validate()
            listener = try await self.listen()
        } catch {
            self.core.port.fail(error)
            throw error
        }
        self.core.port.succeed(listener.port)
        self.local.logger.debug("The host listens", metadata: ["port": "\(listener.port)"])
        do {
            try await withTaskExecutorPreference(self.local.environment.taskExecutor) {
                if endsOnGracefulShutdown {
                    try await cancelWhenGracefulShutdown { try await self.announceAndRenew(port: listener.port) }
                } else {
                    try await self.announceAndRenew(port: listener.port)
                }
            }
        } catch is CancellationError {
            // The usual end.
        } catch {
            await self.stop(listener)
            throw error
        }
        await self.stop(listener)
    }

    private func listen() async throws(RemoteSystemError) -> Listener {
        do {
            let security = try self.local.security()
            return try await Listener.start(
                host: self.local.listeningAddress,
                port: self.options.port,
                security: security,
                limits: self.local.limits,
                logger: self.local.logger,
                network: self.local.environment.network
            ) { [core = self.core] hello, peer in
                await core.admit(hello, peer: peer, own: security.identity.systemID)
            }
        } catch {
            throw RemoteSystemError(error)
        }
    }

    private func stop(_ listener: Listener) async {
        await listener.stop()
        await self.core.closeAll()
    }

    /// Until cancelled.
    private func announceAndRenew(port: Int) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            if self.options.isDiscoverable {
                for source in self.local.sources {
                    group.addTask { try await self.announce(port: port, through: source) }
                }
            }
            group.addTask {
                while true {
                    try await self.local.environment.time.sleep(for: .seconds(6 * 3600))
                    try await self.renewIfDue()
                }
            }
        }
    }

    /// Where the account's key is, loading the identity renews it. Elsewhere a short look around finds a system that has the
    /// key, and asks it.
    private func renewIfDue() async throws {
        self.local.reloadIdentity()
        guard let identity = try? self.local.security().identity, !identity.isAuthority,
            identity.isRenewalDue(at: Date())
        else { return }
        let watcher = RemoteSystemWatcher(self.configuration)
        try? await watcher.start()
        try? await self.local.environment.time.sleep(for: .seconds(15))
        await watcher.stop()
        self.local.reloadIdentity()
    }

    /// Announces under a name that changes once a day, so that nobody can follow this machine by it. The new name is
    /// announced before the old one is withdrawn.
    private func announce(port: Int, through source: any DiscoverySource) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            while true {
                let announcement = try self.announcement(port: port)
                group.addTask {
                    try await self.limited(to: .seconds(24 * 3600 + 60)) {
                        do {
                            try await source.announce(announcement)
                        } catch let error as DiscoveryError {
                            throw RemoteSystemError(.discovery, error.message, side: .local, cause: error)
                        }
                    }
                }
                try await self.local.environment.time.sleep(for: .seconds(24 * 3600))
            }
        }
    }

    private func limited(
        to duration: Duration,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask { try await self.local.environment.time.sleep(for: duration) }
            try await group.next()
            group.cancelAll()
        }
    }

    private func announcement(port: Int) throws -> DiscoveryAnnouncement {
        var random = SystemRandomNumberGenerator()
        let instance = (0..<2).map { _ in String(random.next() as UInt64, radix: 36) }.joined()
        let identity = try self.local.security().identity
        return DiscoveryAnnouncement(
            instance: instance,
            port: port,
            properties: [
                Presence.versionProperty: Array(Presence.version.utf8),
                Presence.tagProperty: identity.discoveryKey.discoveryTag(instance: instance),
            ]
        )
    }
}
