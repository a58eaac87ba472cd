// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// A caller's connection to one service, on the host's side.
final class ServingConnection: Sendable {
    /// A class, because it is looked up for each request.
    private final class Opened: Sendable {
        let connection: AppServiceConnection
        let caller: AppServiceCaller

        init(connection: AppServiceConnection, caller: AppServiceCaller) {
            self.connection = connection
            self.caller = caller
        }
    }

    private let requestTimeout: TimeAmount
    private let streamTickets: StreamTickets
    private let service: AppService
    private let rules: MessageRules
    private let responses: IdempotencyCache
    private let handling: RequestHandling
    private let clientInterceptors: ClientInterceptorChain?
    private let metrics: ServiceMetrics?
    private let own: SystemID
    private let opened = Mutex<Opened?>(nil)

    init(
        service: AppService,
        rules: MessageRules,
        responses: IdempotencyCache,
        interceptors: AppServiceInterceptors,
        metrics: ServiceMetrics?,
        own: SystemID,
        incidents: IncidentLog,
        requestTimeout: TimeAmount,
        streamTickets: StreamTickets
    ) {
        self.streamTickets = streamTickets
        self.responses = responses
        self.handling = RequestHandling(
            interceptors.server + service.interceptors,
            AppServiceServerContext(service: service.name),
            incidents: incidents
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
            interceptors: self.clientInterceptors,
            streams: .offering(self.streamTickets)
        )
        self.opened.withLock { $0 = Opened(connection: served, caller: caller) }
        self.metrics?.connectionOpened()
        self.service.provider?.connectionOpened(served, by: caller)
        connection.onClose { [service = self.service, metrics = self.metrics] status in
            let status = AppServiceClosedStatus(status)
            served.ended(status)
            metrics?.connectionClosed()
            service.provider?.connectionClosed(served, status: status)
        }
    }

    /// Returns the response to a request whose handler does not suspend; `nil` for any other request.
    func respondAtOnce(to request: IncomingRequest, on connection: Connection) -> Response? {
        guard request.key == nil, self.service.execution == .onEventLoop, !self.handling.hasInterceptors,
            case .immediate(let handler) = self.service.handler, let opened = self.opened.withLock({ $0 })
        else { return nil }
        let started = NIODeadline.now()
        let request = AppServiceRequest(request, over: connection, caller: opened.caller, connection: opened.connection)
        let response = TraceContext.handling(request) {
            Response.from(
                request,
                checking: self.rules.request,
                responses: self.rules.response,
                onUnknownError: { self.handling.logUnknown($0, of: request.caller) },
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

    /// Interceptors run outside the idempotency cache: they see each repeated request.
    @inline(__always)
    private func executeIntercepted(_ request: AppServiceRequest) async -> Response {
        if request.idempotencyKey == nil, self.service.execution == .onEventLoop, !self.handling.hasInterceptors {
            return await Response.from(
                request,
                checking: self.rules.request,
                responses: self.rules.response,
                onUnknownError: { self.handling.logUnknown($0, of: request.caller) },
                self.service.response
            )
        }
        return await self.executeSurrounded(request)
    }

    private func executeSurrounded(_ request: AppServiceRequest) async -> Response {
        let (response, outcome) = await self.handling.response(
            to: request,
            responses: self.rules.response,
            self.executeOnce
        )
        // Checks the final response, not the handler's: an interceptor may have changed `canRetry`.
        if response.failure?.canRetry == true, let execution = outcome?.execution, let key = request.idempotencyKey {
            self.responses.forgetFailure(of: request, key: key, of: self.service.name, execution: execution)
        }
        return response
    }

    private func measure(_ response: Response, since started: NIODeadline) {
        self.metrics?.handled(status: response.status, nanoseconds: (NIODeadline.now() - started).nanoseconds)
    }

    private func executeOnce(_ request: AppServiceRequest) async -> HandlerOutcome {
        // Anonymous callers get no idempotency cache: their work ends with their connection.
        guard let key = request.idempotencyKey, request.caller.standing.kind.isAccountProved else {
            return await self.executeAsDue(request)
        }
        return await self.responses.outcome(of: request, key: key, of: self.service.name) {
            await self.executeAsDue(request)
        }
    }

    /// Runs the handler on the executor that the service's execution option selects.
    private func executeAsDue(_ request: AppServiceRequest) async -> HandlerOutcome {
        guard self.service.execution == .onThreadPool else { return await self.execute(request) }
        // Runs in a new task: this one began on the event loop's thread without a switch (`Task.immediate`). The
        // runtime takes that thread for one of the pool's from then on, so a '@concurrent' function would stay on it,
        // too.
        async let outcome = self.execute(request)
        return await outcome
    }

    private func execute(_ request: AppServiceRequest) async -> HandlerOutcome {
        await HandlerOutcome.of(
            request,
            checking: self.rules.request,
            responses: self.rules.response,
            self.service.response
        )
    }
}
