// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystemsIdentity
import RemoteSystemsTesting
import Synchronization
import Testing

@testable import RemoteSystems

/// Rome's `CallerRemoteConnectionToken`: a service keeps a token of its caller, and calls back later.
@Suite struct CallerTokenTests {
    /// The standing of a caller of the same account.
    private static let own: Standing =
        AccountID(bytes: [UInt8](repeating: 7, count: 32)).map { .sameAccount($0) } ?? .anonymous

    private static func token(
        _ system: SystemID,
        _ application: String = "test.host",
        standing: Standing = Self.own
    ) throws -> String {
        let caller = AppServiceCaller(
            systemID: system,
            standing: standing,
            isLocal: false,
            claimedApplicationID: application
        )
        return try #require(caller.connectionToken)
    }

    @Test func `a caller that hosts a service is called back, after restarts of both (X-36)`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            let kept = Mutex("")
            let subscribe = AppService("test.subscribe") { request in
                kept.withLock { $0 = request.caller.connectionToken ?? "" }
                return [:]
            }
            let server = RemoteSystemHost(
                machines.configuration("first", application: "test.server"),
                services: [subscribe]
            )
            let serving = Task { try await server.run() }
            try await AppServiceConnection.with(
                AppServiceDescription(name: "test.subscribe"),
                RemoteSystemConnectionRequest(
                    host: "127.0.0.1",
                    port: try await server.port,
                    configuration: machines.configuration("second", application: "test.subscriber")
                )
            ) { _ = try await $0.send([:]).get() }
            serving.cancel()
            try await serving.value

            // Neither the server nor the caller runs any more. Only the token's text is left.
            let token = kept.withLock { $0 }
            for number in 1...2 {
                let notified = Mutex<[ValueSet]>([])
                let notify = AppService("test.notify") { request in
                    notified.withLock { $0.append(request.message) }
                    return ["Thanks": true]
                }
                let subscriber = RemoteSystemHost(
                    machines.configuration("second", application: "test.subscriber"),
                    services: [notify]
                )
                let subscribing = Task { try await subscriber.run() }
                _ = try await subscriber.port
                let back = try RemoteSystemConnectionRequest(
                    connectionToken: token,
                    configuration: machines.configuration("first", application: "test.server")
                )
                let connection = AppServiceConnection(to: AppServiceDescription(name: "test.notify"))
                #expect(try await connection.open(back) == .success)
                #expect(connection.info?.peer.systemID == (try machines.account("second").identity().systemID))
                #expect(try await connection.send(["Number": .integer(Int64(number))]).get() == ["Thanks": true])
                #expect(notified.withLock { $0 } == [["Number": .integer(Int64(number))]])
                await connection.close()
                subscribing.cancel()
                try await subscribing.value
            }
        }
    }

    @Test func `a token contains the system and the application, and nothing else (X-36)`() async throws {
        try await DiscoveryStage.with { stage in
            let system = try stage.system("Speaker").id
            let text = try Self.token(system, "test.host")
            let token = try ConnectionToken(text)
            #expect(token == ConnectionToken(systemID: system, applicationID: "test.host", endpoints: []))
            #expect(token.text == text)
            #expect(text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ":-_".contains($0)) })
            let nameless = AppServiceCaller(
                systemID: system,
                standing: Self.own,
                isLocal: false,
                claimedApplicationID: ""
            )
            #expect(nameless.connectionToken == nil)
            // A forged token must not make us call strangers.
            let anonymous = try Self.token(system, standing: .anonymous)
            #expect(throws: RemoteSystemError.self) {
                _ = try RemoteSystemConnectionRequest(connectionToken: anonymous, configuration: stage.configuration)
            }
            _ = try RemoteSystemConnectionRequest(
                connectionToken: anonymous,
                allowsAnyoneNearby: true,
                configuration: stage.configuration
            )
        }
    }

    /// Opens a connection by a token while the stage's clock advances.
    private static func open(
        _ token: String,
        on stage: DiscoveryStage,
        after times: Duration...
    ) async throws -> (AppServiceConnectionStatus, RemoteSystemError?) {
        let connection = AppServiceConnection(to: AppServiceDescription(name: "test.notify"))
        let request = try RemoteSystemConnectionRequest(connectionToken: token, configuration: stage.configuration)
        let opening = Task(executorPreference: stage.taskExecutor) { try await connection.open(request) }
        for time in times { try await stage.advance(by: time) }
        let status = try await opening.value
        await connection.close()
        return (status, connection.openError)
    }

    @Test func `a system that is not found and one without the application are different errors (X-21, X-36)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let speaker = try stage.system("Speaker", application: "test.other")
            let token = try Self.token(speaker.id)
            let (absent, reason) = try await Self.open(token, on: stage, after: .seconds(5))
            #expect(absent == .remoteSystemUnavailable)
            #expect(reason?.code == .unreachable)
            #expect(reason?.canRetry == true)
            #expect(reason?.message.contains(speaker.id.short) == true)

            try await stage.appears(speaker)
            let (lacking, why) = try await Self.open(token, on: stage, after: .seconds(5))
            #expect(lacking == .appNotInstalled)
            #expect(why?.message.contains("test.host") == true)

            let (unoffered, what) = try await Self.open(try Self.token(speaker.id, "test.other"), on: stage)
            #expect(unoffered == .appServiceUnavailable)
            #expect(what != nil)
        }
    }

    @Test func `a system that appears during the search is called (X-36)`() async throws {
        try await DiscoveryStage.with { stage in
            let speaker = try stage.system("Speaker", services: [AppService("test.notify") { $0.message }])
            try await stage.appears(speaker, after: .seconds(4))
            let (status, _) = try await Self.open(
                try Self.token(speaker.id),
                on: stage,
                after: .seconds(4),
                .milliseconds(500)
            )
            #expect(status == .success)
        }
    }

    private struct Opener: LaunchURIProvider {
        let supportedURISchemes = ["player"]
        func launchURI(_ request: LaunchURIRequest) async throws -> LaunchURIDecision { .opened }
    }

    @Test func `URIs can also be launched by a caller's token (R-21)`() async throws {
        try await DiscoveryStage.with { stage in
            let application = StagedApplication("test.host", launchURIProvider: Opener())
            let speaker = try stage.system("Speaker", applications: [application])
            let request = try RemoteSystemConnectionRequest(
                connectionToken: try Self.token(speaker.id),
                configuration: stage.configuration
            )
            let missing = Task(executorPreference: stage.taskExecutor) {
                try await RemoteLauncher().launchURI("player:x", with: request)
            }
            try await stage.advance(by: .seconds(5))
            #expect(try await missing.value.status == .remoteSystemUnavailable)
            try await stage.appears(speaker)
            #expect(try await RemoteLauncher().launchURI("player:x", with: request).status == .success)
        }
    }
}
