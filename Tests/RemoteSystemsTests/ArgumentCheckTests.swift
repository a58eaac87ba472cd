// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsTesting
import Testing

@testable import RemoteSystems

/// Numbers have ranges and names have rules. A violation fails at its first use with an error that names it (issue 8,
/// section 3).
@Suite struct ArgumentCheckTests {
    /// The expected form of such an error.
    private func expect(_ error: RemoteSystemError?, _ parts: String...) {
        #expect(error?.code == .invalidArgument)
        #expect(error?.side == .local)
        #expect(error?.outcome == .notExecuted)
        for part in parts { #expect(error?.message.contains(part) == true, "\(error?.message ?? "no error")") }
    }

    private static let changes: [(String, String, @Sendable (inout RemoteSystemsConfiguration) -> Void)] = [
        ("transport.requestTimeout is 0 s", "1 ms to 86400 s", { $0.transport.requestTimeout = .zero }),
        ("transport.requestTimeout is 86401 s", "1 ms to 86400 s", { $0.transport.requestTimeout = .seconds(86_401) }),
        ("transport.connectTimeout is -5 s", "1 ms to 3600 s", { $0.transport.connectTimeout = .seconds(-5) }),
        ("transport.startTimeout is -1 s", "0 s to 3600 s", { $0.transport.startTimeout = .seconds(-1) }),
        ("transport.deadPeerTime is 999 ms", "1 s to 3600 s", { $0.transport.deadPeerTime = .milliseconds(999) }),
        ("limits.messageBytes is 1023", "1024 to 16777216", { $0.limits.messageBytes = 1023 }),
        ("limits.messageBytes is 16777217", "1024 to 16777216", { $0.limits.messageBytes = 16_777_217 }),
        ("limits.concurrentRequests is 0", "1 to 4096", { $0.limits.concurrentRequests = 0 }),
        ("limits.connections is 0", "1 to 1048576", { $0.limits.connections = 0 }),
        ("limits.connectionsPerSystem is -1", "1 to 1048576", { $0.limits.connectionsPerSystem = -1 }),
        (
            "transport.drainTimeout is \(Int64.max) s", "0 s to 3600 s",
            { $0.transport.drainTimeout = .seconds(Int64.max) }
        ),
        ("transport.helloTimeout is 60.5 s", "1 ms to 60 s", { $0.transport.helloTimeout = .milliseconds(60_500) }),
        (
            "systemDisplayName has 1025 bytes", "1 to 1024",
            { $0.systemDisplayName = String(repeating: "x", count: 1025) }
        ),
        ("network lists no interface", "at least one", { $0.network = .interfaces([]) }),
        ("stateDirectory is \"\"", "absolute path", { $0.stateDirectory = "" }),
        ("stateDirectory is \"rel/dir\"", "absolute path", { $0.stateDirectory = "rel/dir" }),
        ("The application id \"\" is not valid", "1 to 256 bytes", { $0.applicationID = "" }),
        ("\"x [31m\" is not valid", "control", { $0.applicationID = "x\u{1B}[31m" }),
    ]

    @Test func `a host with two services of one name does not start`() async throws {
        try await DiscoveryStage.with { stage in
            let services = ["test.echo", "test.other", "test.echo"].map { AppService($0) { $0.message } }
            let host = RemoteSystemHost(stage.configuration, services: services)
            self.expect(await #expect(throws: RemoteSystemError.self) { try await host.run() }, "same name")
        }
    }

    @Test(arguments: ArgumentCheckTests.changes.indices)
    func `a configuration with an invalid value is refused by every API that uses it`(index: Int) async throws {
        let (value, range, change) = Self.changes[index]
        try await DiscoveryStage.with { stage in
            var configuration = stage.configuration
            try configuration.validate()
            change(&configuration)
            let invalid = configuration
            func failure(_ body: () async throws -> Void) async -> RemoteSystemError? {
                await #expect(throws: RemoteSystemError.self) { try await body() }
            }
            self.expect(#expect(throws: RemoteSystemError.self) { try invalid.validate() }, value, range)
            let host = RemoteSystemHost(invalid, services: [])
            self.expect(await failure { try await host.run() }, value, range)
            let watcher = RemoteSystemWatcher(invalid)
            self.expect(await failure { try await watcher.start() }, value, range)
            let request = RemoteSystemConnectionRequest(host: "127.0.0.1", configuration: invalid)
            let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
            self.expect(await failure { _ = try await connection.open(request) }, value, range)
            let lasting = LongLivedConnection(to: AppServiceDescription(name: "test.echo"), request)
            self.expect(await failure { try lasting.start() }, value, range)
        }
    }

    @Test(arguments: [80_000, -5, 0, 65_536, .max, .min])
    func `an invalid port is not connected to (R-33)`(port: Int) async throws {
        try await DiscoveryStage.with { stage in
            let text = "port is \(port). Valid range: 1 to 65535."
            let request = RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: port,
                configuration: stage.configuration
            )
            let service = AppServiceDescription(name: "test.echo")
            let opening = await #expect(throws: RemoteSystemError.self) {
                _ = try await AppServiceConnection(to: service).open(request)
            }
            self.expect(opening, text)
            let stateless = await #expect(throws: RemoteSystemError.self) {
                _ = try await AppServiceConnection.sendStateless([:], to: service, request: request)
            }
            self.expect(stateless, text)
            let lasting = #expect(throws: RemoteSystemError.self) {
                try LongLivedConnection(to: service, request).start()
            }
            self.expect(lasting, text)
            let launching = await #expect(throws: RemoteSystemError.self) {
                _ = try await RemoteLauncher().launchURI("test:x", with: request)
            }
            self.expect(launching, text)
            let finding = await #expect(throws: RemoteSystemError.self) {
                _ = try await RemoteSystem.find(host: "127.0.0.1", port: port, configuration: stage.configuration)
            }
            self.expect(finding, text)
        }
    }

    @Test(arguments: [80_000, -5, 65_536])
    func `an invalid port is not listened on`(port: Int) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            var options = RemoteSystemHost.Options()
            options.port = port
            let host = RemoteSystemHost(loopbackSystem.configuration("test.host"), services: [], options: options)
            let error = await #expect(throws: RemoteSystemError.self) { try await host.run() }
            self.expect(error, "RemoteSystemHost.Options.port is \(port). Valid range: 0 to 65535.")
            let account = RemoteSystemsAccount(loopbackSystem.configuration("test.host"))
            let inviting = await #expect(throws: RemoteSystemError.self) {
                _ = try await account.invite(port: port) { _ in }
            }
            self.expect(inviting, "port is \(port). Valid range: 0 to 65535.")
        }
    }

    @Test func `options of a host, a service and a watcher are checked against their ranges`() async throws {
        try await DiscoveryStage.with { stage in
            func failure(
                _ services: [AppService] = [],
                _ change: (inout RemoteSystemHost.Options) -> Void = { _ in }
            ) async -> RemoteSystemError? {
                var options = RemoteSystemHost.Options()
                change(&options)
                let host = RemoteSystemHost(stage.configuration, services: services, options: options)
                return await #expect(throws: RemoteSystemError.self) { try await host.run() }
            }
            self.expect(
                await failure { $0.startTimeout = .zero },
                "Options.startTimeout is 0 s",
                "100 ms to 300 s"
            )
            self.expect(await failure { $0.displayName = "" }, "Options.displayName has 0 bytes")
            for count in [0, -1, 4097] {
                let service = AppService("test.x", concurrentRequests: count) { _ in [:] }
                self.expect(await failure([service]), "AppService.concurrentRequests is \(count)", "1 to 4096")
            }
            for name in ["", "a\nb", "a\u{202E}b", String(repeating: "é", count: 129)] {
                self.expect(await failure([AppService(name) { _ in [:] }]), "The service name", "1 to 256 bytes")
            }
            self.expect(await failure([AppService("remote-systems.mine") { _ in [:] }]), "mine is reserved")
            let callers = AppService.Options(callers: .applications(["ok", "\u{7}"]))
            let calling = AppService("test.x", options: callers) { _ in [:] }
            self.expect(await failure([calling]), "application id of a caller")

            var options = RemoteSystemWatcher.Options()
            options.silenceTime = .milliseconds(10)
            let watcher = stage.watcher(options: options)
            let silence = await #expect(throws: RemoteSystemError.self) { try await watcher.start() }
            self.expect(silence, "RemoteSystemWatcher.Options.silenceTime is 10 ms", "1 s to 3600 s")
            let filtering = stage.watcher(filters: [.service("\u{0}")])
            let filter = await #expect(throws: RemoteSystemError.self) { try await filtering.start() }
            self.expect(filter, "The service name of a filter")
        }
    }

    private static let policies: [(String, @Sendable (inout ReconnectionPolicy) -> Void)] = [
        ("firstDelay is 0 s", { $0.firstDelay = .zero }),
        ("factor is inf", { $0.factor = .infinity }), ("factor is nan", { $0.factor = .nan }),
        ("longestDelay is 1 ms. Valid range: 250 ms to 86400 s", { $0.longestDelay = .milliseconds(1) }),
        ("jitter is 7.0", { $0.jitter = 7 }), ("attempts is 0", { $0.attempts = 0 }),
        ("longestOutage is 0 s", { $0.longestOutage = .zero }), ("waitingRequests is -1", { $0.waitingRequests = -1 }),
    ]

    @Test(arguments: ArgumentCheckTests.policies.indices)
    func `a policy with an invalid value does not start a connection`(index: Int) async throws {
        let (text, change) = Self.policies[index]
        try await DiscoveryStage.with { stage in
            var policy = ReconnectionPolicy()
            change(&policy)
            let request = RemoteSystemConnectionRequest(host: "127.0.0.1", configuration: stage.configuration)
            let connection = LongLivedConnection(to: AppServiceDescription(name: "test.x"), request, policy: policy)
            let error = #expect(throws: RemoteSystemError.self) { try connection.start() }
            self.expect(error, "ReconnectionPolicy.\(text)")
        }
    }

    @Test func `a request's own timeout has a range that includes 0`() async throws {
        let service = AppService("test.echo") { $0.message }
        try await DiscoveryStage.withConnectedPair(service) { pair in
            for timeout in [Duration.seconds(-5), .seconds(86_401), .seconds(Int64.max)] {
                let error = await #expect(throws: RemoteSystemError.self) {
                    _ = try await pair.client.send([:], timeout: timeout)
                }
                self.expect(error, "timeout is", "0 s to 86400 s")
            }
            let status = try await pair.client.send([:], timeout: .zero).status
            #expect(status != .success)
        }
    }

    @Test(arguments: [.zero, .seconds(-1), .seconds(3601), .seconds(Int64.max)] as [Duration])
    func `pairings are not searched for an invalid time`(time: Duration) async throws {
        try await DiscoveryStage.with { stage in
            let account = RemoteSystemsAccount(stage.configuration)
            let error = await #expect(throws: RemoteSystemError.self) {
                _ = try await account.pairingsNearby(within: time)
            }
            self.expect(error, "pairingsNearby(within:) is", "1 ms to 3600 s")
        }
    }

    @Test func `requests with invalid names are not sent`() async throws {
        try await DiscoveryStage.with { stage in
            let request = RemoteSystemConnectionRequest(host: "127.0.0.1", configuration: stage.configuration)
            for description in [
                AppServiceDescription(name: ""), AppServiceDescription(name: "a\u{7}"),
                AppServiceDescription(name: "test.x", applicationID: ""),
                AppServiceDescription(name: "test.x", applicationID: String(repeating: "x", count: 257)),
            ] {
                let error = await #expect(throws: RemoteSystemError.self) {
                    _ = try await AppServiceConnection(to: description).open(request)
                }
                self.expect(error, "is not valid. It takes 1 to 256 bytes")
            }
        }
    }

    @Test(arguments: [-5, 0, Int.min]) func `a failure's status is never success on the wire`(number: Int) async throws
    {
        let service = AppService("test.failing") { _ in
            var failure = AppServiceFailure("No.")
            failure.status = AppServiceResponseStatus(rawValue: number)
            throw failure
        }
        try await DiscoveryStage.withConnectedPair(service) { pair in
            let response = try await pair.client.send([:])
            #expect(response.status == .failure)
            #expect(response.error?.message == "No.")
        }
    }

    @Test func `a stage checks its own values, and its systems by the rules of hosts`() async throws {
        try await DiscoveryStage.with { stage in
            let speaker = try stage.system("Speaker")
            let late = await #expect(throws: StageError.self) { try await stage.appears(speaker, after: .seconds(-1)) }
            #expect(late?.message == "after is -1 s. Valid range: 0 s to 315360000 s.")
            let back = await #expect(throws: StageError.self) { try await stage.advance(by: .seconds(-1)) }
            #expect(back?.message.contains("advance(by:) is -1 s") == true)
            let error = #expect(throws: RemoteSystemError.self) {
                _ = try stage.system("Speaker", application: "\u{7}")
            }
            self.expect(error, "The application id")
            let service = #expect(throws: RemoteSystemError.self) {
                _ = try stage.system("Speaker", services: [AppService("") { _ in [:] }])
            }
            self.expect(service, "The service name")
        }
    }
}
