// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// One caller's connection to one service, from the host's side.
final class ServingConnection: Sendable {
    /// Shared: it is looked up for each request.
    private final class Opened: Sendable {
        let connection: AppServiceConnection
        let caller: AppServiceCaller

        init(connection: AppServiceConnection, caller: AppServiceCaller) {
            self.connection = connection
            self.caller = caller
        }
    }

    private let requestTimeout: TimeAmount
    private let service: AppService
    private let rules: MessageRules
    private let responses: IdempotencyCache
    private let interceptors: ServerInterceptorChain?
    private let clientInterceptors: ClientInterceptorChain?
    private let metrics: ServiceMetrics?
    private let own: SystemID
    private let logger: Logger
    private let opened = Mutex<Opened?>(nil)

    init(
        service: AppService,
        rules: MessageRules,
        responses: IdempotencyCache,
        interceptors: AppServiceInterceptors,
        metrics: ServiceMetrics?,
        own: SystemID,
        logger: Logger,
        requestTimeout: TimeAmount
    ) {
        self.logger = logger
        self.responses = responses
        self.interceptors = ServerInterceptorChain(
            interceptors.server + service.interceptors,
            AppServiceServerContext(service: service.name)
        )
        self.clientInterceptors = ClientInterceptorChain(interceptors.client)
        self.requestTimeout = requestTimeout
        self.service = service
        self.rules = rules
        self.metrics = metrics
        self.own = own
    }

    /// Runs before the first request is handled.
    func opened(_ connection: Connection) {
        let info = RemoteSystemConnectionInfo(connection, own: self.own)
        let caller = info.peer
        let served = AppServiceConnection(
            serving: self.service,
            rules: self.rules,
            connection: connection,
            info: info,
            timeout: self.requestTimeout,
            interceptors: self.clientInterceptors
        )
        self.opened.withLock { $0 = Opened(connection: served, caller: caller) }
        self.metrics?.connectionOpened()
        self.service.provider?.connectionOpened(served, by: caller)
        connection.onClose { [service = self.service, metrics = self.metrics] status in
            let status = AppServiceClosedStatus(rawValue: Int(clamping: status.rawValue))
            served.ended(status)
            metrics?.connectionClosed()
            service.provider?.connectionClosed(served, status: status)
        }
    }

    /// The answer to a request whose handler awaits nothing; `nil` for any other.
    func respondAtOnce(to request: IncomingRequest, on connection: Connection) -> Response? {
        guard request.key == nil, self.service.execution == .onEventLoop, self.interceptors == nil,
            case .immediate(let handler) = self.service.handler, let opened = self.opened.withLock({ $0 })
        else { return nil }
        let started = NIODeadline.now()
        let request = AppServiceRequest(request, over: connection, caller: opened.caller, connection: opened.connection)
        let response = TraceContext.handling(request) {
            Response.from(
                request,
                checking: self.rules.request,
                responses: self.rules.response,
                onUnknownError: self.logUnknown,
                handler
            )
        }
        self.measure(response, since: started)
        return response
    }

    func respond(to request: IncomingRequest, on connection: Connection) async -> Response {
        guard let opened = self.opened.withLock({ $0 }) else { return Response(status: .failure) }
        let started = NIODeadline.now()
        let request = AppServiceRequest(request, over: connection, caller: opened.caller, connection: opened.connection)
        let response = await TraceContext.handling(request) { await self.executeIntercepted(request) }
        self.measure(response, since: started)
        return response
    }

    /// The interceptors are outside of what carries a request out once: they decide about each one.
    @inline(__always)
    private func executeIntercepted(_ request: AppServiceRequest) async -> Response {
        guard let interceptors else { return await self.executeAsDue(request, nil) }
        return await interceptors.response(
            to: request,
            responses: self.rules.response,
            onUnknownError: self.logUnknown,
            self.executeAsDue
        )
    }

    @inline(__always)
    private func executeAsDue(_ request: AppServiceRequest, _ error: HandlerError?) async -> Response {
        if request.idempotencyKey == nil, self.service.execution == .onEventLoop {
            await self.execute(request, error)
        } else {
            await self.executeOnce(request, error)
        }
    }

    private func measure(_ response: Response, since started: NIODeadline) {
        self.metrics?.handled(status: response.status, nanoseconds: (NIODeadline.now() - started).nanoseconds)
    }

    private func executeOnce(_ request: AppServiceRequest, _ error: HandlerError?) async -> Response {
        // For strangers nothing is kept or goes on: what they can make this process do ends with their connection.
        guard let key = request.idempotencyKey, request.caller.authorizationKind != .anonymous else {
            return await self.executeElsewhere(request, error)
        }
        return await self.responses.response(to: request, key: key, of: self.service.name) {
            await self.executeElsewhere(request, error)
        }
    }

    /// Where the service wants it.
    private func executeElsewhere(_ request: AppServiceRequest, _ error: HandlerError?) async -> Response {
        guard self.service.execution == .onThreadPool else { return await self.execute(request, error) }
        // A task of its own: this one began on the event loop's thread without a switch (`Task.immediate`), which the runtime
        // takes for one of the pool's ever after, so that it stays there in a '@concurrent' function too.
        async let response = self.execute(request, error)
        return await response
    }

    /// - Parameter handlerError: takes an error that nothing explains to the caller; `nil` to log it.
    private func execute(_ request: AppServiceRequest, _ handlerError: HandlerError?) async -> Response {
        await Response.from(
            request,
            checking: self.rules.request,
            responses: self.rules.response,
            onUnknownError: { error in
                if let handlerError { handlerError.set(error) } else { self.logUnknown(error) }
            },
            self.service.response
        )
    }

    /// The caller learns only that there was one. What it says is for the log of the host.
    private func logUnknown(_ error: any Error) {
        self.logger.warning(
            "A handler failed",
            metadata: ["service": "\(self.service.name)", "error": "\(LoggedError(error))"]
        )
    }
}
