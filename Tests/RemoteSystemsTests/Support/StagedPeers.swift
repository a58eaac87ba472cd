// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems

@testable import RemoteSystemsTesting

extension DiscoveryStage {
    /// A request for a connection from the code under test to a system that has appeared, without discovery.
    func request(to system: StagedSystem) async throws -> RemoteSystemConnectionRequest {
        RemoteSystemConnectionRequest(
            host: system.address,
            port: try await system.port(),
            configuration: self.configuration
        )
    }

    /// Opens a connection of a further system of the account to a built-in service of a system that has appeared.
    ///
    /// - Parameter number: the number of the calling system. The stage's own systems have the first ones.
    func connect(
        systemNumber number: Int,
        to system: StagedSystem,
        service: String
    ) async throws -> AppServiceConnection {
        let identity = try ThrowAwayAccount.shared.system(number)
        var configuration = self.configuration(applicationID: "test.caller")
        configuration.environment.identity = { identity }
        let connection = AppServiceConnection(
            to: AppServiceDescription(name: service, requestSchema: .full, responseSchema: .full)
        )
        let status = try await connection.open(
            RemoteSystemConnectionRequest(
                host: system.address,
                port: try await system.port(),
                configuration: configuration
            )
        )
        guard status == .success else { throw connection.openError ?? StageError("It was not opened: \(status).") }
        return connection
    }
}
