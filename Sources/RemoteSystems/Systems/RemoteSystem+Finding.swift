// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

extension RemoteSystemHost {
    /// The TCP port that is used when an address is given without a port: 47474. `remotesystems serve` and the host
    /// daemon listen on it by default.
    public static let defaultPort = 47_474
}

extension RemoteSystem {
    /// Finds the system whose host listens at an address, without discovery (Project Rome's `FindByHostNameAsync`).
    ///
    /// Connects to the host and requests its description once. A host daemon (``InstalledApplications``) describes the
    /// installed and the running applications. Each running application is asked, too; one that does not respond within
    /// 2 s is left out unless it is installed. Any other host describes only its own application. The system's
    /// ``discoveryType`` is ``RemoteSystemDiscoveryType/proximal`` when the address is loopback, link-local or private,
    /// else ``RemoteSystemDiscoveryType/cloud``.
    ///
    /// ``RemoteSystemsAccount/systems()`` lists the system afterwards, unless
    /// ``RemoteSystemsConfiguration/Discovery/remembersSystems`` is `false`.
    ///
    /// Three timeouts apply: the configuration's ``RemoteSystemsConfiguration/Transport/connectTimeout`` to reach the
    /// host, its ``RemoteSystemsConfiguration/Transport/startTimeout`` for the host to accept the connection after it
    /// was authenticated, and 5 s for the description.
    ///
    /// - Parameters:
    ///   - host: a host name or an IP address. Must not be empty.
    ///   - port: the port that the host listens on. Defaults to ``RemoteSystemHost/defaultPort``. Valid range: 1–65535.
    ///   - configuration: this process's configuration.
    /// - Returns: the system, as its host describes it.
    /// - Throws: ``RemoteSystemError``:
    ///   - ``RemoteSystemError/Code/unreachable`` when no host responds at the address,
    ///   - ``RemoteSystemError/Code/notTrusted`` when the host does not belong to this account,
    ///   - ``RemoteSystemError/Code/protocolViolation`` when the host does not describe itself within 5 s; a retry may
    ///     succeed,
    ///   - ``RemoteSystemError/Code/invalidArgument`` when the host is empty or the port is out of range.
    ///
    ///   Also `CancellationError`.
    public static func find(
        host: String,
        port: Int = RemoteSystemHost.defaultPort,
        configuration: RemoteSystemsConfiguration
    ) async throws -> RemoteSystem {
        try RemoteSystemConnectionRequest(host: host, port: port, configuration: configuration).validate()
        let origin = ApplicationContext(configuration)
        let endpoint = origin.account.network.endpoint(host: host, port: port)
        let (response, running) = try await DescriptionInquiry(origin: origin, endpoint: endpoint).askAll()
        await origin.account.noteMeeting(
            with: response.systemID,
            named: response.description.displayName,
            certificateEnd: response.certificateEnd
        )
        return try RemoteSystem(response, running: running, endpoint: endpoint, origin: origin)
    }

    /// Finds a system of the account that offers an app service.
    ///
    /// Watches with a ``RemoteSystemWatcher`` of its own until the first such system is added. This machine is found,
    /// too.
    ///
    /// - Parameters:
    ///   - service: the service's name.
    ///   - limit: the maximum time to watch. Defaults to 5 s. Valid range: 1 ms–1 h.
    ///   - configuration: this process's configuration.
    /// - Returns: the first system that was found; `nil` when none was found within the limit.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when this system's account cannot be
    ///   used, with ``RemoteSystemError/Code/invalidArgument`` when an argument is not valid; `CancellationError`.
    public static func find(
        offering service: String,
        within limit: Duration = .seconds(5),
        configuration: RemoteSystemsConfiguration
    ) async throws -> RemoteSystem? {
        try await self.find(offering: service, within: limit, configuration: configuration) { _ in true }
    }

    /// Finds this system's host that offers an app service, as ``find(offering:within:configuration:)`` does.
    package static func findLocal(
        offering service: String,
        within limit: Duration,
        configuration: RemoteSystemsConfiguration
    ) async throws -> RemoteSystem? {
        try await self.find(offering: service, within: limit, configuration: configuration, where: \.isLocal)
    }

    private static func find(
        offering service: String,
        within limit: Duration,
        configuration: RemoteSystemsConfiguration,
        where suits: (RemoteSystem) -> Bool
    ) async throws -> RemoteSystem? {
        try ArgumentCheck.check("RemoteSystem.find(within:)", limit, in: .milliseconds(1) ... .seconds(3600))
        let context = ApplicationContext(configuration)
        let watcher = RemoteSystemWatcher(context, filters: [.service(service)])
        let events = watcher.events
        try await watcher.start()
        let timer = Task(executorPreference: context.environment.taskExecutor) {
            try await context.environment.time.sleep(for: limit)
            await watcher.stop()
        }
        defer { timer.cancel() }
        var found: RemoteSystem?
        for await case .added(let system) in events where suits(system) {
            found = system
            break
        }
        await watcher.stop()
        try Task.checkCancellation()
        return found
    }

    private init(
        _ response: DescriptionInquiry.Result,
        running: [SystemDescription.Application],
        endpoint: Endpoint,
        origin: ApplicationContext
    ) throws {
        let description = response.description
        let id = response.systemID
        var applications: [RemoteSystemApplication] = []
        func add(_ reported: SystemDescription.Application, isRunning: Bool) {
            guard !applications.contains(where: { $0.id == reported.id }) else { return }
            applications.append(
                RemoteSystemApplication(reported, isRunning: isRunning, on: id, endpoints: [endpoint], origin: origin)
            )
        }
        add(description.application, isRunning: true)
        for program in description.programs { add(program.application, isRunning: true) }
        for application in running { add(application, isRunning: true) }
        for installed in description.installed {
            add(installed, isRunning: description.running.contains(installed.id))
        }
        self.init(
            id: id,
            displayName: description.displayName,
            kind: description.kind,
            status: .available,
            platform: description.platform,
            manufacturerDisplayName: description.manufacturer,
            modelDisplayName: description.model,
            discoveryType: response.isProximal ? .proximal : .cloud,
            authorizationKind: .sameUser,
            isLocal: try id == origin.security().systemID,
            applications: applications.sorted { $0.id < $1.id },
            accountID: try origin.security().identity.accountID,
            accountName: nil,
            origin: origin
        )
    }
}
