// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import NIOCore
import NIOSSL
import RemoteSystemsIdentity
import Synchronization
import ValueSets

@testable import RemoteSystemsTransport

/// A temporary account and a host on the loopback interface, with TLS.
struct LoopbackHost: Sendable {
    let account: TestAccount
    /// The host's own security context.
    let security: TransportSecurity
    let listener: Listener
    let limits: ConnectionLimits
    let connections: OpenConnections
    let log: TestLog
    /// The number of received hellos.
    let hellos: Counter
    /// The streams that it offers.
    let tickets: StreamTickets

    /// Runs `body` with a host whose only service, "echo", runs `handler`.
    ///
    /// - Parameters:
    ///   - gate: Every hello waits for this gate before it is decided on.
    ///   - time: The clock of the host's limits.
    static func with(
        limits: ConnectionLimits = .patient,
        identity: SystemIdentity? = nil,
        account: TestAccount? = nil,
        security: TransportSecurity? = nil,
        accepting accepted: Set<Standing.Kind> = [.sameAccount],
        admitting gate: Gate? = nil,
        streams streamLimits: StreamLimits = StreamLimits(),
        memoryBudget: MemoryBudget? = nil,
        summarizingIncidentsEvery period: TimeAmount = .minutes(1),
        time: TimeSource = .system,
        handler: @escaping RequestHandler.Handle = { request, _ in Response(message: request.message) },
        opened: @escaping @Sendable (Connection) -> Void = { _ in },
        _ body: (LoopbackHost) async throws -> Void
    ) async throws {
        let account = try account ?? TestAccount()
        let security = try security ?? TransportSecurity(identity: identity ?? account.system())
        let connections = OpenConnections()
        let log = TestLog()
        let hellos = Counter()
        let tickets = StreamTickets(network: .sockets, memoryBudget: memoryBudget)
        let listener = try await Listener.start(
            host: "127.0.0.1",
            port: 0,
            security: security,
            limits: limits,
            logger: log.logger,
            network: TransportNetwork([SocketTransport()], time: time),
            accepting: accepted,
            incidents: IncidentLog(log.logger, period: period)
        ) { hello, peer in
            hellos.increase()
            await gate?.wait()
            if hello.service == StreamClaim.service {
                return tickets.admission(of: hello, from: peer, application: "test.host", limits: streamLimits)
            }
            guard hello.service == "echo" else {
                return .refuse(Refusal(.appServiceUnavailable, "There is no service \(hello.service) here."))
            }
            var accepted = EstablishedConnection(
                acceptance: Acceptance(application: "test.host", limits: limits.peerLimits),
                limits: limits,
                handler: handler,
                opened: {
                    connections.add($0)
                    opened($0)
                }
            )
            accepted.memoryBudget = memoryBudget
            return .accept(accepted)
        }
        let host = LoopbackHost(
            account: account,
            security: security,
            listener: listener,
            limits: limits,
            connections: connections,
            log: log,
            hellos: hellos,
            tickets: tickets
        )
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(host)) } catch { outcome = .failure(error) }
        await listener.stop()
        for connection in connections.all { connection.abort() }
        try outcome.get()
    }

    func connect(
        service: String = "echo",
        as identity: SystemIdentity? = nil,
        with security: TransportSecurity? = nil,
        limits: ConnectionLimits = .patient,
        through port: Int? = nil,
        expecting system: SystemID? = nil,
        version: ProtocolVersion = .current,
        handler: @escaping RequestHandler.Handle = { _, _ in Response(status: .failure) }
    ) async throws -> Connection {
        let connector = Connector(
            security: try security ?? TransportSecurity(identity: identity ?? self.account.system()),
            limits: limits,
            timeout: .seconds(20),
            logger: Logger(label: "caller") { _ in SwiftLogNoOpLogHandler() }
        )
        return try await connector.connect(
            to: [Endpoint(host: "127.0.0.1", port: port ?? self.listener.port)],
            expecting: system ?? self.security.identity.systemID,
            hello: Hello(
                version: version,
                service: service,
                targetApplication: nil,
                application: "test.caller",
                limits: limits.peerLimits
            ),
            handler: handler
        )
    }

    /// A raw client after the TLS handshake.
    func connectRaw(as identity: SystemIdentity? = nil, from source: String? = nil) async throws -> RawPeer {
        let tls = try TLSConfiguration.raw(as: identity ?? self.account.system())
        return try await RawPeer.connect(port: self.listener.port, tls: tls, from: source)
    }

    /// A raw client on an open connection.
    func openRaw(as identity: SystemIdentity? = nil, from source: String? = nil) async throws -> RawPeer {
        let peer = try await self.connectRaw(as: identity, from: source)
        try peer.send(.hello(.test))
        guard case .accept? = try await peer.nextFrame() else { throw NotInTime(what: "the answer to the hello") }
        return peer
    }
}

/// The host's side of the open connections. Only the test keeps strong references.
final class OpenConnections: Sendable {
    private let connections = Mutex<[Connection]>([])

    func add(_ connection: Connection) { self.connections.withLock { $0.append(connection) } }
    func removeAll() { self.connections.withLock { $0.removeAll() } }
    var all: [Connection] { self.connections.withLock { $0 } }

    /// The only connection, once it exists.
    func first() async throws -> Connection {
        try await eventually("a connection at the host") { self.all.first }
    }
}

/// A counter for any thread.
final class Counter: Sendable {
    private let count = Mutex(0)

    func increase() { self.count.withLock { $0 += 1 } }
    var value: Int { self.count.withLock { $0 } }
}

/// Records what the host logs.
final class TestLog: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { self.lines.withLock { $0 } }

    var logger: Logger {
        Logger(label: "host") { _ in Handler(log: self) }
    }

    private struct Handler: LogHandler {
        let log: TestLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let text = "\(event.level) \(event.message) \(event.metadata ?? [:])"
            self.log.lines.withLock { $0.append(text) }
        }
    }
}

extension Hello {
    static let test = Hello(
        service: "echo",
        targetApplication: nil,
        application: "test.raw",
        limits: ConnectionLimits().peerLimits
    )
}

extension ConnectionLimits {
    /// In debug builds on a busy machine, handshakes may take longer than a second, and closing longer than five.
    static var patient: ConnectionLimits {
        var limits = ConnectionLimits()
        limits.helloTimeout = .seconds(20)
        limits.drainTime = .seconds(20)
        return limits
    }

    static func patient(_ change: (inout ConnectionLimits) -> Void) -> ConnectionLimits {
        var limits = ConnectionLimits.patient
        change(&limits)
        return limits
    }
}
