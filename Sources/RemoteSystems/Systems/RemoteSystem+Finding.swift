// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

extension RemoteSystemHost {
    /// The port at which a system is looked for that is named by its address alone, and on which `remotesystems serve`
    /// listens unless told otherwise.
    public static let defaultPort = 47_474
}

extension RemoteSystem {
    /// How long a host that took the connection may need to describe itself.
    private static let descriptionTime = Duration.seconds(5)

    /// The system whose host listens at an address: without discovery, by connecting and asking once what it is
    /// (Project Rome's `FindByHostNameAsync`).
    ///
    /// What is known of it is what the process at that port tells: of several applications on the system, that one. Its
    /// ``discoveryType`` is ``RemoteSystemDiscoveryType/proximal`` when the address is one that only neighbours have, else
    /// ``RemoteSystemDiscoveryType/cloud``.
    ///
    /// - Parameters:
    ///   - host: a name or an address.
    ///   - port: the port that the host there listens on.
    ///   - configuration: how this process takes part.
    /// - Throws: ``RemoteSystemError``: ``RemoteSystemError/Code/unreachable`` when nobody answers there,
    ///   ``RemoteSystemError/Code/notTrusted`` when whoever does is not of this account; `CancellationError`.
    public static func find(
        host: String,
        port: Int = RemoteSystemHost.defaultPort,
        configuration: RemoteSystemsConfiguration
    ) async throws -> RemoteSystem {
        guard !host.isEmpty, (1...65_535).contains(port) else {
            throw RemoteSystemError(.misuse, "An address is a host and a port from 1 to 65535.", side: .local)
        }
        let origin = LocalSystem(configuration)
        let connector = try origin.connector()
        let endpoint = Endpoint(host: host, port: port)
        let told = OneShot<SystemDescription>()
        let connection: Connection
        do {
            connection = try await connector.connect(
                to: [endpoint],
                expecting: nil,
                hello: origin.hello(service: Presence.service, package: nil, limits: connector.limits)
            ) { request, _ in
                guard let description = SystemDescription(request.message) else {
                    return Reply(status: .failure, failure: WireFailure("This request is not known here."))
                }
                told.succeed(description)
                return Reply()
            }
        } catch let error as TransportError {
            throw RemoteSystemError(error)
        }
        connection.onClose { _ in told.fail(Self.silent) }
        let timer = Task(executorPreference: origin.environment.taskExecutor) {
            try await origin.environment.time.sleep(for: Self.descriptionTime)
            told.fail(Self.silent)
        }
        defer { timer.cancel() }
        // A closed channel has no address.
        let isProximal = connection.channel.isProximal
        do {
            let description = try await told.value
            await connection.close()
            return RemoteSystem(
                description,
                id: connection.peer.systemID,
                own: connector.security.systemID,
                isProximal: isProximal,
                endpoint: endpoint,
                origin: origin
            )
        } catch {
            await connection.abort()
            throw error
        }
    }

    private static let silent = RemoteSystemError(
        .protocolViolation,
        "What listens there took the connection and did not say what it is.",
        side: .remote,
        canRetry: true
    )

    private init(
        _ description: SystemDescription,
        id: SystemID,
        own: SystemID,
        isProximal: Bool,
        endpoint: Endpoint,
        origin: LocalSystem
    ) {
        func application(_ told: SystemDescription.Application, isRunning: Bool) -> RemoteSystemApplication {
            RemoteSystemApplication(told, isRunning: isRunning, on: id, endpoints: [endpoint], origin: origin)
        }
        var applications = [application(description.application, isRunning: true)]
        for installed in description.installed where !applications.contains(where: { $0.id == installed.id }) {
            applications.append(application(installed, isRunning: false))
        }
        self.init(
            id: id,
            displayName: description.displayName,
            kind: description.kind,
            status: .available,
            platform: description.platform,
            manufacturerDisplayName: description.manufacturer,
            modelDisplayName: description.model,
            discoveryType: isProximal ? .proximal : .cloud,
            authorizationKind: .sameUser,
            isLocal: id == own,
            applications: applications.sorted { $0.id < $1.id },
            origin: origin
        )
    }
}
