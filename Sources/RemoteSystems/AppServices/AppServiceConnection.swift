// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization
public import ValueSets

/// A connection to an app service on another system: requests and answers both ways, any number at once.
///
/// Its own TLS connection underneath. Use it from any task; code inside
/// ``RemoteSystemApplication/withAppService(_:requestSchema:responseSchema:onRequest:_:)`` sends without a thread switch.
public final class AppServiceConnection: Sendable {
    /// Answers requests that come from the other side.
    public typealias RequestHandler = @Sendable (AppServiceRequest) async throws -> ValueSet

    enum State {
        case idle
        case opening
        case open(Open)
        case closed(AppServiceClosedStatus)
    }

    /// What sending needs to know. Shared: handed from hand to hand for each message, a structure would be retained field by field.
    final class Open: Sendable {
        let connection: Connection
        /// What this side's requests must satisfy, and the responses to them.
        let requestRule: MessageRule
        let responseRule: MessageRule
        /// What the service's requests to its caller must satisfy, at the caller's end.
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

    struct Guarded {
        var state = State.idle
        var openError: RemoteSystemError?
        var closedListeners: [(id: Int, listener: @Sendable (AppServiceClosedStatus) -> Void)] = []
        var nextListener = 0
    }

    /// The service that it is, or is to be, connected to.
    public let service: AppServiceDescription
    /// What becomes of the service's requests.
    let reception: RequestReception
    /// Whether they are this connection's alone.
    private let ownsReception: Bool
    /// Whether this is the host's end.
    let isServing: Bool
    let guarded: Mutex<Guarded>
    /// Set when the connection is open, for requests that come along with the host's answer.
    private let isOpen = Promise<Void>()
    private let closedStatus = Promise<AppServiceClosedStatus>()

    /// Why the last attempt to open it did not end in success; `nil` if it did.
    public var openError: RemoteSystemError? { self.guarded.withLock { $0.openError } }

    /// Facts of the open connection; `nil` unless it is open.
    public var info: RemoteSystemConnectionInfo? {
        self.guarded.withLock { if case .open(let open) = $0.state { open.info } else { nil } }
    }

    /// A connection that is still to be opened.
    ///
    /// - Parameters:
    ///   - service: the service it will be connected to.
    ///   - onRequest: responds to requests that the service sends us. Without it they fail, unless ``requests`` are
    ///     read. ``requestHandler(_:)`` makes one for types of your own.
    public init(to service: AppServiceDescription, onRequest: RequestHandler? = nil) {
        self.service = service
        self.reception = RequestReception(onRequest: onRequest)
        self.ownsReception = true
        self.isServing = false
        self.guarded = Mutex(Guarded())
    }

    /// One of the connections of a long-lived one, to which requests belong.
    init(to service: AppServiceDescription, reception: RequestReception) {
        self.service = service
        self.reception = reception
        self.ownsReception = false
        self.isServing = false
        self.guarded = Mutex(Guarded())
    }

    /// The host's end of a connection that a caller has opened.
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

    /// A connection that nobody holds any more is given up.
    deinit {
        guard case .open(let open) = self.guarded.withLock({ $0.state }) else { return }
        open.connection.abort()
    }

    /// Runs tasks on the connection's event loop; `nil` unless it is open.
    var taskExecutor: EventLoopTaskExecutor? {
        self.guarded.withLock { guarded in
            guard case .open(let open) = guarded.state else { return nil }
            return open.connection.taskExecutor
        }
    }

    /// How streams beside the connection come about; `nil` unless it is open.
    var streams: (StreamAccess, RemoteSystemConnectionInfo)? {
        self.guarded.withLock { if case .open(let open) = $0.state { (open.streams, open.info) } else { nil } }
    }

    /// How far it is, for requests that come over it.
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

    /// Opens the connection.
    ///
    /// - Returns: how it ended. For everything but success ``openError`` explains, and the connection can be opened again.
    /// - Throws: ``RemoteSystemError`` for misuse (it is open already, or was closed; the address is beyond
    ///   ``RemoteSystemsConfiguration/network``), for values that are not valid
    ///   (``RemoteSystemError/Code/invalidArgument``: the service's name, the port, the configuration) and when this system's own
    ///   identity cannot be used; `CancellationError`.
    public func open(_ request: RemoteSystemConnectionRequest) async throws -> AppServiceConnectionStatus {
        try await self.open(request, startTimeout: request.origin.configuration.startTimeout)
    }

    /// - Parameter startTimeout: in place of the configuration's.
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
            handler: self.handler(own: own, request.serverInterceptors, request.origin.logger)
        )
        let published = AppServiceSchemas(connection.remote.schemas)
        let open = Open(
            connection: connection,
            // The host's description of itself has what was too long for the handshake.
            rules: MessageRules(published: published.completed(by: route.schemas), declared: self.service.schemas),
            isServing: false,
            requestTimeout: TimeAmount(request.origin.configuration.requestTimeout),
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
            throw RemoteSystemError(.connectionClosed, "It was closed while it was being opened.", side: .local)
        }
        self.isOpen.succeed(())
        self.reception.opened()
        connection.onClose { [weak self] in self?.ended(AppServiceClosedStatus(rawValue: Int(clamping: $0.rawValue))) }
    }

    private static func misuse(_ state: State) -> RemoteSystemError {
        let text =
            switch state {
            case .closed: "The connection was closed and cannot be opened again. Make a new one."
            default: "The connection is open, or being opened, already."
            }
        return RemoteSystemError(.misuse, text, side: .local)
    }

    private func handler(
        own: SystemID,
        _ interceptors: [any AppServiceServerInterceptor],
        _ logger: Logger
    ) -> RemoteSystemsTransport.RequestHandler {
        let context = AppServiceServerContext(service: self.service.name, isPush: true)
        let handling = RequestHandling(interceptors, context, logger: logger)
        return { [weak self, reception = self.reception] request, wire in
            // Held while it is handled, and not while it waits: a connection that nobody else holds is given up.
            let caller = AppServiceCaller(wire, own: own)
            return await reception.respond(
                to: PushedRequest(request: request, wire: wire, caller: caller, connection: self),
                handling
            )
        }
    }

    /// Waits until the connection is open.
    ///
    /// - Returns: the rules of its messages; `nil` if it is closed.
    func rulesWhenOpen() async -> MessageRules? {
        try? await self.isOpen.value
        guard case .open(let rules) = self.receptionState else { return nil }
        return rules
    }

    // MARK: Closing

    /// Closes the connection once everything under way is answered; requests sent afterwards are not sent.
    /// ``requests`` end.
    /// Returns when it is closed. Closing twice does no harm.
    public func close() async {
        if self.ownsReception { self.reception.finish() }
        switch self.guarded.withLock({ $0.state }) {
        case .open(let open): await open.connection.close()
        case .idle, .opening: self.ended(.completed)
        case .closed: break
        }
    }

    /// Gives the connection up at once. What is under way ends with ``AppServiceResponseStatus/unknown``.
    public func cancel() async {
        if self.ownsReception { self.reception.finish() }
        switch self.guarded.withLock({ $0.state }) {
        case .open(let open): await open.connection.abortAndWait()
        case .idle, .opening: self.ended(.cancelled)
        case .closed: break
        }
    }

    /// Calls back once when the connection has ended; at once if it has. It is called on the connection's event loop, which
    /// it must not block, or, when it has ended already or was never open, by whoever registers it or closes it.
    @discardableResult
    public func onClosed(_ listener: @escaping @Sendable (AppServiceClosedStatus) -> Void) -> ListenerRegistration {
        let (id, status) = self.guarded.withLock { guarded -> (Int, AppServiceClosedStatus?) in
            if case .closed(let status) = guarded.state { return (0, status) }
            guarded.nextListener += 1
            guarded.closedListeners.append((guarded.nextListener, listener))
            return (guarded.nextListener, nil)
        }
        if let status { listener(status) }
        return ListenerRegistration { [weak self] in
            self?.guarded.withLock { $0.closedListeners.removeAll { $0.id == id } }
        }
    }

    /// Waits until the connection has ended, and says how. Returns at once if it has ended.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse`` when ``open(_:)`` has not been called, or did not
    ///   succeed: such a connection never ends. `CancellationError` when the waiting task is cancelled; the connection goes on.
    public func waitUntilClosed() async throws -> AppServiceClosedStatus {
        if case .idle = self.guarded.withLock({ $0.state }) {
            throw RemoteSystemError(
                .misuse,
                "The connection is not open, so it cannot end. Open it first, with 'open(_:)'.",
                side: .local
            )
        }
        return try await self.closedStatus.value
    }

    func ended(_ status: AppServiceClosedStatus) {
        let listeners = self.guarded.withLock { guarded in
            guarded.state = .closed(status)
            defer { guarded.closedListeners = [] }
            return guarded.closedListeners
        }
        if self.ownsReception { self.reception.finish(status == .completed ? nil : .lost(status)) }
        for (_, listener) in listeners { listener(status) }
        self.closedStatus.succeed(status)
    }
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
