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
    private let answers: RememberedAnswers
    private let metrics: ServiceMetrics?
    private let own: SystemID
    private let logger: Logger
    private let opened = Mutex<Opened?>(nil)

    init(
        service: AppService,
        answers: RememberedAnswers,
        metrics: ServiceMetrics?,
        own: SystemID,
        logger: Logger,
        requestTimeout: TimeAmount
    ) {
        self.logger = logger
        self.answers = answers
        self.requestTimeout = requestTimeout
        self.service = service
        self.metrics = metrics
        self.own = own
    }

    /// Runs before the first request is handled.
    func opened(_ connection: Connection) {
        let info = RemoteSystemConnectionInfo(connection, own: self.own)
        let caller = info.peer
        let served = AppServiceConnection(
            serving: self.service,
            connection: connection,
            info: info,
            timeout: self.requestTimeout
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
    func respondAtOnce(to request: IncomingRequest, on connection: Connection) -> Reply? {
        guard request.key == nil, self.service.execution == .onEventLoop,
            case .immediate(let handler) = self.service.handler, let opened = self.opened.withLock({ $0 })
        else { return nil }
        let started = NIODeadline.now()
        let reply = Reply.from(
            AppServiceRequest(request, over: connection, caller: opened.caller, connection: opened.connection),
            checking: self.service.schema,
            responseSchema: self.service.responseSchema,
            onUnknownError: self.logUnknown,
            handler
        )
        self.measure(reply, since: started)
        return reply
    }

    func respond(to request: IncomingRequest, on connection: Connection) async -> Reply {
        guard let opened = self.opened.withLock({ $0 }) else { return Reply(status: .failure) }
        let started = NIODeadline.now()
        let request = AppServiceRequest(request, over: connection, caller: opened.caller, connection: opened.connection)
        let reply =
            if request.idempotencyKey == nil, self.service.execution == .onEventLoop {
                await self.carryOut(request)
            } else {
                await self.carryOutOnce(request)
            }
        self.measure(reply, since: started)
        return reply
    }

    private func measure(_ reply: Reply, since started: NIODeadline) {
        self.metrics?.handled(status: reply.status, nanoseconds: (NIODeadline.now() - started).nanoseconds)
    }

    private func carryOutOnce(_ request: AppServiceRequest) async -> Reply {
        // For strangers nothing is kept or goes on: what they can make this process do ends with their connection.
        guard let key = request.idempotencyKey, request.caller.authorizationKind != .anonymous else {
            return await self.carryOutElsewhere(request)
        }
        return await self.answers.reply(to: request, key: key, of: self.service.name) {
            await self.carryOutElsewhere(request)
        }
    }

    /// Where the service wants it.
    private func carryOutElsewhere(_ request: AppServiceRequest) async -> Reply {
        guard self.service.execution == .onThreadPool else { return await self.carryOut(request) }
        // A task of its own: this one began on the event loop's thread without a switch (`Task.immediate`), which the runtime
        // takes for one of the pool's ever after, so that it stays there in a '@concurrent' function too.
        async let reply = self.carryOut(request)
        return await reply
    }

    private func carryOut(_ request: AppServiceRequest) async -> Reply {
        await Reply.from(
            request,
            checking: self.service.schema,
            responseSchema: self.service.responseSchema,
            onUnknownError: self.logUnknown,
            self.service.answer
        )
    }

    /// The caller is told only that there was one; whoever runs the service must be able to find it.
    private func logUnknown(_ error: any Error) {
        self.logger.warning(
            "A handler failed",
            metadata: ["service": "\(self.service.name)", "error": "\(type(of: error))"]
        )
    }
}
