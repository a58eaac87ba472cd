// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Logging
package import NIOCore
internal import NIOSSL
package import RemoteSystemsIdentity

/// Opens connections and streams to other systems.
package struct Connector: Sendable {
    package var security: TransportSecurity
    package var limits: ConnectionLimits
    /// The timeout for connecting, TLS and the host's response together, for endpoints without a timeout of their own.
    package var timeout: TimeAmount
    /// The maximum timeout of any endpoint; `nil` for no maximum. Defaults to `nil`.
    package var timeoutLimit: TimeAmount?
    /// The additional time that the host may take to respond after it was authenticated, because it may have to start
    /// an application. Defaults to 0.
    package var responseTimeout = TimeAmount.zero
    package var logger: Logger
    /// Limits what is logged about peers. Defaults to a log of this connector's own.
    package var incidents: IncidentLog
    /// The standings that the host may have. Defaults to this system's own account. A caller that accepts other
    /// standings checks the standing of the system that it reached.
    package var accepted: Set<Standing.Kind> = [.sameAccount]
    /// Called with each connection and stream at the moment when it opens.
    package var opened: @Sendable (any AuthenticatedConnection) -> Void = { _ in }
    package var network: TransportNetwork

    /// The delay after which the next address is tried, unless the previous one fails earlier (RFC 8305, section 8).
    static let stagger = Duration.milliseconds(250)

    package init(
        security: TransportSecurity,
        limits: ConnectionLimits,
        timeout: TimeAmount,
        logger: Logger,
        network: TransportNetwork = .sockets
    ) {
        self.security = security
        self.limits = limits
        self.timeout = timeout
        self.logger = logger
        self.incidents = IncidentLog(logger)
        self.network = network
    }

    /// Connects to the endpoint that responds first. Endpoints of transports that the network does not have are
    /// skipped.
    ///
    /// - Parameters:
    ///   - system: the expected system; `nil` for any system with an accepted standing.
    ///   - eventLoop: the connection's event loop, one of the transport's; `nil` for any.
    /// - Throws: ``TransportError``. If every endpoint fails, the most specific failure.
    package func connect(
        to endpoints: [Endpoint],
        expecting system: SystemID?,
        hello: Hello,
        on eventLoop: (any EventLoop)? = nil,
        handler: @escaping RequestHandler.Handle
    ) async throws -> Connection {
        let opening = Opening<Connection>(system: system, hello: hello, eventLoop: eventLoop) { opened in
            .messages(
                EstablishedConnection(
                    acceptance: Acceptance(application: hello.application, limits: hello.limits),
                    limits: self.limits,
                    handler: handler,
                    opened: { [security = self.security, listener = self.opened] connection in
                        security.watch(connection)
                        listener(connection)
                        opened.succeed(connection)
                    }
                )
            )
        }
        return try await self.connect(to: endpoints, opening)
    }

    /// Opens the stream that a ticket is for, at the endpoint that responds first.
    ///
    /// - Parameters:
    ///   - system: the system that offered the stream.
    ///   - application: the name of the application that opens the stream; it is not verified.
    ///   - target: the application that offered the stream, if several may be reachable at the endpoints.
    /// - Throws: ``TransportError``; with ``TransportError/Code/refused`` when the ticket is not valid there.
    package func openStream(
        to endpoints: [Endpoint],
        expecting system: SystemID,
        application: String,
        target: String?,
        claim: StreamClaim,
        limits: StreamLimits,
        on eventLoop: (any EventLoop)? = nil
    ) async throws -> ByteStream {
        let hello = Hello(
            service: StreamClaim.service,
            targetApplication: target,
            application: application,
            limits: StreamLimits.peerLimits,
            stream: claim
        )
        let opening = Opening<ByteStream>(system: system, hello: hello, eventLoop: eventLoop) { opened in
            .stream(
                EstablishedStream(
                    acceptance: Acceptance(application: hello.application, limits: hello.limits),
                    limits: limits,
                    opened: { [security = self.security, listener = self.opened] stream in
                        security.watch(stream)
                        listener(stream)
                        opened.succeed(ByteStream(stream))
                    }
                )
            )
        }
        return try await self.connect(to: endpoints, opening)
    }

    /// What is opened at an endpoint.
    private struct Opening<Opened: OpenedConnection>: Sendable {
        var system: SystemID?
        let hello: Hello
        let eventLoop: (any EventLoop)?
        /// Returns how an open connection is used, and completes the promise when it is open.
        let establish: @Sendable (EventLoopPromise<Opened>) -> EstablishedChannel
    }

    private func connect<Opened>(to endpoints: [Endpoint], _ opening: Opening<Opened>) async throws -> Opened {
        let endpoints = try self.network.connectable(endpoints)
        if endpoints.count == 1, let only = endpoints.first { return try await self.reach(only, opening) }
        return try await withThrowingTaskGroup(of: Result<Opened, any Error>?.self) { group in
            var remaining = endpoints[...]
            var running = 0
            var failure: any Error = TransportError(.unreachable, "No address of the system is known.", side: .local)
            func startNext() {
                guard let endpoint = remaining.popFirst() else { return }
                running += 1
                group.addTask {
                    do {
                        return .success(try await self.reach(endpoint, opening))
                    } catch {
                        return .failure(error)
                    }
                }
                if !remaining.isEmpty {
                    group.addTask {
                        try? await self.network.time.sleep(for: Self.stagger)
                        return nil
                    }
                }
            }
            startNext()
            while running > 0, let outcome = try await group.next() {
                switch outcome {
                case .success(let connection):
                    group.cancelAll()
                    // Another attempt may have succeeded at the same moment. Its connection is not needed.
                    for try await case .success(let spare)? in group { spare.discard() }
                    return connection
                case .failure(let error):
                    running -= 1
                    failure = Self.moreTelling(failure, error)
                    startNext()
                case nil:
                    startNext()
                }
            }
            group.cancelAll()
            throw failure
        }
    }

    /// Returns the more specific failure. A refusal by a host is more specific than an unreachable address.
    private static func moreTelling(_ one: any Error, _ other: any Error) -> any Error {
        (one as? TransportError)?.code == .unreachable || one is CancellationError ? other : one
    }

    /// Connects, and follows a redirect to another port of the same system, once. If that system is this one, loopback
    /// is tried, too: the program at the other port may listen on loopback only.
    private func reach<Opened>(_ endpoint: Endpoint, _ opening: Opening<Opened>) async throws -> Opened {
        do {
            return try await self.open(endpoint, opening)
        } catch let error as TransportError {
            guard let port = error.redirect else { throw error }
            func follow(to host: String) async throws -> Opened {
                var (redirected, same) = (endpoint, opening)
                (redirected.host, redirected.port) = (host, port)
                same.system = opening.system ?? error.peer
                return try await self.open(redirected, same)
            }
            do {
                return try await follow(to: endpoint.host)
            } catch let failure as TransportError
                where failure.code == .unreachable && error.peer == self.security.systemID
            {
                guard let loopback = try self.network.transport(for: endpoint).loopbackHost else { throw failure }
                do { return try await follow(to: loopback) } catch { throw failure }
            }
        }
    }

    private func open<Opened>(_ endpoint: Endpoint, _ opening: Opening<Opened>) async throws -> Opened {
        let (connector, system) = try self.adapted(to: endpoint, expecting: opening.system)
        try Task.checkCancellation()
        let transport = try self.network.transport(for: endpoint)
        let eventLoop = opening.eventLoop ?? transport.anyEventLoop()
        let deadline = self.network.time.deadline + connector.timeout
        let opened = eventLoop.makePromise(of: Opened.self)
        let accepted = opening.establish(opened)
        let connecting = transport.connect(to: endpoint, on: eventLoop, timeout: connector.timeout) { channel in
            channel.eventLoop.makeCompletedFuture {
                let handshake = HandshakeHandler(
                    role: .caller(
                        CallerHandshake(hello: opening.hello, expecting: system),
                        accepted,
                        fail: opened.fail
                    ),
                    security: self.security,
                    accepting: connector.accepted,
                    deadline: HandshakeDeadline(deadline, now: self.network.time.deadline),
                    responseTimeout: self.responseTimeout,
                    logger: self.logger,
                    incidents: self.incidents
                )
                try channel.pipeline.syncOperations.addHandlers(
                    handshake.clientHandler(on: channel.eventLoop),
                    handshake
                )
            }
        }
        connecting.whenFailure { opened.fail(TransportError.unreachable(endpoint, $0)) }
        return try await withTaskCancellationHandler {
            try await opened.futureResult.get()
        } onCancel: {
            // In this order: closing the channel fails an unfinished promise with another error.
            opened.fail(CancellationError())
            opened.futureResult.whenComplete { outcome in
                // A connection that is open already may have requests of the host to respond to.
                if case .success(let connection) = outcome { return connection.leave() }
                connecting.whenSuccess { $0.close(promise: nil) }
            }
        }
    }
}
