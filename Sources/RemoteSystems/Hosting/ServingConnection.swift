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
    private struct Opened: Sendable {
        var connection: AppServiceConnection
        var caller: AppServiceCaller
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
    func opened(_ connection: isolated Connection) {
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
        self.service.provider.connectionOpened(served, by: caller)
        connection.onClose { [service = self.service, metrics = self.metrics] status in
            let status = AppServiceClosedStatus(rawValue: Int(clamping: status.rawValue))
            served.ended(status)
            metrics?.connectionClosed()
            service.provider.connectionClosed(served, status: status)
        }
    }

    func respond(to request: IncomingRequest, on connection: Connection) async -> Reply {
        guard let opened = self.opened.withLock({ $0 }) else { return Reply(status: .failure) }
        let started = NIODeadline.now()
        let request = AppServiceRequest(request, over: connection, caller: opened.caller, connection: opened.connection)
        let reply: Reply
        // For strangers nothing is kept or goes on: what they can make this process do ends with their connection.
        if let key = request.idempotencyKey, opened.caller.authorizationKind != .anonymous {
            reply = await self.answers.reply(to: request, key: key, of: self.service.name) {
                await self.carryOut(request)
            }
        } else {
            reply = await self.carryOut(request)
        }
        self.metrics?.handled(status: reply.status, nanoseconds: (NIODeadline.now() - started).nanoseconds)
        return reply
    }

    private func carryOut(_ request: AppServiceRequest) async -> Reply {
        switch self.service.execution {
        case .onEventLoop: await self.respond(to: request)
        case .onThreadPool: await self.respondOnThreadPool(to: request)
        }
    }

    private func respond(to request: AppServiceRequest) async -> Reply {
        await Reply.from(request, checking: self.service.schema, responseSchema: self.service.responseSchema) {
            do {
                return try await self.service.provider.respond(to: $0)
            } catch let error where !(error is AppServiceFailure || error is CancellationError) {
                // The caller is told only that there was one; whoever runs the service must be able to find it.
                self.logger.warning(
                    "A handler failed",
                    metadata: ["service": "\(self.service.name)", "error": "\(type(of: error))"]
                )
                throw error
            }
        }
    }

    private func respondOnThreadPool(to request: AppServiceRequest) async -> Reply {
        // A task of its own: this one began on the event loop's thread without a switch (`Task.immediate`), which the runtime
        // takes for one of the pool's ever after, so that it stays there in a '@concurrent' function too.
        async let reply = self.respond(to: request)
        return await reply
    }
}
