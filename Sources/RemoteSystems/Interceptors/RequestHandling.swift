// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// Runs the interceptors around one connection's handlers, and logs the errors that the caller does not learn.
final class RequestHandling: Sendable {
    typealias Handler = @Sendable (AppServiceRequest) async -> HandlerOutcome

    private let service: String
    private let interceptors: ServerInterceptorChain?
    private let incidents: IncidentLog

    init(
        _ interceptors: [any AppServiceServerInterceptor],
        _ context: AppServiceServerContext,
        incidents: IncidentLog
    ) {
        self.service = context.service
        self.interceptors = ServerInterceptorChain(interceptors, context)
        self.incidents = incidents
    }

    var hasInterceptors: Bool { self.interceptors != nil }

    /// Responds to a request. The outcome is `nil` if an interceptor did not pass the request to the handler.
    ///
    /// - Parameter rule: the rule for the response, which interceptors may have changed.
    func response(
        to request: AppServiceRequest,
        responses rule: MessageRule,
        _ handler: @escaping Handler
    ) async -> (response: Response, outcome: HandlerOutcome?) {
        guard let interceptors else {
            let outcome = await handler(request)
            if let error = outcome.error, outcome.isUnexplained, !outcome.isRepeated {
                self.logUnknown(error, of: request.caller)
            }
            return (outcome.response, outcome)
        }
        let outcome = Mutex<HandlerOutcome?>(nil)
        do {
            let response = try await interceptors.respond(to: request) { request in
                // An interceptor may have ignored that the request was cancelled or the host was stopped.
                try Task.checkCancellation()
                let new = await handler(request)
                outcome.withLock { $0 = new }
                return try new.get()
            }
            return (Response(response.message, rule), outcome.withLock { $0 })
        } catch {
            let response = Response(error) { self.logUnknown($0, of: request.caller) }
            return (response, outcome.withLock { $0 })
        }
    }

    /// Logs an error whose description the caller does not receive. A caller may cause many errors, so their number is
    /// limited.
    func logUnknown(_ error: any Error, of caller: AppServiceCaller) {
        self.incidents.report(
            .handlerFailed,
            by: caller.incidentHolder,
            ["service": "\(self.service)", "error": "\(LoggedError(error))", "system": "\(caller.systemID)"]
        )
    }
}
