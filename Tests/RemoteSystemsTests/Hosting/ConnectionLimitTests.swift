// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import RemoteSystemsTransport
import Synchronization
import Testing

@testable import RemoteSystems

/// The maximum number of concurrent connections of a host.
@Suite(.timeLimit(.minutes(1))) struct ConnectionLimitTests {
    @Test func `a full host refuses connections, logs it once, and accepts them again when it has capacity`()
        async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            let log = Log()
            var configuration = loopbackSystem.configuration("test.host")
            configuration.limits.connections = 2
            configuration.logger = Logger(label: "test") { _ in log }
            let host = RemoteSystemHost(configuration, services: [Loopback.echo])
            let running = Task { try await host.run() }
            let (first, one) = try await Loopback.connect(loopbackSystem, host)
            let (second, two) = try await Loopback.connect(loopbackSystem, host)
            #expect(one == .success && two == .success)
            // A host counts a connection just after it has accepted it.
            try await until { host.openConnections == 2 }
            for _ in 0..<3 {
                let (third, three) = try await Loopback.connect(loopbackSystem, host)
                #expect(three == .remoteSystemUnavailable)
                #expect(third.openError?.canRetry == true)
                #expect(third.openError?.side == .remote)
            }
            #expect(log.lines.withLock { $0 }.count { $0.contains("maximum number of connections is reached") } == 1)
            #expect(try await second.send(["n": 1]).status == .success)
            await first.close()
            // The host notices the close a moment later.
            var again = AppServiceConnectionStatus.unknown
            for _ in 0..<100 where again != .success { again = try await Loopback.connect(loopbackSystem, host).1 }
            #expect(again == .success)
            running.cancel()
            _ = await running.result
        }
    }

    @Test func `a connection accepted just before the last one ended does not outlive the host`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([Loopback.echo]) { host in
                let (caller, status) = try await Loopback.connect(loopbackSystem, host)
                #expect(status == .success)
                try await until { host.openConnections == 1 }
                let connection = try #require(host.core.connections.all.first as? Connection)
                let shut = HostConnections(ConnectionQuota(limit: 2), logger: Logger(label: "test"))
                #expect(shut.allOrShut().isEmpty)
                let accepted = EstablishedConnection(
                    acceptance: Acceptance(
                        application: "test.host",
                        limits: ConnectionLimits().peerLimits
                    ),
                    limits: ConnectionLimits(),
                    handler: { _, _ in Response(status: .failure) },
                    opened: { _ in Issue.record("It was opened.") }
                )
                accepted.entering({ shut.enter($0, isOwn: true) }, leaving: shut.leave).opened(connection)
                try await until { host.openConnections == 0 }
                #expect(shut.all.isEmpty)
                #expect(try await caller.waitUntilClosed() == .cancelled)
            }
        }
    }

    @Test func `one system of the account can block neither other systems nor the host's own programs`() async throws {
        try await TwoMachines.with { machines in
            for other in ["second", "third"] { try await machines.join(other) }
            let log = Log()
            var configuration = machines.configuration("first", application: "test.host")
            configuration.limits.connectionsPerSystem = 2
            configuration.logger = Logger(label: "test") { _ in log }
            let host = RemoteSystemHost(configuration, services: [Loopback.echo])
            let running = Task { try await host.run() }
            let port = try await host.port
            func connect(_ machine: String) async throws -> (AppServiceConnection, AppServiceConnectionStatus) {
                let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
                let from = machines.configuration(machine, application: "test.caller")
                let request = RemoteSystemConnectionRequest(host: "127.0.0.1", port: port, configuration: from)
                return (connection, try await connection.open(request))
            }
            var open: [AppServiceConnection] = []
            for machine in ["second", "second", "third", "first", "first", "first"] {
                let (connection, status) = try await connect(machine)
                #expect(status == .success)
                open.append(connection)
            }
            try await until { host.openConnections == 6 }
            for _ in 0..<2 {
                let (refused, status) = try await connect("second")
                #expect(status == .remoteSystemUnavailable)
                #expect(refused.openError?.message.contains("has 2 connections here") == true)
                #expect(refused.openError?.canRetry == true)
                #expect(refused.openError?.side == .remote)
            }
            #expect(log.lines.withLock { $0 }.count { $0.contains("maximum number of connections per system") } == 1)
            for connection in open { #expect(try await connection.send(["n": 1]).status == .success) }
            await open[0].close()
            // The host notices the close a moment later.
            var again = AppServiceConnectionStatus.unknown
            for _ in 0..<100 where again != .success { again = try await connect("second").1 }
            #expect(again == .success)
            running.cancel()
            _ = await running.result
        }
    }

    @Test(
        arguments: [
            (1_024, 600...800), (4_096, 3_000...3_600), (12_000, 10_000...11_800), (1_048_576, 16_384...16_384),
            (20, 1...20),
        ]
    )
    func `the limit reserves file descriptors for other uses, and allows ten thousand connections`(
        files: Int,
        bound: ClosedRange<Int>
    ) {
        #expect(bound.contains(FileDescriptorBudget.connections(wanted: 16_384, files: files)))
    }

    private final class Log: LogHandler, Sendable {
        let lines = Mutex<[String]>([])
        var metadata: Logger.Metadata {
            get { [:] }
            set {}
        }
        var logLevel: Logger.Level {
            get { .notice }
            set {}
        }

        subscript(metadataKey _: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }

        func log(event: LogEvent) {
            self.lines.withLock { $0.append("\(event.message)") }
        }
    }
}
