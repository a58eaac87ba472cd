// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import RemoteSystems
import ServiceLifecycle
import Synchronization
import Testing

/// How connections and hosts end, over loopback with TLS.
@Suite struct ConnectionClosingTests {
    /// Responds with the request, and reports how its connection has ended.
    private struct Provider: AppServiceProvider {
        let onClose: @Sendable (AppServiceClosedStatus) -> Void
        func respond(to request: AppServiceRequest) async throws -> ValueSet { request.message }
        func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus) {
            self.onClose(status)
        }
    }

    @Test func `closing is reported on both sides as completed, and nothing is sent afterwards`() async throws {
        let closed = Mutex<AppServiceClosedStatus?>(nil)
        let service = AppService("test.echo", provider: Provider { status in closed.withLock { $0 = status } })
        try await Loopback.talk(service) { connection in
            _ = try await connection.send([:])
            await connection.close()
            #expect(try await connection.waitUntilClosed() == .completed)
            let late = try await connection.send([:])
            #expect(late.status == .connectionClosed)
            #expect(late.error?.outcome == .notExecuted)
            try await until { closed.withLock { $0 } == .completed }
        }
    }

    @Test func `a released connection is closed, and the service is notified (R-44)`() async throws {
        let closed = Mutex<AppServiceClosedStatus?>(nil)
        let service = AppService("test.echo", provider: Provider { status in closed.withLock { $0 = status } })
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([service]) { host in
                func talk() async throws -> () -> AppServiceConnection? {
                    let (connection, status) = try await Loopback.connect(loopbackSystem, host)
                    #expect(status == .success)
                    _ = try await connection.send([:])
                    return { [weak connection] in connection }
                }
                let connection = try await talk()
                try await until { connection() == nil }
                try await until { closed.withLock { $0 } != nil }
                #expect(closed.withLock { $0 } == .cancelled)
            }
        }
    }

    @Test func `a cancelled listener is not notified, others are (R-43)`() async throws {
        let reported = Mutex<[String]>([])
        try await Loopback.talk(Loopback.echo) { connection in
            let first = connection.onClosed { _ in reported.withLock { $0.append("first") } }
            connection.onClosed { _ in reported.withLock { $0.append("second") } }
            first.cancel()
            await connection.close()
            _ = try await connection.waitUntilClosed()
            connection.onClosed { _ in reported.withLock { $0.append("late") } }
            #expect(reported.withLock { $0 } == ["second", "late"])
        }
    }

    @Test func `waiting for a connection's end can be cancelled without closing the connection`() async throws {
        try await Loopback.talk(Loopback.echo) { connection in
            let waiting = Task { try await connection.waitUntilClosed() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { _ = try await waiting.value }
            let response = try await connection.send([:])
            #expect(response.status == .success)
        }
    }

    @Test func `cancelling a connection is complete when the call returns`() async throws {
        let reported = Mutex<AppServiceClosedStatus?>(nil)
        try await Loopback.talk(Loopback.echo) { connection in
            connection.onClosed { status in reported.withLock { $0 = status } }
            await connection.cancel()
            #expect(reported.withLock { $0 } == .cancelled)
            #expect(connection.info == nil)
        }
    }

    @Test func `a handler that cancels its own connection is cancelled like the others`() async throws {
        let outcome = Mutex<String?>(nil)
        let service = AppService("test.leaving") { request in
            await request.connection.cancel()
            do {
                // Longer than the test waits, so that only cancellation ends it in time.
                try await Task.sleep(for: .seconds(60))
                outcome.withLock { $0 = "went on" }
            } catch {
                outcome.withLock { $0 = "cancelled" }
            }
            return [:]
        }
        try await Loopback.talk(service) { connection in
            _ = try await connection.send([:])
            try await until { outcome.withLock { $0 } != nil }
            #expect(outcome.withLock { $0 } == "cancelled")
        }
    }

    // MARK: The end of a host

    /// Runs a host whose only service does not respond by itself, with a request in progress.
    private static func whileHandling(
        for duration: Duration,
        _ body: (ServiceGroup, Task<Void, any Error>, AppServiceConnection, Task<AppServiceResponse, any Error>)
            async throws -> Void
    ) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let started = Mutex(false)
            let slow = AppService("test.echo") { request in
                started.withLock { $0 = true }
                // Real time, since it stands for a handler's work.
                try await Task.sleep(for: duration)
                return request.message
            }
            var configuration = loopbackSystem.configuration("test.host")
            configuration.transport.drainTimeout = .seconds(60)
            let host = RemoteSystemHost(configuration, services: [slow])
            let group = ServiceGroup(
                services: [host],
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let running = Task { try await group.run() }
            let (connection, _) = try await Loopback.connect(loopbackSystem, host)
            let sending = Task { try await connection.send(["n": 1]) }
            try await until { started.withLock { $0 } }
            try await body(group, running, connection, sending)
        }
    }

    @Test func `a graceful shutdown lets requests in progress finish`() async throws {
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
    func `a host whose task is cancelled ends at once, even during a shutdown`(isShuttingDown: Bool) async throws {
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

    @Test func `a cancelled connection ends with status 3 for its requests in progress`() async throws {
        let started = Mutex(false)
        let slow = AppService("test.slow") { _ in
            started.withLock { $0 = true }
            // Longer than the test waits, so that only cancellation ends it in time.
            try await Task.sleep(for: .seconds(60))
            return [:]
        }
        try await Loopback.talk(slow) { connection in
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
