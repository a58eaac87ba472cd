// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization
public import ValueSets

/// A connection to an app service on another system, with concurrent requests in both directions.
///
/// Each connection has its own TLS connection. It can be used from any task. It is aborted when it is no longer
/// referenced. Code inside ``RemoteSystemApplication/withAppService(_:requestSchema:responseSchema:onRequest:_:)``
/// sends without an executor hop.
public final class AppServiceConnection: Sendable {
    /// A closure that responds to requests of the peer: it receives a request, and returns the response's message.
    ///
    /// The message must satisfy the schema of such responses that the service publishes, and
    /// ``AppServiceDescription/pushResponseSchema``.
    ///
    /// The closure runs on the connection's event loop, which it must not block. Its task is cancelled when the peer
    /// cancels the request or stops waiting, or when the connection ends. If the closure throws an
    /// ``AppServiceFailure``, the peer receives the failure's reason. If it throws another error, the peer learns only
    /// that the handler failed.
    public typealias RequestHandler = @Sendable (AppServiceRequest) async throws -> ValueSet

    /// The phases of a connection's life. A failed attempt to open it leads back to `idle`.
    enum State {
        case idle
        case opening
        case open(Open)
        case closed(AppServiceClosedStatus)
    }

    /// The values that sending needs. A class: a structure would be retained field by field for each message.
    final class Open: Sendable {
        let connection: Connection
        /// The rule for this side's requests, and the rule for the responses to them.
        let requestRule: MessageRule
        let responseRule: MessageRule
        /// The rules for all messages. The caller's end checks the service's requests against them.
        let rules: MessageRules
        let requestTimeout: TimeAmount
        let info: RemoteSystemConnectionInfo
        let interceptors: ClientInterceptorChain?
        let streams: StreamAccess

        init(
            connection: Connection,
            rules: MessageRules,
            isServing: Bool,
            requestTimeout: TimeAmount,
            info: RemoteSystemConnectionInfo,
            interceptors: ClientInterceptorChain?,
            streams: StreamAccess
        ) {
            self.streams = streams
            self.connection = connection
            self.requestRule = isServing ? rules.pushRequest : rules.request
            self.responseRule = isServing ? rules.pushResponse : rules.response
            self.rules = rules
            self.requestTimeout = requestTimeout
            self.info = info
            self.interceptors = interceptors
        }
    }

    /// The state that the connection's lock protects.
    struct Guarded {
        var state = State.idle
        var openError: RemoteSystemError?
        var closedListeners = ListenerTable<@Sendable (AppServiceClosedStatus) -> Void>()
    }

    /// The service that this connection connects to.
    public let service: AppServiceDescription
    /// The handling of the requests that the service sends.
    let reception: RequestReception
    /// Whether the reception ends with this connection. The reception of a long-lived connection does not.
    private let ownsReception: Bool
    /// Whether this is the host's end of the connection.
    let isServing: Bool
    let guarded: Mutex<Guarded>
    /// A promise that completes when the connection is open. The service's requests may arrive together with the host's
    /// accept frame, and wait for this.
    private let isOpen = Promise<Void>()
    private let closedStatus = Promise<AppServiceClosedStatus>()

    /// The reason why the last attempt to open the connection failed; `nil` if it succeeded, if ``open(_:)`` threw an
    /// error instead, or before the first attempt.
    public var openError: RemoteSystemError? { self.guarded.withLock { $0.openError } }

    /// Information about the open connection; `nil` unless it is open.
    public var info: RemoteSystemConnectionInfo? {
        self.guarded.withLock { if case .open(let open) = $0.state { open.info } else { nil } }
    }

    /// Creates a connection, which ``open(_:)`` then opens.
    ///
    /// - Parameters:
    ///   - service: the service to connect to.
    ///   - onRequest: responds to requests that the service sends. Runs on the connection's event loop. Without it,
    ///     such requests fail, unless ``requests`` are read. ``requestHandler(_:)`` creates a handler for your own
    ///     types. Defaults to `nil`.
    public init(to service: AppServiceDescription, onRequest: RequestHandler? = nil) {
        self.service = service
        self.reception = RequestReception(onRequest: onRequest)
        self.ownsReception = true
        self.isServing = false
        self.guarded = Mutex(Guarded())
    }

    /// Creates one of the connections of a long-lived connection, which owns the reception.
    init(to service: AppServiceDescription, reception: RequestReception) {
        self.service = service
        self.reception = reception
        self.ownsReception = false
        self.isServing = false
        self.guarded = Mutex(Guarded())
    }

    /// Creates the host's end of a connection that a caller has opened.
    init(
        serving service: AppService,
        rules: MessageRules,
        connection: Connection,
        info: RemoteSystemConnectionInfo,
        timeout: TimeAmount,
        interceptors: ClientInterceptorChain?,
        streams: StreamAccess
    ) {
        self.service = AppServiceDescription(name: service.name)
        self.reception = .ofService
        self.ownsReception = false
        self.isServing = true
        let open = Open(
            connection: connection,
            rules: rules,
            isServing: true,
            requestTimeout: timeout,
            info: info,
            interceptors: interceptors,
            streams: streams
        )
        self.guarded = Mutex(Guarded(state: .open(open)))
    }

    /// Aborts a connection that is no longer referenced.
    deinit {
        guard case .open(let open) = self.guarded.withLock({ $0.state }) else { return }
        open.connection.abort()
    }

    /// An executor that runs tasks on the connection's event loop; `nil` unless the connection is open.
    ///
    /// A task that prefers this executor sends without an executor hop, as the body of
    /// ``RemoteSystemApplication/withAppService(_:requestSchema:responseSchema:onRequest:_:)`` does:
    ///
    /// ```swift
    /// Task(executorPreference: connection.executor) { try await connection.send(message) }
    /// ```
    ///
    /// Other connections share the event loop. A task that blocks it, or computes for long, delays them.
    public var executor: (any TaskExecutor)? {
        self.guarded.withLock { guarded in
            guard case .open(let open) = guarded.state else { return nil }
            return open.connection.taskExecutor
        }
    }

    /// The access to streams beside the connection, and the connection's information; `nil` unless it is open.
    var streams: (StreamAccess, RemoteSystemConnectionInfo)? {
        self.guarded.withLock { if case .open(let open) = $0.state { (open.streams, open.info) } else { nil } }
    }

    /// The connection's state, for the requests that arrive over it.
    var receptionState: ReceptionState {
        self.guarded.withLock { guarded in
            switch guarded.state {
            case .idle, .opening: .opening
            case .open(let open): .open(open.rules)
            case .closed: .closed
            }
        }
    }

    // MARK: Opening

    /// Connects to the service, authenticates its system, and opens the connection.
    ///
    /// Takes at most ``RemoteSystemsConfiguration/Transport/connectTimeout`` for each address, plus
    /// ``RemoteSystemsConfiguration/Transport/startTimeout`` when the other system must first start the application. If
    /// the task is cancelled, the attempt is abandoned and the connection can be opened again.
    ///
    /// - Parameter request: the system, application or address to connect to.
    /// - Returns: the result. For any status but success, ``openError`` explains the status, and the connection can be
    ///   opened again.
    /// - Throws: ``RemoteSystemError``:
    ///   - ``RemoteSystemError/Code/misuse`` when the connection is being opened, is open or was closed, or when the
    ///     address is outside ``RemoteSystemsConfiguration/network``,
    ///   - ``RemoteSystemError/Code/invalidArgument`` when the service's name, the host, the port or the configuration
    ///     is not valid,
    ///   - ``RemoteSystemError/Code/identity`` when this system's own identity cannot be used,
    ///   - ``RemoteSystemError/Code/connectionClosed`` when the connection is closed while it is being opened,
    ///   - ``RemoteSystemError/Code/localResources`` when the process cannot open enough files.
    ///
    ///   Also `CancellationError`.
    public func open(_ request: RemoteSystemConnectionRequest) async throws -> AppServiceConnectionStatus {
        try await self.open(request, startTimeout: request.origin.configuration.transport.startTimeout)
    }

    /// Opens the connection, with another start timeout than the configured one.
    ///
    /// - Parameter startTimeout: replaces ``RemoteSystemsConfiguration/Transport/startTimeout``.
    func open(
        _ request: RemoteSystemConnectionRequest,
        startTimeout: Duration
    ) async throws -> AppServiceConnectionStatus {
        try self.service.validate()
        try request.validate()
        try self.guarded.withLock { guarded throws(RemoteSystemError) in
            guard case .idle = guarded.state else { throw Self.misuse(guarded.state) }
            guarded.state = .opening
            guarded.openError = nil
        }
        do {
            try await self.connect(request, startTimeout: startTimeout)
            return .success
        } catch {
            self.guarded.withLock { guarded in
                if case .opening = guarded.state { guarded.state = .idle }
            }
            switch error {
            case is CancellationError:
                throw error
            case let unresolved as RemoteSystemConnectionRequest.Unresolved:
                self.guarded.withLock { $0.openError = unresolved.error }
                return unresolved.status
            case let error as RemoteSystemError where error.side == .local:
                throw error
            case let error as TransportError where error.code == .outOfReach:
                throw RemoteSystemError(error)
            default:
                if let notice = (error as? TransportError)?.withdrawal {
                    request.origin.account.learnWithdrawal(notice)
                }
                self.guarded.withLock { $0.openError = RemoteSystemError(error) }
                return AppServiceConnectionStatus(error)
            }
        }
    }

    private func connect(_ request: RemoteSystemConnectionRequest, startTimeout: Duration) async throws {
        let request = try await request.located()
        let route = try request.resolve(self.service)
        var connector = try await request.origin.connector()
        connector.accepted = route.accepted
        if route.mayHaveToStart { connector.responseTimeout = TimeAmount(startTimeout) }
        let own = connector.security.systemID
        let connection = try await connector.connect(
            to: route.endpoints,
            expecting: route.systemID,
            hello: request.origin.hello(
                service: self.service.name,
                targetApplication: route.applicationID,
                limits: connector.limits
            ),
            handler: self.handler(own: own, request.serverInterceptors, request.origin.incidents)
        )
        let published = AppServiceSchemas(connection.remote.schemas)
        let open = Open(
            connection: connection,
            // The host's system description holds the schemas that were too long for the handshake.
            rules: MessageRules(published: published.completed(by: route.schemas), declared: self.service.schemas),
            isServing: false,
            requestTimeout: TimeAmount(request.origin.configuration.transport.requestTimeout),
            info: RemoteSystemConnectionInfo(connection, own: own),
            interceptors: request.clientInterceptors,
            streams: .opening(StreamOpening(connection, request.origin))
        )
        let isStillWanted = self.guarded.withLock { guarded in
            guard case .opening = guarded.state else { return false }
            guarded.state = .open(open)
            return true
        }
        guard isStillWanted else {
            await connection.abortAndWait()
            throw RemoteSystemError(
                .connectionClosed,
                "The connection was closed while it was being opened.",
                side: .local
            )
        }
        self.isOpen.succeed(())
        self.reception.opened()
        connection.onClose { [weak self] in self?.ended(AppServiceClosedStatus($0)) }
    }

    private static func misuse(_ state: State) -> RemoteSystemError {
        let text =
            switch state {
            case .closed: "The connection was closed and cannot be opened again. Create a new one."
            default: "The connection is already open or being opened."
            }
        return RemoteSystemError(.misuse, text, side: .local)
    }

    private func handler(
        own: SystemID,
        _ interceptors: [any AppServiceServerInterceptor],
        _ incidents: IncidentLog
    ) -> RemoteSystemsTransport.RequestHandler.Handle {
        let context = AppServiceServerContext(service: self.service.name, isPush: true)
        let handling = RequestHandling(interceptors, context, incidents: incidents)
        return { [weak self, reception = self.reception] request, wire in
            // Weak while the request waits, so that an unreferenced connection is aborted; strong while it is handled.
            let caller = AppServiceCaller(wire, own: own)
            return await reception.respond(
                to: PushedRequest(request: request, wire: wire, caller: caller, connection: self),
                handling
            )
        }
    }

    /// Waits until the connection is open.
    ///
    /// - Returns: the rules of its messages; `nil` if the connection is closed.
    func rulesWhenOpen() async -> MessageRules? {
        try? await self.isOpen.value
        guard case .open(let rules) = self.receptionState else { return nil }
        return rules
    }

    // MARK: Closing

    /// Closes the connection after all requests in progress are finished, and returns when it is closed.
    ///
    /// Requests still in progress after ``RemoteSystemsConfiguration/Transport/drainTimeout`` are aborted. Requests
    /// sent after the call end with ``AppServiceResponseStatus/connectionClosed``. The ``requests`` sequence ends.
    /// Closing a closed connection has no effect.
    public func close() async {
        if self.ownsReception { self.reception.finish() }
        switch self.guarded.withLock({ $0.state }) {
        case .open(let open): await open.connection.close()
        case .idle, .opening: self.ended(.completed)
        case .closed: break
        }
    }

    /// Aborts the connection immediately, and returns when it is closed.
    ///
    /// Requests in progress end with ``AppServiceResponseStatus/unknown``. The ``requests`` sequence ends. Cancelling a
    /// closed connection has no effect.
    public func cancel() async {
        if self.ownsReception { self.reception.finish() }
        switch self.guarded.withLock({ $0.state }) {
        case .open(let open): await open.connection.abortAndWait()
        case .idle, .opening: self.ended(.cancelled)
        case .closed: break
        }
    }

    /// Registers a callback that runs once when the connection has ended.
    ///
    /// The callback runs on the connection's event loop, which it must not block. There are two exceptions. If the
    /// connection has ended already, the callback runs before this method returns, on the calling thread. If the
    /// connection is closed without ever having been open, the callback runs on the thread that closes it.
    ///
    /// - Parameter listener: receives the reason why the connection ended.
    /// - Returns: a registration that removes the callback. It may be discarded.
    @discardableResult
    public func onClosed(_ listener: @escaping @Sendable (AppServiceClosedStatus) -> Void) -> ListenerRegistration {
        let (id, status) = self.guarded.withLock { guarded -> (ListenerID, AppServiceClosedStatus?) in
            if case .closed(let status) = guarded.state { return (0, status) }
            return (guarded.closedListeners.add(listener), nil)
        }
        if let status { listener(status) }
        return ListenerRegistration { [weak self] in self?.guarded.withLock { _ = $0.closedListeners.remove(id) } }
    }

    /// Waits until the connection has ended and returns the reason. Returns immediately if it has ended already.
    ///
    /// - Returns: the reason why the connection ended.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse`` when ``open(_:)`` was not called or
    ///   failed: such a connection never ends. `CancellationError` when the waiting task is cancelled; the connection
    ///   stays open.
    public func waitUntilClosed() async throws -> AppServiceClosedStatus {
        if case .idle = self.guarded.withLock({ $0.state }) {
            throw RemoteSystemError(
                .misuse,
                "The connection is not open, so it cannot end. Open it first with 'open(_:)'.",
                side: .local
            )
        }
        return try await self.closedStatus.value
    }

    func ended(_ status: AppServiceClosedStatus) {
        let listeners = self.guarded.withLock { guarded in
            guarded.state = .closed(status)
            return guarded.closedListeners.removeAll()
        }
        if self.ownsReception { self.reception.finish(status == .completed ? nil : .lost(status)) }
        for listener in listeners { listener(status) }
        self.closedStatus.succeed(status)
    }
}

extension AppServiceConnectionStatus {
    /// The Project Rome status for an error that prevented the connection from opening.
    fileprivate init(_ error: any Error) {
        guard let error = error as? TransportError else {
            self = .unknown
            return
        }
        switch error.code {
        case .refused: self = error.openStatus.map { Self($0) } ?? .unknown
        case .unreachable: self = .remoteSystemUnavailable
        case .peerNotTrusted: self = .notAuthorized
        default: self = .unknown
        }
    }
}
