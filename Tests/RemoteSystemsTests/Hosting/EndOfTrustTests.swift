// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsIdentity
import RemoteSystemsTesting
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// How soon a running host ends the connections of a system that it may not trust any more. Files are real; network and
/// time are a stage's, so the limits are exact.
@Suite(.timeLimit(.minutes(1))) struct EndOfTrustTests {
    private static func configuration(_ directory: String?, on stage: DiscoveryStage) -> RemoteSystemsConfiguration {
        var configuration = stage.configuration(applicationID: "test.end")
        configuration.stateDirectory = directory
        configuration.environment.identity = nil
        return configuration
    }

    /// Connects a system to a host, changes the files of the host's account, and lets two seconds pass.
    private func endsWithinTwoSeconds(
        _ host: RemoteSystemsConfiguration,
        _ caller: RemoteSystemsConfiguration,
        of standing: Set<Standing.Kind>,
        on stage: DiscoveryStage,
        _ change: () throws -> Void
    ) async throws {
        let host = RemoteSystemHost(host, services: [.ping])
        let running = Task(executorPreference: stage.taskExecutor) { try await host.run(isStaged: true) }
        defer { running.cancel() }
        let context = ApplicationContext(caller)
        var connector = try await context.connector()
        connector.accepted = standing
        let connection = try await connector.connect(
            to: [Endpoint(transport: .memory, host: "localhost", port: try await host.port)],
            expecting: nil,
            hello: context.hello(service: AppService.pingName, targetApplication: nil, limits: context.limits)
        ) { _, _ in Response() }
        try await stage.advance(by: .seconds(5))
        #expect(!connection.hasEnded)
        try change()
        try await stage.advance(by: .seconds(2))
        try await stage.eventually("the connection has ended") { connection.hasEnded }
    }

    @Test func `connections of a revoked system end within two seconds, if another process has revoked it`()
        async throws
    {
        try await TwoMachines.with { machines in
            try await machines.join()
            let rogue = try machines.account("second").identity().systemID
            try await DiscoveryStage.with { stage in
                let directories = ["first", "second"].map { machines.configuration($0).stateDirectory }
                try await self.endsWithinTwoSeconds(
                    Self.configuration(directories[0], on: stage),
                    Self.configuration(directories[1], on: stage),
                    of: [.sameAccount],
                    on: stage
                ) { try machines.account("first").revoke(rogue) }
            }
        }
    }

    @Test(arguments: [nil, Grants(services: ["test.other"])] as [Grants?])
    func `connections of a linked system end within two seconds of the end or the change of its rights`(
        rights: Grants?
    ) async throws {
        try await LinkedAccounts.with(granting: Grants(services: [AppService.pingName])) { accounts in
            let friends = try accounts.friendsID
            try await DiscoveryStage.with { stage in
                try await self.endsWithinTwoSeconds(
                    Self.configuration(accounts.ours.directory, on: stage),
                    Self.configuration(accounts.friends.directory, on: stage),
                    of: [.linked],
                    on: stage
                ) {
                    if let rights {
                        try accounts.ourAccount.grant(rights, to: friends)
                    } else {
                        try accounts.ourAccount.unlink(friends)
                    }
                }
            }
        }
    }
}
