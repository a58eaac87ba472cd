// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems

/// Both ends of an open connection to an app service, in one process and without discovery.
public struct ConnectedPair: Sendable {
    /// The caller's end of the connection.
    public let client: AppServiceConnection
    /// The system that offers the service.
    public let host: StagedSystem
    /// The stage of the pair, with its clock.
    public let stage: DiscoveryStage
    /// The link between the two ends, for setting faults.
    public var link: StagedLink { self.host.link }
}

extension DiscoveryStage {
    /// Runs a test with an open connection to a service, on a new stage.
    ///
    /// - Parameters:
    ///   - service: The service.
    ///   - patience: The maximum time that the test waits for an event or a condition. In real time. Defaults to 10 s.
    ///   - body: The test. Runs on the stage's ``taskExecutor``. The stage is stopped when it returns or throws.
    /// - Returns: The result of the body.
    /// - Throws: `RemoteSystemError` if the connection cannot be opened; ``StageError`` if nothing has happened on the
    ///   stage for the time `patience`; the error of the body.
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

    /// Opens a connection from the code under test to a service of a system that has appeared, without discovery.
    ///
    /// - Parameters:
    ///   - system: The system.
    ///   - service: The name of the service.
    ///   - application: The id of the system's application. Defaults to `nil`: the system's first application.
    ///   - onRequest: Responds to requests that the service sends. Defaults to `nil`: such requests fail, unless
    ///     `AppServiceConnection.requests` are read.
    /// - Returns: The open connection.
    /// - Throws: `RemoteSystemError` if the connection cannot be opened; ``StageError`` if the system has no such
    ///   application or has not appeared.
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
