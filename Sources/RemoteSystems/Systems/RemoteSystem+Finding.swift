// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

extension RemoteSystemHost {
    /// The port at which a system is looked for that is named by its address alone, and on which `remotesystems serve`
    /// listens unless told otherwise.
    public static let defaultPort = 47_474
}

extension RemoteSystem {
    /// The system whose host listens at an address: without discovery, by connecting and asking once what it is
    /// (Project Rome's `FindByHostNameAsync`).
    ///
    /// What is known of it is what the process at that port tells. A host daemon tells what is installed and what runs, and each
    /// application that runs is asked what it is, too; one that does not answer within 2 s is left out unless it is installed.
    /// Any other process tells of itself alone. The system's
    /// ``discoveryType`` is ``RemoteSystemDiscoveryType/proximal`` when the address is one that only neighbours have, else
    /// ``RemoteSystemDiscoveryType/cloud``.
    ///
    /// The host has the configuration's ``RemoteSystemsConfiguration/connectTimeout`` to be reached, its
    /// ``RemoteSystemsConfiguration/startTimeout`` more to accept the connection once it has proved who it is, and 5 s to describe
    /// itself.
    ///
    /// - Parameters:
    ///   - host: a name or an address.
    ///   - port: the port that the host there listens on. Valid range: 1–65535.
    ///   - configuration: how this process takes part.
    /// - Throws: ``RemoteSystemError``: ``RemoteSystemError/Code/unreachable`` when nobody answers there,
    ///   ``RemoteSystemError/Code/notTrusted`` when whoever does is not of this account,
    ///   ``RemoteSystemError/Code/invalidArgument`` when the host is empty or the port out of range; `CancellationError`.
    public static func find(
        host: String,
        port: Int = RemoteSystemHost.defaultPort,
        configuration: RemoteSystemsConfiguration
    ) async throws -> RemoteSystem {
        try RemoteSystemConnectionRequest(host: host, port: port, configuration: configuration).validate()
        let origin = ApplicationContext(configuration)
        let endpoint = origin.account.network.endpoint(host: host, port: port)
        let (response, running) = try await DescriptionInquiry(origin: origin, endpoint: endpoint).askAll()
        return try RemoteSystem(response, running: running, endpoint: endpoint, origin: origin)
    }

    /// The first system of the account that is found to offer an app service.
    ///
    /// Looks by a ``RemoteSystemWatcher`` of its own, which stops when this returns. This machine counts, too.
    ///
    /// - Parameters:
    ///   - service: the service's name.
    ///   - limit: how long to look. Defaults to 5 s. Valid range: 1 ms–1 h.
    ///   - configuration: how this process takes part.
    /// - Returns: the system; `nil` when none that offers the service is found in time.
    /// - Throws: ``RemoteSystemError`` when this system's account cannot be used or an argument is not valid;
    ///   `CancellationError`.
    public static func find(
        offering service: String,
        within limit: Duration = .seconds(5),
        configuration: RemoteSystemsConfiguration
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
        for await case .added(let system) in events {
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
            origin: origin
        )
    }
}
