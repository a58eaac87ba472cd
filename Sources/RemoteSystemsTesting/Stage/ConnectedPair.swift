// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems

/// Both ends of an open connection to an app service, in one process and without discovery.
public struct ConnectedPair: Sendable {
    /// The caller's end.
    public let client: AppServiceConnection
    /// The system that answers.
    public let host: StagedSystem
    /// The stage on which it is, with the clock.
    public let stage: DiscoveryStage
    /// The link between the two, for faults.
    public var link: StagedLink { self.host.link }
}

extension DiscoveryStage {
    /// Runs the body with an open connection to the service, on a stage of its own.
    ///
    /// - Throws: `RemoteSystemError` when the connection cannot be opened; what the body throws.
    public static func withConnectedPair<Result>(
        _ service: AppService,
        patience: Duration = .seconds(10),
        _ body: (ConnectedPair) async throws -> Result
    ) async throws -> Result {
        try await Self.with(patience: patience) { stage in
            let host = try stage.system("Host", services: [service])
            try await stage.appears(host)
            let client = try await stage.connect(to: host, service: service.name)
            return try await body(ConnectedPair(client: client, host: host, stage: stage))
        }
    }

    /// Opens a connection from the code under test's side to a service of a system that has appeared, without discovery.
    ///
    /// - Parameters:
    ///   - system: the system.
    ///   - service: the service's name.
    ///   - application: which of its applications; the first unless given.
    ///   - onRequest: answers requests that the service sends back.
    /// - Throws: `RemoteSystemError` when the connection cannot be opened.
    public func connect(
        to system: StagedSystem,
        service: String,
        application: String? = nil,
        onRequest: AppServiceConnection.RequestHandler? = nil
    ) async throws -> AppServiceConnection {
        let port = try await system.port(of: application)
        let connection = AppServiceConnection(
            to: AppServiceDescription(name: service, applicationID: application ?? system.applications.first?.id),
            onRequest: onRequest
        )
        let request = RemoteSystemConnectionRequest(
            host: system.address,
            port: port,
            systemID: system.id,
            configuration: self.configuration
        )
        guard try await connection.open(request) == .success else {
            throw connection.openError ?? StageError("The connection to \(system.displayName) was not opened.")
        }
        return connection
    }
}
