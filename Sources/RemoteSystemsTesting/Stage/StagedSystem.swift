// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems
internal import Synchronization

/// A system of a ``DiscoveryStage``: a machine of the account, with hosts that run in this process.
public final class StagedSystem: Sendable {
    /// How a system leaves.
    public enum Departure: Sendable, Hashable {
        /// Its hosts shut down: they say goodbye, finish what is under way and close their connections.
        case orderly
        /// Its processes end at once: connections break, and its announcement stays behind.
        case crash
        /// Nothing comes from it any more and nothing reaches it, as when a cable is pulled. Nobody is told.
        case silent
    }

    private struct State {
        var hosts: [String: RemoteSystemHost] = [:]
        var tasks: [Task<Void, any Error>] = []
        var attributes: [String: [String: String]] = [:]
    }

    /// Its name for people.
    public let displayName: String
    /// What sort of machine it is.
    public let kind: RemoteSystemKind
    /// The id under which watchers list it.
    public let id: SystemID
    /// The applications on it.
    public let applications: [StagedApplication]
    /// The link to it, for faults.
    public var link: StagedLink { StagedLink(site: self.site) }

    let site: MemorySite
    /// One for each of its applications.
    private let configurations: [RemoteSystemsConfiguration]
    private let state: Mutex<State>

    init(
        displayName: String,
        kind: RemoteSystemKind,
        id: SystemID,
        applications: [StagedApplication],
        site: MemorySite,
        configurations: [RemoteSystemsConfiguration]
    ) {
        self.displayName = displayName
        self.kind = kind
        self.id = id
        self.applications = applications
        self.site = site
        self.configurations = configurations
        let attributes = applications.map { ($0.id, $0.attributes) }
        self.state = Mutex(State(attributes: Dictionary(attributes) { first, _ in first }))
    }

    // MARK: What the stage does with it

    /// Starts its hosts, unless they run; whatever kept others from reaching them is over.
    func start() {
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
                let host = RemoteSystemHost(
                    configuration,
                    services: application.services,
                    options: options
                )
                state.hosts[application.id] = host
                state.tasks.append(
                    Task(executorPreference: self.site.loop) { try await host.run(isStaged: true) }
                )
            }
        }
    }

    /// Whether it has appeared and not left; one that went silent is there, and cannot be heard.
    var isThere: Bool { self.state.withLock { !$0.tasks.isEmpty } }

    /// - Parameter attributes: checked by ``RemoteSystemHost/check(attributes:)``.
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
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { task.cancel() }
    }

    // MARK: Where it is

    /// Its address on the stage's network, for code under test that connects without discovery. It is no IP address.
    public var address: String { self.site.address }

    /// The port on which one of its applications listens.
    ///
    /// - Parameter application: the application's id; the first one's unless given.
    /// - Throws: ``StageError`` when the system has no such application, or has not appeared
    ///   (``DiscoveryStage/appears(_:after:)``); what keeps its host from listening.
    public func port(of application: String? = nil) async throws -> Int {
        guard let id = application ?? self.applications.first?.id,
            let host = self.state.withLock({ $0.hosts[id] })
        else {
            throw StageError("\(self.displayName) has no such application, or has not appeared (appears(_:after:)).")
        }
        return try await host.port
    }
}
