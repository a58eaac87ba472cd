// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import Synchronization
import Testing

/// Systems of other accounts nearby, over loopback with TLS.
@Suite struct AnyoneNearbyTests {
    /// Returns the caller's system and standing.
    static let open = AppService("test.open", options: .init(callers: .anyoneNearby)) { request in
        [
            "kind": .integer(Int64(request.caller.authorizationKind.rawValue)),
            "account": request.caller.accountID.map { .string($0.description) } ?? "none",
            "system": .string(request.caller.systemID.description),
        ]
    }
    static let ours = AppService("test.ours") { $0.message }

    /// Two accounts on one network segment.
    struct Neighbours {
        var loopbackSystem: LoopbackSystem
        var strangers: LoopbackSystem

        func configuration(_ application: String, of loopbackSystem: LoopbackSystem) -> RemoteSystemsConfiguration {
            var configuration = loopbackSystem.configuration(application)
            configuration.discovery.sources = [self.loopbackSystem.segment]
            return configuration
        }

        func strangersWatcher(_ filters: [RemoteSystemFilter] = [.authorizationKind(.anonymous)]) -> RemoteSystemWatcher
        {
            RemoteSystemWatcher(self.configuration("test.stranger", of: self.strangers), filters: filters)
        }

        /// The household's host, as a watcher of the strangers lists it.
        func listed() async throws -> (RemoteSystem, RemoteSystemWatcher) {
            let watcher = self.strangersWatcher()
            let recorder = EventRecorder(watcher)
            try await watcher.start()
            return (try await recorder.added(), watcher)
        }
    }

    /// Runs a host of the household, and a body that sees it as the strangers do.
    static func with(
        allowing isAllowed: Bool = true,
        _ services: [AppService] = [Self.open, Self.ours],
        _ body: (Neighbours, RemoteSystemHost) async throws -> Void
    ) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await LoopbackSystem.with { strangers in
                let neighbours = Neighbours(loopbackSystem: loopbackSystem, strangers: strangers)
                var options = RemoteSystemHost.Options()
                options.allowsAnyoneNearby = isAllowed
                options.attributes = ["room": "kitchen"]
                let host = RemoteSystemHost(
                    loopbackSystem.configuration("test.host"),
                    services: services,
                    options: options
                )
                try await host.whileRunning(expectsSuccess: true) { try await body(neighbours, host) }
            }
        }
    }

    // MARK: Off by default, on both sides

    @Test func `nothing is advertised to strangers and none is admitted unless the host allows it`() async throws {
        try await Self.with(allowing: false) { neighbours, host in
            let watcher = neighbours.strangersWatcher()
            let recorder = EventRecorder(watcher)
            try await watcher.start()
            // A forged advertisement claims that the host allows strangers. The host still refuses the connection.
            let forged = DiscoveryHint(
                id: "forged",
                instance: "forged",
                endpoints: [DiscoveryEndpoint(address: "127.0.0.1", port: try await host.port)],
                properties: ["v": Array("1".utf8), "a": Array("1".utf8)]
            )
            neighbours.loopbackSystem.segment.appear(forged)
            _ = try await recorder.first { if case .enumerationCompleted = $0 { true } else { nil } }
            #expect(watcher.systems.isEmpty)
            await watcher.stop()
        }
    }

    @Test func `a watcher without the option lists no systems of other accounts`() async throws {
        try await Self.with { neighbours, _ in
            let watcher = neighbours.strangersWatcher([])
            let recorder = EventRecorder(watcher)
            try await watcher.start()
            _ = try await recorder.first { if case .enumerationCompleted = $0 { true } else { nil } }
            #expect(watcher.systems.isEmpty)
            await watcher.stop()
        }
    }

    // MARK: What strangers see

    @Test func `a stranger sees only name, kind and the services offered to anyone`()
        async throws
    {
        try await Self.with { neighbours, _ in
            let (system, watcher) = try await neighbours.listed()
            #expect(system.authorizationKind == .anonymous)
            #expect(!system.displayName.isEmpty)
            #expect(system.platform == .unknown)
            #expect(system.manufacturerDisplayName == nil)
            #expect(system.modelDisplayName == nil)
            #expect(system.applications.map(\.id) == ["test.host"])
            let application = try #require(system.applications.first)
            #expect(application.attributes.isEmpty)
            #expect(application.services.map(\.name) == ["test.open"])
            await watcher.stop()
        }
    }

    @Test func `the account's own systems see everything as before`() async throws {
        try await Self.with { neighbours, _ in
            let watcher = neighbours.loopbackSystem.watcher()
            let recorder = EventRecorder(watcher)
            try await watcher.start()
            let system = try await recorder.added()
            #expect(system.authorizationKind == .sameUser)
            let application = try #require(system.application("test.host"))
            #expect(application.attributes == ["room": "kitchen"])
            #expect(application.services.map(\.name) == ["test.open", "test.ours"])
            let response = try await application.withAppService("test.open") { try await $0.send([:]).get() }
            #expect(response["kind"] == 0)
            #expect(response["account"] != "none")
            await watcher.stop()
        }
    }

    // MARK: What strangers can use

    @Test func `a stranger calls a service offered to anyone, and the handler sees that it is anonymous`() async throws
    {
        try await Self.with { neighbours, _ in
            let (system, watcher) = try await neighbours.listed()
            let application = try #require(system.applications.first)
            let response = try await application.withAppService("test.open") { connection in
                #expect(connection.info?.peer.authorizationKind == .anonymous)
                #expect(connection.info?.peer.accountID == nil)
                #expect(connection.info?.messageLimit == 64 << 10)
                #expect(connection.info?.requestWindow == 8)
                return try await connection.send([:]).get()
            }
            #expect(response["kind"] == 1)
            #expect(response["account"] == "none")
            #expect(response["system"] != .string(system.id.description))
            await watcher.stop()
        }
    }

    @Test(arguments: [
        AppServiceDescription(name: "test.ours"), AppServiceDescription(name: "test.missing"),
        AppServiceDescription(name: "test.open", applicationID: "test.other"),
        AppServiceDescription(name: "remote-systems.launch"), AppServiceDescription(name: "remote-systems.diagnosis"),
    ])
    func `all other requests of a stranger are refused with 7, whether the service exists or not`(
        _ service: AppServiceDescription
    ) async throws {
        try await Self.with { neighbours, _ in
            let (system, watcher) = try await neighbours.listed()
            let application = try #require(system.applications.first)
            let connection = AppServiceConnection(to: service)
            let status = try await connection.open(RemoteSystemConnectionRequest(application: application))
            #expect(status == .notAuthorized)
            #expect(connection.openError?.message.contains("another account") == true)
            await watcher.stop()
        }
    }

    @Test func `a stranger cannot request a certificate over its description connection`() async throws {
        try await Self.with { neighbours, _ in
            let (system, watcher) = try await neighbours.listed()
            let application = try #require(system.applications.first)
            let connection = AppServiceConnection(
                to: AppServiceDescription(
                    name: "remote-systems.presence",
                    requestSchema: .full,
                    pushRequestSchema: .full
                ),
                onRequest: { _ in [:] }
            )
            let status = try await connection.open(RemoteSystemConnectionRequest(application: application))
            #expect(status == .success)
            for type in ["renew", "revoked", "description"] {
                let response = try await connection.send(["Type": .string(type)])
                #expect(response.status == .failure)
            }
            await connection.close()
            await watcher.stop()
        }
    }

    @Test func `a long-lived connection to a system of another account is anonymous`() async throws {
        try await Self.with { neighbours, _ in
            let (system, watcher) = try await neighbours.listed()
            var policy = ReconnectionPolicy()
            policy.firstDelay = .milliseconds(10)
            let connection = LongLivedConnection(
                to: AppServiceDescription(name: "test.open"),
                RemoteSystemConnectionRequest(system: system),
                policy: policy
            )
            try connection.start()
            let response = try await connection.send([:]).get()
            #expect(response["kind"] == 1)
            #expect(connection.info?.peer.authorizationKind == .anonymous)
            await connection.close()
            await watcher.stop()
        }
    }

    @Test func `a service restricted to the same machine is not offered to strangers`() async throws {
        let local = AppService("test.open", options: .init(callers: .anyoneNearby, supportsRemote: false)) {
            $0.message
        }
        try await Self.with([local]) { neighbours, _ in
            let (system, watcher) = try await neighbours.listed()
            #expect(system.applications.first?.services.isEmpty == true)
            await watcher.stop()
        }
    }

    @Test func `a system of another account has at most four connections`() async throws {
        try await Self.with { neighbours, _ in
            // The watcher's connection is the first.
            let (system, watcher) = try await neighbours.listed()
            let application = try #require(system.applications.first)
            var connections: [AppServiceConnection] = []
            for number in 2...5 {
                let connection = AppServiceConnection(to: AppServiceDescription(name: "test.open"))
                let status = try await connection.open(RemoteSystemConnectionRequest(application: application))
                #expect(status == (number <= 4 ? .success : .remoteSystemUnavailable))
                // The host counts a connection just after it has accepted it, and before it responds over it.
                if status == .success { _ = try await connection.send([:]).get() }
                connections.append(connection)
            }
            #expect(connections.last?.openError?.canRetry == true)
            await connections.first?.close()
            let again = AppServiceConnection(to: AppServiceDescription(name: "test.open"))
            try await until { connections.first?.info == nil }
            // The host may notice the close a moment later.
            var status = AppServiceConnectionStatus.unknown
            for _ in 0..<100 where status != .success {
                status = try await again.open(RemoteSystemConnectionRequest(application: application))
            }
            #expect(status == .success)
            for connection in connections + [again] { await connection.cancel() }
            await watcher.stop()
        }
    }

    @Test func `an idempotency key of a stranger is not kept: the request runs each time`() async throws {
        let count = Counter()
        let service = AppService("test.open", options: .init(callers: .anyoneNearby)) { _ in
            count.increase()
            return [:]
        }
        try await Self.with([service]) { neighbours, _ in
            let (system, watcher) = try await neighbours.listed()
            let application = try #require(system.applications.first)
            let key = IdempotencyKey()
            try await application.withAppService("test.open") { connection in
                for _ in 0..<2 { _ = try await connection.send([:], idempotencyKey: key) }
            }
            #expect(count.value == 2)
            await watcher.stop()
        }
    }

    /// Those of a system of the account continue, so that it gets the response over its next connection.
    @Test func `a request of a stranger with a key is cancelled when its connection ends`() async throws {
        let (begun, cancelled) = (Counter(), Counter())
        let service = AppService("test.open", options: .init(callers: .anyoneNearby)) { _ in
            begun.increase()
            // Outlasts the test. Ended by cancellation.
            do { try await Task.sleep(for: .seconds(600)) } catch { cancelled.increase() }
            return [:]
        }
        try await Self.with([service]) { neighbours, _ in
            let (system, watcher) = try await neighbours.listed()
            let application = try #require(system.applications.first)
            let connection = AppServiceConnection(to: AppServiceDescription(name: "test.open"))
            let status = try await connection.open(RemoteSystemConnectionRequest(application: application))
            #expect(status == .success)
            let request = Task { try await connection.send([:], idempotencyKey: IdempotencyKey()) }
            try await until { begun.value == 1 }
            await connection.cancel()
            try await until { cancelled.value == 1 }
            _ = await request.result
            await watcher.stop()
        }
    }

    // MARK: Callers

    @Test func `a connection token of another account's system is accepted only on request`() async throws {
        try await Self.with { neighbours, _ in
            let (system, watcher) = try await neighbours.listed()
            let token = try #require(system.applications.first?.connectionToken)
            await watcher.stop()
            let configuration = neighbours.configuration("test.stranger", of: neighbours.strangers)
            let error = #expect(throws: RemoteSystemError.self) {
                _ = try RemoteSystemConnectionRequest(connectionToken: token, configuration: configuration)
            }
            #expect(error?.code == .invalidConnectionToken)
            let request = try RemoteSystemConnectionRequest(
                connectionToken: token,
                allowsAnyoneNearby: true,
                configuration: configuration
            )
            let connection = LongLivedConnection(to: AppServiceDescription(name: "test.open"), request)
            try connection.start()
            let response = try await connection.send([:]).get()
            #expect(response["kind"] == 1)
            #expect(connection.info?.peer.systemID == system.id)
            await connection.close()
            // A token does not give access to services that are not offered to anyone.
            let ours = AppServiceConnection(to: AppServiceDescription(name: "test.ours"))
            let status = try await ours.open(request)
            #expect(status == .notAuthorized)
            let launch = try await RemoteLauncher().launchURI("test:it", with: request)
            #expect(launch.status == .deniedByLocalSystem)
        }
    }

    @Test func `a system of another account is not connected to by an address alone`() async throws {
        try await Self.with { neighbours, host in
            let connection = AppServiceConnection(to: AppServiceDescription(name: "test.open"))
            let request = RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: try await host.port,
                configuration: neighbours.configuration("test.stranger", of: neighbours.strangers)
            )
            let status = try await connection.open(request)
            #expect(status == .notAuthorized)
            #expect(connection.openError?.code == .notTrusted)
        }
    }
}

private final class Counter: Sendable {
    private let count = Mutex(0)

    func increase() { self.count.withLock { $0 += 1 } }
    var value: Int { self.count.withLock { $0 } }
}
