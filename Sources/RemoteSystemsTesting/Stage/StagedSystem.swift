// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems
internal import Synchronization
public import UserActivities

/// A system of a ``DiscoveryStage``: a staged machine whose hosts run in this process.
public final class StagedSystem: Sendable {
    /// The way in which a system vanishes.
    public enum Departure: Sendable, Hashable {
        /// The system's hosts shut down: they withdraw their advertisements, finish requests in progress and close
        /// their connections.
        case orderly
        /// The system's processes end at once: connections break, and the advertisements stay.
        case crash
        /// The system's link is interrupted, as when a cable is pulled: nothing is sent or received, and no connection
        /// is closed.
        case silent
    }

    private struct State {
        var hosts: [String: RemoteSystemHost] = [:]
        var activityHosts: [String: UserActivityHost] = [:]
        var tasks: [Task<Void, Never>] = []
        var attributes: [String: [String: String]] = [:]
    }

    /// The system's name as watchers report it.
    public let displayName: String
    /// The kind of machine.
    public let kind: RemoteSystemKind
    /// The id under which watchers list the system.
    public let id: SystemID
    /// The applications that run on the system.
    public let applications: [StagedApplication]
    /// The link between this system and all others, for setting faults.
    public var link: StagedLink { StagedLink(site: self.site) }

    let site: MemorySite
    /// The configuration of each of its applications, in the same order.
    private let configurations: [RemoteSystemsConfiguration]
    private let onFailure: @Sendable (StageError) -> Void
    private let state: Mutex<State>

    init(
        displayName: String,
        kind: RemoteSystemKind,
        id: SystemID,
        applications: [StagedApplication],
        site: MemorySite,
        configurations: [RemoteSystemsConfiguration],
        onFailure: @escaping @Sendable (StageError) -> Void
    ) {
        self.displayName = displayName
        self.kind = kind
        self.id = id
        self.applications = applications
        self.site = site
        self.configurations = configurations
        self.onFailure = onFailure
        let attributes = applications.map { ($0.id, $0.attributes) }
        self.state = Mutex(State(attributes: Dictionary(attributes) { first, _ in first }))
    }

    // MARK: Called by the stage

    /// Starts the system's hosts unless they run, and makes the system reachable again.
    ///
    /// - Throws: ``StageError`` if hosts of an earlier appearance still finish requests.
    func start() throws(StageError) {
        if !self.isThere { try self.checkClaims() }
        self.site.revive()
        self.state.withLock { state in
            guard state.tasks.isEmpty else { return }
            for (application, configuration) in zip(self.applications, self.configurations) {
                var options = RemoteSystemHost.Options()
                options.displayName = application.displayName
                options.attributes = state.attributes[application.id] ?? [:]
                options.launchURIProvider = application.launchURIProvider
                options.allowsAnyoneNearby = application.allowsAnyoneNearby
                options.allowsSeveralProcesses = application.allowsSeveralProcesses
                var configuration = configuration
                configuration.interceptors = application.interceptors
                options.features = application.features?(configuration) ?? []
                if let daemon = application.daemon {
                    let (feature, run) = daemon.start(configuration)
                    options.features.append(feature)
                    state.tasks.append(self.task(of: application, run))
                }
                let host: RemoteSystemHost
                let run: @Sendable () async throws -> Void
                if let activities = application.activities {
                    let activityHost = UserActivityHost(configuration, application, activities, options)
                    state.activityHosts[application.id] = activityHost
                    host = activityHost.host
                    run = { try await activityHost.run(isStaged: true) }
                } else {
                    let plain = RemoteSystemHost(configuration, services: application.services, options: options)
                    host = plain
                    run = { try await plain.run(isStaged: true) }
                }
                state.hosts[application.id] = host
                state.tasks.append(self.task(of: application, run))
            }
        }
    }

    private func checkClaims() throws(StageError) {
        for application in self.applications {
            do {
                _ = try self.site.applicationClaims.claim(application.id, isShared: application.allowsSeveralProcesses)
            } catch {
                throw StageError(
                    "\(self.displayName) cannot appear: its host of \(application.id) still finishes requests from "
                        + "before it vanished. Move the clock first (advance(by:))."
                )
            }
        }
    }

    /// Runs a part of an application until the system leaves. An earlier end with an error fails the test.
    private func task(
        of application: StagedApplication,
        _ run: @escaping @Sendable () async throws -> Void
    ) -> Task<Void, Never> {
        Task(executorPreference: self.site.loop) { [displayName, onFailure] in
            do {
                try await run()
            } catch {
                guard !Task.isCancelled else { return }
                onFailure(StageError("The host of \(application.id) on \(displayName) has ended: \(error)"))
            }
        }
    }

    /// Whether the system has appeared and not vanished. A silent system counts as present.
    var isThere: Bool { self.state.withLock { !$0.tasks.isEmpty } }

    /// Changes the attributes of one of the applications.
    ///
    /// - Parameter attributes: Checked by ``RemoteSystemHost/check(attributes:)``.
    func change(_ attributes: [String: String], application: String) async {
        let host = self.state.withLock { state in
            state.attributes[application] = attributes
            return state.hosts[application]
        }
        try? await host?.update(attributes: attributes)
    }

    func leave(_ departure: Departure) {
        switch departure {
        case .silent:
            self.link.drop()
        case .crash:
            self.site.crash()
            self.stop()
        case .orderly:
            self.stop()
        }
    }

    private func stop() {
        let tasks = self.state.withLock { state in
            state.hosts = [:]
            state.activityHosts = [:]
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { task.cancel() }
    }

    // MARK: Address and port

    /// The system's address on the stage's network, for code under test that connects without discovery.
    ///
    /// The address is not an IP address.
    public var address: String { self.site.address }

    /// Returns the port on which one of the system's applications listens.
    ///
    /// - Parameter application: The application id. Defaults to `nil`: the system's first application.
    /// - Throws: ``StageError`` if the system has no such application or has not appeared
    ///   (``DiscoveryStage/appears(_:after:)``); the error that keeps the application's host from listening.
    public func port(of application: String? = nil) async throws -> Int {
        guard let id = application ?? self.applications.first?.id,
            let host = self.state.withLock({ $0.hosts[id] })
        else {
            throw StageError("\(self.displayName) has no such application, or has not appeared (appears(_:after:)).")
        }
        return try await host.port
    }

    /// Returns the host at which activities of one of the system's applications become current.
    ///
    /// - Parameter application: The application id. Defaults to `nil`: the system's first application with
    ///   ``StagedApplication/activities``.
    /// - Throws: ``StageError`` if the system has no such application or has not appeared
    ///   (``DiscoveryStage/appears(_:after:)``).
    public func activityHost(of application: String? = nil) async throws -> UserActivityHost {
        guard let id = application ?? self.applications.first(where: { $0.activities != nil })?.id,
            let host = self.state.withLock({ $0.activityHosts[id] })
        else {
            throw StageError(
                "\(self.displayName) has no such application with activities, or has not appeared (appears(_:after:))."
            )
        }
        // The host must run before an activity can become current.
        _ = try await host.host.port
        return host
    }
}

extension UserActivityHost {
    /// Creates the host of a staged application.
    fileprivate convenience init(
        _ configuration: RemoteSystemsConfiguration,
        _ application: StagedApplication,
        _ activities: StagedApplication.Activities,
        _ hostOptions: RemoteSystemHost.Options
    ) {
        var options = activities.options
        options.host = hostOptions
        self.init(
            configuration,
            activityTypes: activities.types,
            services: application.services,
            options: options,
            handler: activities.handler
        )
    }
}
