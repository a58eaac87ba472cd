// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import IntegrationSupport
import RemoteSystems
import Synchronization
import Testing

/// Connections that reconnect (issue 3, section 2), over loopback with TLS.
@Suite struct LongLivedConnectionTests {
    static let echo = AppService("test.echo") { $0.message }
    static let description = AppServiceDescription(name: "test.echo")

    static var quick: ReconnectionPolicy {
        var policy = ReconnectionPolicy()
        policy.firstDelay = .milliseconds(10)
        policy.longestDelay = .milliseconds(100)
        return policy
    }

    /// A started connection to an address.
    static func connection(
        _ loopbackSystem: LoopbackSystem,
        port: Int,
        policy: ReconnectionPolicy = Self.quick,
        service: AppServiceDescription = Self.description
    ) throws -> LongLivedConnection {
        let request = RemoteSystemConnectionRequest(
            host: "127.0.0.1",
            port: port,
            configuration: loopbackSystem.configuration("test.caller")
        )
        let connection = LongLivedConnection(to: service, request, policy: policy)
        try connection.start()
        return connection
    }

    /// Sends a message to a service that echoes it.
    static func exchange(
        _ connection: LongLivedConnection,
        _ message: ValueSet,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let response = try await connection.send(message).get()
        #expect(response == message, sourceLocation: sourceLocation)
    }

    // MARK: Reconnecting

    @Test func `a host that restarts on another port is found there, and every state change is reported`()
        async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            let watcher = loopbackSystem.watcher()
            let recorder = EventRecorder(watcher)
            try await watcher.start()
            let states = StateRecorder()
            let kept = Mutex<LongLivedConnection?>(nil)
            try await loopbackSystem.withHost([Self.echo]) { _ in
                let system = try await recorder.added()
                let connection = LongLivedConnection(
                    to: Self.description,
                    RemoteSystemConnectionRequest(system: system),
                    policy: Self.quick
                )
                connection.onStateChanged { states.record($0) }
                try connection.start()
                try await Self.exchange(connection, ["n": 1])
                kept.withLock { $0 = connection }
            }
            let connection = try #require(kept.withLock { $0 })
            let before = try await states.waited()
            #expect(before.first == "connecting")
            #expect(before.contains("connected"))
            try await loopbackSystem.withHost([Self.echo]) { _ in
                try await Self.exchange(connection, ["n": 2])
                // The state is reported before any request is sent.
                #expect(states.names.count { $0 == "connected" } == 2)
            }
            await connection.close()
            #expect(states.names.filter { $0 == "connected" }.count == 2)
            #expect(states.names.last == "closed")
            await watcher.stop()
        }
    }

    @Test func `a connection for an application reconnects to that application`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let watcher = loopbackSystem.watcher()
            let recorder = EventRecorder(watcher)
            try await watcher.start()
            let kept = Mutex<LongLivedConnection?>(nil)
            try await loopbackSystem.withHost([Self.echo], application: "test.player") { _ in
                let application = try #require(try await recorder.added().application("test.player"))
                let request = RemoteSystemConnectionRequest(application: application)
                let connection = LongLivedConnection(to: Self.description, request, policy: Self.quick)
                try connection.start()
                _ = try await connection.send([:]).get()
                kept.withLock { $0 = connection }
            }
            let connection = try #require(kept.withLock { $0 })
            // Another application with the same service is not the expected one.
            let other = AppService("test.echo") { _ in throw AppServiceFailure("This is another application.") }
            try await loopbackSystem.withHost([other], application: "test.other") { _ in
                try await loopbackSystem.withHost([Self.echo], application: "test.player") { _ in
                    try await Self.exchange(connection, ["n": 2])
                }
            }
            await connection.close()
            await watcher.stop()
        }
    }

    @Test func `a connection that the host drops is opened again, at the same address`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let dropper = Dropper()
            try await loopbackSystem.withHost([AppService("test.echo", provider: dropper)]) { host in
                let connection = try Self.connection(loopbackSystem, port: try await host.port)
                for number in 1...3 {
                    try await Self.exchange(connection, ["n": .integer(Int64(number))])
                    await dropper.drop()
                    try await until { connection.info == nil || dropper.opened > number }
                }
                try await Self.exchange(connection, ["n": 4])
                #expect(dropper.opened == 4)
                await connection.close()
            }
        }
    }

    @Test func `listeners get the connected state before any request is sent over the connection`() async throws {
        let hasHeard = Mutex(false)
        let wasFirst = Mutex<Bool?>(nil)
        let service = AppService("test.echo") { request in
            wasFirst.withLock { $0 = $0 ?? hasHeard.withLock { $0 } }
            return request.message
        }
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([service]) { host in
                let request = RemoteSystemConnectionRequest(
                    host: "127.0.0.1",
                    port: try await host.port,
                    configuration: loopbackSystem.configuration("test.caller")
                )
                let connection = LongLivedConnection(to: Self.description, request)
                connection.onStateChanged { state in
                    guard case .connected = state else { return }
                    // A listener that takes long in real time. A request that did not wait for it would arrive earlier.
                    usleep(200_000)
                    hasHeard.withLock { $0 = true }
                }
                try connection.start()
                // The first request waits for the connection. The others are sent one after the other, some of them
                // while the listener runs.
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<20 {
                        group.addTask {
                            try await Task.sleep(for: .milliseconds(10 * number))
                            _ = try await connection.send(["n": .integer(Int64(number))]).get()
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(wasFirst.withLock { $0 } == true)
                await connection.close()
            }
        }
    }

    @Test func `a connection to a host that does not run yet is opened when it does`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let port = try HeldPort()
            let connection = try Self.connection(loopbackSystem, port: port.number)
            async let response = connection.send(["n": 1])
            try await until { if case .waiting = connection.state { true } else { false } }
            var options = RemoteSystemHost.Options()
            options.port = port.number
            let host = RemoteSystemHost(
                loopbackSystem.configuration("test.host"),
                services: [Self.echo],
                options: options
            )
            let running = Task { try await host.run() }
            let message = try await response.get()
            #expect(message == ["n": 1])
            withExtendedLifetime(port) {}
            await connection.close()
            running.cancel()
            _ = await running.result
        }
    }

    // MARK: Nothing is silently sent twice

    @Test func `a request in progress when the connection was lost is not repeated, and reports that`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let dropper = Dropper(drops: 1)
            try await loopbackSystem.withHost([AppService("test.echo", provider: dropper)]) { host in
                let connection = try Self.connection(loopbackSystem, port: try await host.port)
                let response = try await connection.send(["n": 1])
                #expect(response.status == .unknown)
                #expect(response.error?.outcome == .unknown)
                try await Self.exchange(connection, ["n": 2])
                #expect(dropper.messages == [["n": 1], ["n": 2]])
                await connection.close()
            }
        }
    }

    @Test func `a repeatable request is sent again, runs once, and gets a response`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let dropper = Dropper(drops: 1)
            try await loopbackSystem.withHost([AppService("test.echo", provider: dropper)]) { host in
                let connection = try Self.connection(loopbackSystem, port: try await host.port)
                let response = try await connection.send(["n": 1], retry: .idempotent)
                #expect(response.message == ["n": 1])
                #expect(dropper.opened == 2)
                // The host recognises it by its key.
                #expect(dropper.messages == [["n": 1]])
                await connection.close()
            }
        }
    }

    @Test func `a repeated request that never got a response has an unknown outcome`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            var slow = ReconnectionPolicy()
            slow.firstDelay = .seconds(30)
            let dropper = Dropper(drops: 2)
            try await loopbackSystem.withHost([AppService("test.echo", provider: dropper)]) { host in
                let connection = try Self.connection(loopbackSystem, port: try await host.port, policy: slow)
                try await Self.exchange(connection, ["n": 1])
                let response = try await connection.send(["n": 2], timeout: .milliseconds(500), retry: .idempotent)
                #expect(response.status == .unknown)
                #expect(response.error?.outcome == .unknown)
                // The host may receive it after its deadline.
                try await until { dropper.messages.count == 2 }
                #expect(dropper.messages == [["n": 1], ["n": 2]])
                await connection.close()
            }
        }
    }

    // MARK: Waiting requests

    @Test func `a request without a connection by its deadline was not sent`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let connection = try Self.connection(loopbackSystem, port: 1)
            let response = try await connection.send([:], timeout: .milliseconds(50))
            #expect(response.status == .remoteSystemUnavailable)
            #expect(response.error?.outcome == .notExecuted)
            #expect(response.error?.code == .deadlineExceeded)
            await connection.close()
        }
    }

    @Test func `a request that is cancelled while it waits is removed`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            var policy = Self.quick
            policy.waitingRequests = 1
            let connection = try Self.connection(loopbackSystem, port: 1, policy: policy)
            // Runs until it waits, before this continues.
            let waiting = Task.immediate { try await connection.send([:]) }
            let more = try await connection.send([:], timeout: .milliseconds(1))
            #expect(more.status == .resourceLimitsExceeded)
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            let next = try await connection.send([:], timeout: .milliseconds(1))
            #expect(next.status == .remoteSystemUnavailable)
            await connection.close()
        }
    }

    @Test func `closing ends waiting requests and the sequence of states`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let connection = try Self.connection(loopbackSystem, port: 1)
            let states = connection.states
            async let response = connection.send([:])
            try await until { if case .waiting = connection.state { true } else { false } }
            await connection.close()
            let waited = try await response
            #expect(waited.status == .connectionClosed)
            var last = "none"
            for await state in states { last = state.name }
            #expect(last == "closed")
            let late = try await connection.send([:])
            #expect(late.status == .connectionClosed)
            await connection.close()
        }
    }

    @Test func `a connection that was never started is closed once, however often it is closed`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let request = RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: 1,
                configuration: loopbackSystem.configuration("test.caller")
            )
            let connection = LongLivedConnection(to: Self.description, request)
            let states = StateRecorder()
            connection.onStateChanged { states.record($0) }
            await connection.close()
            await connection.close()
            await connection.cancel()
            #expect(states.names == ["closed"])
        }
    }

    @Test func `the limit of attempts ends in giving up, with the reason`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            var policy = Self.quick
            policy.attempts = 2
            let connection = try Self.connection(loopbackSystem, port: 1, policy: policy)
            let response = try await connection.send([:])
            #expect(response.status == .remoteSystemUnavailable)
            #expect(response.error?.code == .unreachable)
            #expect(response.error?.message.hasPrefix("Gave up after 2 attempts.") == true)
            try await until { if case .gaveUp = connection.state { true } else { false } }
        }
    }

    @Test func `a system that refuses us is not tried again`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await LoopbackSystem.with { strangers in
                try await loopbackSystem.withHost([Self.echo]) { host in
                    let connection = try Self.connection(strangers, port: try await host.port)
                    let states = StateRecorder()
                    connection.onStateChanged { states.record($0) }
                    let response = try await connection.send([:])
                    #expect(response.status == .remoteSystemUnavailable)
                    #expect(response.error?.message.hasPrefix("Gave up after 1 attempt.") == true)
                }
            }
        }
    }

    @Test func `a released connection ends`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let dropper = Dropper()
            try await loopbackSystem.withHost([AppService("test.echo", provider: dropper)]) { host in
                var connection: LongLivedConnection? = try Self.connection(loopbackSystem, port: try await host.port)
                _ = try await connection?.send([:])
                connection = nil
                try await until { dropper.closed == 1 }
                #expect(dropper.opened == 1)
            }
        }
    }

    @Test func `misuse is refused: a second start, and a request before the first`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let request = RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: 1,
                configuration: loopbackSystem.configuration("test.caller")
            )
            let connection = LongLivedConnection(to: Self.description, request)
            let early = await #expect(throws: RemoteSystemError.self) { try await connection.send([:]) }
            #expect(early?.code == .misuse)
            try connection.start()
            let second = #expect(throws: RemoteSystemError.self) { try connection.start() }
            #expect(second?.code == .misuse)
            await connection.close()
        }
    }
}

/// Echoes messages, and drops connections when the test asks for it.
private final class Dropper: AppServiceProvider {
    private struct State {
        var connection: AppServiceConnection?
        var opened = 0
        var closed = 0
        var messages: [ValueSet] = []
    }

    private let state = Mutex(State())
    /// The number of the request that makes it drop its connection, counted from 1.
    private let drops: Int?

    init(drops: Int? = nil) {
        self.drops = drops
    }

    var opened: Int { self.state.withLock { $0.opened } }
    var closed: Int { self.state.withLock { $0.closed } }
    var messages: [ValueSet] { self.state.withLock { $0.messages } }

    func drop() async {
        await self.state.withLock { $0.connection }?.cancel()
    }

    func respond(to request: AppServiceRequest) async throws -> ValueSet {
        let isDropped = self.state.withLock { state in
            state.messages.append(request.message)
            return state.messages.count == self.drops
        }
        if isDropped { await request.connection.cancel() }
        return request.message
    }

    func connectionOpened(_ connection: AppServiceConnection, by caller: AppServiceCaller) {
        self.state.withLock { state in
            state.connection = connection
            state.opened += 1
        }
    }

    func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus) {
        self.state.withLock { $0.closed += 1 }
    }
}

/// Records every state that a connection reports.
private final class StateRecorder: Sendable {
    private let recorded = Mutex<[String]>([])

    var names: [String] { self.recorded.withLock { $0 } }

    func record(_ state: LongLivedConnection.State) {
        self.recorded.withLock { $0.append(state.name) }
    }

    /// The names of the states up to the first wait.
    func waited() async throws -> [String] {
        try await until { self.names.contains("waiting") }
        return self.names
    }
}

extension LongLivedConnection.State {
    fileprivate var name: String {
        switch self {
        case .idle: "idle"
        case .connecting: "connecting"
        case .connected: "connected"
        case .waiting: "waiting"
        case .gaveUp: "gaveUp"
        case .closed: "closed"
        }
    }
}
