// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import RemoteSystems
import ServiceLifecycle
import Synchronization
import Testing

/// App-service connections through the public API, over loopback, with TLS and all.
@Suite struct AppServiceConnectionTests {
    static let echo = AppService("test.echo") { $0.message }

    /// A connection to a service by the host's address.
    static func connect(
        _ household: Household,
        _ host: RemoteSystemHost,
        _ service: AppServiceDescription = AppServiceDescription(name: "test.echo"),
        configuration: RemoteSystemsConfiguration? = nil,
        systemID: SystemID? = nil,
        onRequest: AppServiceConnection.RequestHandler? = nil
    ) async throws -> (AppServiceConnection, AppServiceConnectionStatus) {
        let connection = AppServiceConnection(to: service, onRequest: onRequest)
        let request = RemoteSystemConnectionRequest(
            host: "127.0.0.1",
            port: try await host.port,
            systemID: systemID,
            configuration: configuration ?? household.configuration("test.caller")
        )
        return (connection, try await connection.open(request))
    }

    /// Runs a host with the services and a connection to the first of them.
    static func talk(
        _ services: AppService...,
        schema: AllowedValueSchema = .appService,
        onRequest: AppServiceConnection.RequestHandler? = nil,
        _ body: (AppServiceConnection) async throws -> Void
    ) async throws {
        try await Household.with { household in
            try await household.withHost(services) { host in
                let (connection, status) = try await Self.connect(
                    household,
                    host,
                    AppServiceDescription(name: services[0].name, schema: schema),
                    onRequest: onRequest
                )
                #expect(status == .success)
                try await body(connection)
                await connection.close()
            }
        }
    }

    // MARK: Opening (R-32, X-21)

    @Test func `a service that the application does not offer has status 3`() async throws {
        try await Household.with { household in
            try await household.withHost([Self.echo]) { host in
                let (connection, status) = try await Self.connect(
                    household,
                    host,
                    AppServiceDescription(name: "nobody")
                )
                #expect(status == .appServiceUnavailable)
                #expect(status.rawValue == 3)
                #expect(connection.openError?.message.contains("nobody") == true)
                #expect(connection.openError?.side == .remote)
            }
        }
    }

    @Test func `an application that is not there has status 1 (R-29, R-30)`() async throws {
        try await Household.with { household in
            try await household.withHost([Self.echo]) { host in
                let description = AppServiceDescription(name: "test.echo", packageID: "test.other")
                let (_, status) = try await Self.connect(household, host, description)
                #expect(status == .appNotInstalled)
            }
        }
    }

    @Test func `an address where nobody listens has status 5, and says that retrying may help`() async throws {
        try await Household.with { household in
            let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
            let nowhere = RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: 1,
                configuration: household.configuration("test.caller")
            )
            let status = try await connection.open(nowhere)
            #expect(status == .remoteSystemUnavailable)
            let error = try #require(connection.openError)
            #expect(error.code == .unreachable)
            #expect(error.side == .network)
            #expect(error.canRetry)
            #expect(error.outcome == .notCarriedOut)
        }
    }

    @Test func `a connection that could not be opened can be opened later`() async throws {
        try await Household.with { household in
            let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
            let configuration = household.configuration("test.caller")
            let nowhere = RemoteSystemConnectionRequest(host: "127.0.0.1", port: 1, configuration: configuration)
            let status = try await connection.open(nowhere)
            #expect(status == .remoteSystemUnavailable)
            try await household.withHost([Self.echo]) { host in
                let there = RemoteSystemConnectionRequest(
                    host: "127.0.0.1",
                    port: try await host.port,
                    configuration: configuration
                )
                let value3 = try await connection.open(there)
                #expect(value3 == .success)
                #expect(connection.openError == nil)
            }
        }
    }

    @Test func `a system of another account is not let in, and is told so: status 7`() async throws {
        try await Household.with { household in
            try await Household.with { strangers in
                try await household.withHost([Self.echo]) { host in
                    let (connection, status) = try await Self.connect(
                        household,
                        host,
                        configuration: strangers.configuration("test.stranger")
                    )
                    #expect(status == .notAuthorized)
                    #expect(connection.openError?.code == .notTrusted)
                }
            }
        }
    }

    @Test func `another system than the one that was meant is not talked to`() async throws {
        try await Household.with { household in
            try await household.withHost([Self.echo]) { host in
                let other = try #require(SystemID(bytes: [UInt8](repeating: 7, count: 32)))
                let (connection, status) = try await Self.connect(household, host, systemID: other)
                #expect(status == .notAuthorized)
                #expect(connection.openError?.message.contains("Another system") == true)
            }
        }
    }

    @Test func `opening twice is misuse, and so is sending before opening (R-33)`() async throws {
        try await Self.talk(Self.echo) { connection in
            let request = RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: 1,
                configuration: RemoteSystemsConfiguration(applicationID: "x")
            )
            let again = await #expect(throws: RemoteSystemError.self) { _ = try await connection.open(request) }
            #expect(again?.code == .misuse)
        }
        let unopened = AppServiceConnection(to: AppServiceDescription(name: "x"))
        let early = await #expect(throws: RemoteSystemError.self) { _ = try await unopened.send([:]) }
        #expect(early?.code == .misuse)
    }

    @Test func `the connection knows its peer and its limits (X-35)`() async throws {
        try await Self.talk(Self.echo) { connection in
            let info = try #require(connection.info)
            #expect(info.isProximal)
            #expect(info.peer.isLocal)
            #expect(info.peer.claimedApplicationID == "test.host")
            #expect(info.messageLimit == 1 << 20)
            #expect(info.address == "127.0.0.1")
        }
    }

    // MARK: Messages (R-35…R-42, X-22)

    @Test func `the ping of the guide comes back with its creation date (R-38, R-41, R-42)`() async throws {
        let ping = AppService("test.ping") { request in
            ["Type": "pong", "CreationDate": request.message["CreationDate"] ?? .null]
        }
        try await Self.talk(ping) { connection in
            let created = Value.date(.now)
            let response = try await connection.send(
                ["Type": "ping", "CreationDate": created, "TargetId": "test.host"]
            )
            #expect(response.status == .success)
            #expect(response.message == ["Type": "pong", "CreationDate": created])
        }
    }

    @Test func `a message that the schema forbids is not sent, and the error names the place (R-37)`() async throws {
        try await Self.talk(Self.echo) { connection in
            let error = await #expect(throws: RemoteSystemError.self) {
                _ = try await connection.send(["list": [1, "two"]])
            }
            #expect(error?.code == .invalidMessage)
            #expect(error?.message.contains("list") == true)
            let value4 = try await connection.send(["list": [1, 2]]).status
            #expect(value4 == .success)
        }
    }

    @Test func `the schema that a service declares is known to callers before they send`() async throws {
        let strict = AppService(
            "test.volume",
            schema: AllowedValueSchema(fields: [.required("Volume", .number)], allowsFurtherKeys: false)
        ) { $0.message }
        try await Self.talk(strict) { connection in
            let missing = await #expect(throws: RemoteSystemError.self) { _ = try await connection.send([:]) }
            #expect(missing?.message.contains("Volume") == true)
            let wrong = await #expect(throws: RemoteSystemError.self) {
                _ = try await connection.send(["Volume": "loud"])
            }
            #expect(wrong?.code == .invalidMessage)
            let value5 = try await connection.send(["Volume": 0.5]).status
            #expect(value5 == .success)
        }
    }

    @Test func `an answer that the caller's schema forbids is not handed on`() async throws {
        let free = AppService("test.free", schema: .full, responseSchema: .full) { _ in ["data": .data(Data([1]))] }
        try await Self.talk(free) { connection in
            let response = try await connection.send([:])
            #expect(response.status == .failure)
            #expect(response.error?.message.contains("data") == true)
        }
        try await Self.talk(free, schema: .full) { connection in
            let value6 = try await connection.send([:]).message
            #expect(value6 == ["data": .data(Data([1]))])
        }
    }

    @Test func `a handler's failure reaches the caller in its words, other errors do not`() async throws {
        struct Secret: Error { let password = "hunter2" }
        let failing = AppService("test.failing") { request in
            if request.message["secret"] != nil { throw Secret() }
            throw AppServiceFailure("The tape is full.", canRetry: true)
        }
        try await Self.talk(failing) { connection in
            let told = try await connection.send([:])
            #expect(told.status == .failure)
            #expect(told.error?.message == "The tape is full.")
            #expect(told.error?.canRetry == true)
            #expect(told.error?.outcome == .failed)
            let untold = try await connection.send(["secret": true])
            #expect(untold.status == .failure)
            #expect(untold.error.map { "\($0) \($0.debugDescription)" }?.contains("hunter2") == false)
        }
    }

    @Test func `a message over the limit is not sent, an answer over it is told: status 5`() async throws {
        let growing = AppService("test.growing", schema: .full, responseSchema: .full) { request in
            ["data": .data(Data(count: request.message["size"]?.int ?? 0))]
        }
        try await Self.talk(growing, schema: .full) { connection in
            let large = try await connection.send(["data": .data(Data(count: 1 << 20))])
            #expect(large.status == .messageTooLarge)
            #expect(large.error?.side == .local)
            #expect(large.error?.outcome == .notCarriedOut)
            let answer = try await connection.send(["size": .integer(1 << 20)])
            #expect(answer.status == .messageTooLarge)
            #expect(answer.error?.side == .remote)
            let value7 = try await connection.send(["size": 1000]).status
            #expect(value7 == .success)
        }
    }

    @Test func `no answer by the deadline has status 3, outcome unknown, and the handler is cancelled`() async throws {
        let wasCancelled = Mutex(false)
        let slow = AppService("test.slow") { _ in
            do {
                try await Task.sleep(for: .seconds(60))
            } catch {
                wasCancelled.withLock { $0 = true }
                throw error
            }
            return [:]
        }
        try await Self.talk(slow) { connection in
            let response = try await connection.send([:], timeout: .milliseconds(100))
            #expect(response.status == .unknown)
            #expect(response.error?.code == .deadlineExceeded)
            #expect(response.error?.outcome == .unknown)
            try await until { wasCancelled.withLock { $0 } }
        }
    }

    @Test func `a cancelled send throws, and the handler is cancelled`() async throws {
        let started = Mutex(false)
        let wasCancelled = Mutex(false)
        let slow = AppService("test.slow") { _ in
            started.withLock { $0 = true }
            try? await Task.sleep(for: .seconds(60))
            wasCancelled.withLock { $0 = Task.isCancelled }
            return [:]
        }
        try await Self.talk(slow) { connection in
            let sending = Task { try await connection.send([:]) }
            try await until { started.withLock { $0 } }
            sending.cancel()
            await #expect(throws: CancellationError.self) { _ = try await sending.value }
            try await until { wasCancelled.withLock { $0 } }
        }
    }

    @Test func `requests start in the order in which they were sent, one at a time if the service says so (R-34)`()
        async throws
    {
        let order = Mutex<[Int]>([])
        let running = Mutex((now: 0, most: 0))
        let sequential = AppService("test.sequential", concurrentRequests: 1) { request in
            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            order.withLock { $0.append(request.message["n"]?.int ?? -1) }
            await Task.yield()
            running.withLock { $0.now -= 1 }
            return [:]
        }
        try await Self.talk(sequential) { connection in
            try await Self.sendInOrder(50, on: connection)
            #expect(order.withLock { $0 } == Array(0..<50))
            #expect(running.withLock { $0.most } == 1)
        }
    }

    /// Submits requests in order and waits for all of them.
    static func sendInOrder(_ count: Int, on connection: AppServiceConnection) async throws {
        let sending = (0..<count).map { number in
            Task.immediate { try await connection.send(["n": .integer(Int64(number))]) }
        }
        for task in sending {
            let status = try await task.value.status
            #expect(status == .success)
        }
    }

    @Test func `messages of the user's own types go there and back (R-36)`() async throws {
        struct Ping: Codable, Equatable {
            var type = "ping"
            var numbers = [1, 2, 3]
        }
        try await Self.talk(Self.echo) { connection in
            let answer: Ping = try await connection.send(Ping())
            #expect(answer == Ping())
        }
    }

    @Test func `the service can ask its caller, on the same connection (X-36)`() async throws {
        let asking = AppService("test.asking") { request in
            let answer = try await request.connection.send(["question": "name?"]).get()
            return ["greeting": .string("Hello, \(answer["name"]?.string ?? "?")")]
        }
        try await Self.talk(asking) { question in
            #expect(question.message["question"] == "name?")
            return ["name": "caller"]
        } _: { connection in
            let value8 = try await connection.send([:]).message
            #expect(value8 == ["greeting": "Hello, caller"])
        }
    }

    @Test func `the caller's verified identity reaches the handler`() async throws {
        try await Household.with { household in
            let seen = Mutex<AppServiceCaller?>(nil)
            let asking = AppService("test.echo") { request in
                seen.withLock { $0 = request.caller }
                return [:]
            }
            try await household.withHost([asking]) { host in
                let (connection, _) = try await Self.connect(household, host)
                _ = try await connection.send([:])
                let identity = try AccountStore(directory: household.directory).identity()
                let caller = try #require(seen.withLock { $0 })
                #expect(caller.systemID == identity.systemID)
                #expect(caller.accountID == identity.accountID)
                #expect(caller.claimedApplicationID == "test.caller")
                await connection.close()
            }
        }
    }

    // MARK: Closing (R-31, R-44, X-23)

    @Test func `closing is told on both sides as completed, and nothing is sent afterwards`() async throws {
        let closed = Mutex<AppServiceClosedStatus?>(nil)
        struct Provider: AppServiceProvider {
            let onClose: @Sendable (AppServiceClosedStatus) -> Void
            func respond(to request: AppServiceRequest) async throws -> ValueSet { request.message }
            func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus) {
                self.onClose(status)
            }
        }
        let service = AppService("test.echo", provider: Provider { status in closed.withLock { $0 = status } })
        try await Self.talk(service) { connection in
            _ = try await connection.send([:])
            await connection.close()
            #expect(try await connection.waitUntilClosed() == .completed)
            let late = try await connection.send([:])
            #expect(late.status == .connectionClosed)
            #expect(late.error?.outcome == .notCarriedOut)
            try await until { closed.withLock { $0 } == .completed }
        }
    }

    @Test func `a listener that is cancelled is not told, others are (R-43)`() async throws {
        let told = Mutex<[String]>([])
        try await Self.talk(Self.echo) { connection in
            let first = connection.onClosed { _ in told.withLock { $0.append("first") } }
            connection.onClosed { _ in told.withLock { $0.append("second") } }
            first.cancel()
            await connection.close()
            _ = try await connection.waitUntilClosed()
            connection.onClosed { _ in told.withLock { $0.append("late") } }
            #expect(told.withLock { $0 } == ["second", "late"])
        }
    }

    @Test func `waiting for a connection's end can be cancelled, and the connection goes on`() async throws {
        try await Self.talk(Self.echo) { connection in
            let waiting = Task { try await connection.waitUntilClosed() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { _ = try await waiting.value }
            let answer = try await connection.send([:])
            #expect(answer.status == .success)
        }
    }

    // MARK: The end of a host

    /// A host whose one service never answers by itself, and a request that it is at.
    private static func whileHandling(
        for duration: Duration,
        _ body: (ServiceGroup, Task<Void, any Error>, AppServiceConnection, Task<AppServiceResponse, any Error>)
            async throws -> Void
    ) async throws {
        try await Household.with { household in
            let started = Mutex(false)
            let slow = AppService("test.echo") { request in
                started.withLock { $0 = true }
                try await Task.sleep(for: duration)
                return request.message
            }
            var configuration = household.configuration("test.host")
            configuration.drainTimeout = .seconds(60)
            let host = RemoteSystemHost(configuration, services: [slow])
            let group = ServiceGroup(
                services: [host],
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let running = Task { try await group.run() }
            let (connection, _) = try await Self.connect(household, host)
            let sending = Task { try await connection.send(["n": 1]) }
            try await until { started.withLock { $0 } }
            try await body(group, running, connection, sending)
        }
    }

    @Test func `a graceful shutdown lets requests under way finish`() async throws {
        try await Self.whileHandling(for: .milliseconds(200)) { group, running, connection, sending in
            await group.triggerGracefulShutdown()
            let value9 = try await sending.value.message
            #expect(value9 == ["n": 1])
            let status = try await connection.waitUntilClosed()
            #expect(status == .completed)
            try await running.value
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func `a host whose task is cancelled waits for nothing, a shutdown or not`(isShuttingDown: Bool) async throws {
        try await Self.whileHandling(for: .seconds(600)) { group, running, connection, sending in
            if isShuttingDown { await group.triggerGracefulShutdown() }
            running.cancel()
            let response = try await sending.value
            #expect(response.status == .unknown)
            #expect(response.error?.outcome == .unknown)
            let status = try await connection.waitUntilClosed()
            #expect(status == .cancelled)
            _ = await running.result
        }
    }

    @Test func `a connection that is given up ends with status 3 for what was under way`() async throws {
        let started = Mutex(false)
        let slow = AppService("test.slow") { _ in
            started.withLock { $0 = true }
            try await Task.sleep(for: .seconds(60))
            return [:]
        }
        try await Self.talk(slow) { connection in
            let sending = Task { try await connection.send([:]) }
            try await until { started.withLock { $0 } }
            await connection.cancel()
            let response = try await sending.value
            #expect(response.status == .unknown)
            #expect(response.error?.code == .connectionLost)
            #expect(response.error?.outcome == .unknown)
            #expect(try await connection.waitUntilClosed() == .cancelled)
        }
    }
}

/// Waits until the condition holds, ten seconds at the most.
func until(_ condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let deadline = ContinuousClock.now + .seconds(10)
    while !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record("It did not come about in ten seconds.", sourceLocation: sourceLocation)
            return
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}
