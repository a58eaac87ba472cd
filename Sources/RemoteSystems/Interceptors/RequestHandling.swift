// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystemsTransport
internal import Synchronization

/// What surrounds the handlers of one connection: interceptors, and a log of what the caller is not told.
final class RequestHandling: Sendable {
    typealias Handler = @Sendable (AppServiceRequest) async -> HandlerOutcome

    private let service: String
    private let interceptors: ServerInterceptorChain?
    private let logger: Logger

    init(
        _ interceptors: [any AppServiceServerInterceptor],
        _ context: AppServiceServerContext,
        logger: Logger
    ) {
        self.service = context.service
        self.interceptors = ServerInterceptorChain(interceptors, context)
        self.logger = logger
    }

    var hasInterceptors: Bool { self.interceptors != nil }

    /// The response to a request, and what the handler made of it; `nil` if an interceptor kept it from the handler.
    ///
    /// - Parameter rule: what the response must satisfy; interceptors may have changed the handler's.
    func response(
        to request: AppServiceRequest,
        responses rule: MessageRule,
        _ handler: @escaping Handler
    ) async -> (response: Response, outcome: HandlerOutcome?) {
        guard let interceptors else {
            let outcome = await handler(request)
            if let error = outcome.error, outcome.isUnexplained, !outcome.isRepeated { self.logUnknown(error) }
            return (outcome.response, outcome)
        }
        let outcome = Mutex<HandlerOutcome?>(nil)
        do {
            let response = try await interceptors.respond(to: request) { request in
                // An interceptor may take no notice of that its request was cancelled, or its host was stopped.
                try Task.checkCancellation()
                let new = await handler(request)
                outcome.withLock { $0 = new }
                return try new.get()
            }
            return (Response(response.message, rule), outcome.withLock { $0 })
        } catch {
            return (Response(error, onUnknownError: self.logUnknown), outcome.withLock { $0 })
        }
    }

    /// The caller learns only that there was one. What it says is for the log of this side.
    func logUnknown(_ error: any Error) {
        self.logger.warning(
            "A handler failed",
            metadata: ["service": "\(self.service)", "error": "\(LoggedError(error))"]
        )
    }
}
