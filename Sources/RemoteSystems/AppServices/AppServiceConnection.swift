// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
public import ValueSets

/// A connection to an app service on another system: requests and answers both ways, any number at once.
///
/// Its own TLS connection underneath. An actor that runs on the connection's event loop: code that runs there too, such
/// as the body of ``withAppService(_:on:isolation:_:)``, sends without a thread switch.
public actor AppServiceConnection {
    /// Answers requests that come from the other side.
    public typealias RequestHandler = @Sendable (AppServiceRequest) async throws -> ValueSet

    private enum State {
        case idle
        case opening
        case open(Connection)
        case closed(AppServiceClosedStatus)
    }

    /// The service that it is, or is to be, connected to.
    public nonisolated let service: AppServiceDescription
    /// Why the last attempt to open it did not end in success; `nil` if it did.
    public private(set) var openError: RemoteSystemError?
    /// Facts of the open connection; `nil` unless it is open.
    public private(set) var info: RemoteSystemConnectionInfo?

    private nonisolated let eventLoop: any EventLoop
    /// The event loop on which the connection runs.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe self.eventLoop.executor.asUnownedSerialExecutor()
    }

    private var state = State.idle
    private var requestSchema: AllowedValueSchema
    private var responseSchema: AllowedValueSchema
    private var requestTimeout = TimeAmount.seconds(30)
    private let onRequest: RequestHandler?
    private var closedListeners: [@Sendable (AppServiceClosedStatus) -> Void] = []

    /// A connection that is still to be opened.
    ///
    /// - Parameters:
    ///   - service: the service it will be connected to.
    ///   - onRequest: answers requests that the service sends us; without it they fail.
    public init(to service: AppServiceDescription, onRequest: RequestHandler? = nil) {
        self.service = service
        self.onRequest = onRequest
        self.requestSchema = service.schema
        self.responseSchema = service.schema
        self.eventLoop = LocalSystem.anyEventLoop()
    }

    /// The host's end of a connection that a caller has opened.
    init(serving service: AppService, connection: Connection, caller: AppServiceCaller, isProximal: Bool) {
        self.service = AppServiceDescription(name: service.name, schema: service.responseSchema)
        self.onRequest = nil
        self.requestSchema = service.responseSchema
        self.responseSchema = service.schema
        self.eventLoop = connection.channel.eventLoop
        self.state = .open(connection)
        self.info = RemoteSystemConnectionInfo(connection, caller: caller, isProximal: isProximal)
    }

    // MARK: Opening

    /// Opens the connection.
    ///
    /// - Returns: how it ended. For everything but success ``openError`` explains, and the connection can be opened again.
    /// - Throws: ``RemoteSystemError`` for misuse (R-33: it is open already, or was closed) and when this system's own
    ///   identity cannot be used; `CancellationError`.
    public func open(_ request: RemoteSystemConnectionRequest) async throws -> AppServiceConnectionStatus {
        guard case .idle = self.state else { throw self.misuse }
        self.openError = nil
        let route: RemoteSystemConnectionRequest.Route
        switch request.resolve(self.service) {
        case .route(let known): route = known
        case .none(let status, let error):
            self.openError = error
            return status
        }
        let connector = try request.origin.connector()
        self.state = .opening
        self.requestTimeout = TimeAmount(request.origin.configuration.requestTimeout)
        do {
            let connection = try await connector.connect(
                to: route.endpoints,
                expecting: route.systemID,
                hello: request.origin.hello(
                    service: self.service.name,
                    package: self.service.packageID,
                    limits: connector.limits
                ),
                on: self.eventLoop,
                handler: self.handler(own: connector.security.identity.systemID)
            )
            return try await self.opened(connection, own: connector.security.identity.systemID)
        } catch is CancellationError {
            self.state = .idle
            throw CancellationError()
        } catch {
            self.state = .idle
            self.openError = RemoteSystemError(error)
            return AppServiceConnectionStatus(error)
        }
    }

    private func opened(_ connection: Connection, own: SystemID) async throws -> AppServiceConnectionStatus {
        if let published = connection.remote.schema {
            do {
                self.requestSchema = try AllowedValueSchema(published)
            } catch {
                await connection.abort()
                throw TransportError(.protocolViolation, "The service's schema cannot be read: \(error)", side: .remote)
            }
        }
        self.state = .open(connection)
        self.info = RemoteSystemConnectionInfo(
            connection,
            caller: AppServiceCaller(connection, own: own),
            isProximal: connection.channel.isProximal
        )
        await connection.onClose { status in
            self.assumeIsolated { $0.ended(AppServiceClosedStatus(rawValue: Int(clamping: status.rawValue))) }
        }
        return .success
    }

    private var misuse: RemoteSystemError {
        let text =
            switch self.state {
            case .closed: "The connection was closed and cannot be opened again. Make a new one."
            default: "The connection is open, or being opened, already."
            }
        return RemoteSystemError(.misuse, text, side: .local)
    }

    private nonisolated func handler(own: SystemID) -> RemoteSystemsTransport.RequestHandler {
        { request, connection in
            guard let onRequest = self.onRequest else {
                return Reply(status: .failure, failure: WireFailure("This side takes no requests on this connection."))
            }
            return await Reply.from(
                AppServiceRequest(
                    request,
                    caller: AppServiceCaller(connection, own: own),
                    connection: self
                ),
                checking: self.service.schema,
                responseSchema: self.service.schema,
                onRequest
            )
        }
    }

    // MARK: Requests

    /// Sends a request and waits for its answer.
    ///
    /// Requests reach the service in the order in which they are sent; answers may come in any order. Any number may be
    /// under way: beyond what the other side takes at once they wait their turn.
    ///
    /// - Parameters:
    ///   - message: what to send. It must satisfy the service's schema.
    ///   - timeout: how long to wait; the configuration's request timeout unless given. The service is told to stop then.
    /// - Returns: the status and the answer. A connection that is lost, or a deadline that passes, ends in
    ///   ``AppServiceResponseStatus/unknown``: whether the request was carried out cannot be known.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/invalidMessage`` when the message does not satisfy the
    ///   schema, ``RemoteSystemError/Code/misuse`` when the connection was never opened; `CancellationError`. Nothing
    ///   has been sent then, or the service has been told to stop.
    public func send(_ message: ValueSet, timeout: Duration? = nil) async throws -> AppServiceResponse {
        let connection: Connection
        switch self.state {
        case .open(let open): connection = open
        case .closed: return .closed
        case .idle, .opening:
            throw RemoteSystemError(.misuse, "The connection is not open yet.", side: .local)
        }
        do {
            try self.requestSchema.validate(message)
        } catch {
            throw RemoteSystemError(error)
        }
        do {
            let reply = try await connection.send(
                message,
                timeout: timeout.map { TimeAmount($0) } ?? self.requestTimeout
            )
            return self.response(reply)
        } catch let error as TransportError {
            return try self.response(error)
        }
    }

    private func response(_ reply: Reply) -> AppServiceResponse {
        guard reply.status == .success else {
            return AppServiceResponse(
                status: AppServiceResponseStatus(rawValue: Int(clamping: reply.status.rawValue)),
                message: reply.message,
                error: RemoteSystemError(
                    reply.status == .messageTooLarge ? .messageTooLarge : .serviceFailed,
                    reply.failure?.text ?? "The service could not carry out the request.",
                    side: .remote,
                    canRetry: reply.failure?.canRetry ?? false,
                    outcome: .failed
                )
            )
        }
        do {
            try self.responseSchema.validate(reply.message)
            return AppServiceResponse(status: .success, message: reply.message)
        } catch {
            return AppServiceResponse(
                status: .failure,
                error: RemoteSystemError(
                    .protocolViolation,
                    "The answer is not allowed here: \(error) If the service answers more than the schema of its "
                        + "description allows, describe it with another one.",
                    side: .remote,
                    outcome: .unknown,
                    cause: error
                )
            )
        }
    }

    private func response(_ error: TransportError) throws -> AppServiceResponse {
        let failure = RemoteSystemError(error)
        switch error.code {
        case .connectionClosed: return AppServiceResponse(status: .connectionClosed, error: failure)
        case .messageTooLarge: return AppServiceResponse(status: .messageTooLarge, error: failure)
        case .deadlineExceeded where !error.wasSent:
            return AppServiceResponse(status: .resourceLimitsExceeded, error: failure)
        case .invalidMessage: throw failure
        default: return AppServiceResponse(status: .unknown, error: failure)
        }
    }

    // MARK: Closing

    /// Closes the connection once everything under way is answered; requests sent afterwards are not sent.
    /// Returns when it is closed. Closing twice does no harm.
    public func close() async {
        switch self.state {
        case .open(let connection): await connection.close()
        case .idle: self.ended(.completed)
        case .opening, .closed: break
        }
    }

    /// Gives the connection up at once. What is under way ends with ``AppServiceResponseStatus/unknown``.
    public func cancel() async {
        if case .open(let connection) = self.state { await connection.abort() }
    }

    /// Calls back once when the connection has ended; at once if it has.
    public func onClosed(_ listener: @escaping @Sendable (AppServiceClosedStatus) -> Void) {
        if case .closed(let status) = self.state {
            listener(status)
        } else {
            self.closedListeners.append(listener)
        }
    }

    /// Waits until the connection has ended, and says how.
    public func waitUntilClosed() async -> AppServiceClosedStatus {
        await withCheckedContinuation { continuation in
            self.onClosed { continuation.resume(returning: $0) }
        }
    }

    func ended(_ status: AppServiceClosedStatus) {
        self.state = .closed(status)
        self.info = nil
        let listeners = self.closedListeners
        self.closedListeners = []
        for listener in listeners { listener(status) }
    }
}

extension AppServiceResponse {
    fileprivate static let closed = AppServiceResponse(
        status: .connectionClosed,
        error: RemoteSystemError(
            .connectionClosed,
            "The connection is closed; nothing was sent. Open a new one.",
            side: .local,
            canRetry: true
        )
    )
}

extension AppServiceConnectionStatus {
    /// Rome's number for why a connection could not be opened.
    fileprivate init(_ error: any Error) {
        guard let error = error as? TransportError else {
            self = .unknown
            return
        }
        switch error.code {
        case .refused: self.init(rawValue: error.openStatus.map { Int(clamping: $0.rawValue) } ?? 4)
        case .unreachable: self = .remoteSystemUnavailable
        case .peerNotTrusted: self = .notAuthorized
        default: self = .unknown
        }
    }
}
