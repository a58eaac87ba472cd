// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// The interceptors around one service's handler, the outermost first.
final class ServerInterceptorChain: Sendable {
    /// Carries out a request. An error that it cannot explain to the caller it leaves in the ``HandlerError``.
    typealias Handler = @Sendable (AppServiceRequest, HandlerError) async -> Response

    private let interceptors: [any AppServiceServerInterceptor]
    private let context: AppServiceServerContext

    /// `nil` if there are none, so that a request finds that out with one look.
    init?(_ interceptors: [any AppServiceServerInterceptor], _ context: AppServiceServerContext) {
        guard !interceptors.isEmpty else { return nil }
        self.interceptors = interceptors
        self.context = context
    }

    /// What the interceptors make of a request.
    ///
    /// - Parameters:
    ///   - rule: what their response must satisfy; they may have changed the handler's.
    ///   - onUnknownError: receives an error that nothing explains to the caller.
    func response(
        to request: AppServiceRequest,
        responses rule: MessageRule,
        onUnknownError: (any Error) -> Void,
        _ handler: @escaping Handler
    ) async -> Response {
        do {
            let response = try await self.respond(to: request) { request in
                // Interceptors see the handler's own error; what leaves them decides what the caller is told.
                let error = HandlerError()
                return try await handler(request, error).get(error)
            }
            return Response(response, rule)
        } catch {
            return Response(error, onUnknownError: onUnknownError)
        }
    }

    func respond(
        to request: AppServiceRequest,
        last: @escaping @Sendable (AppServiceRequest) async throws -> ValueSet
    ) async throws -> ValueSet {
        var next = AppServiceServerNext(last)
        for interceptor in self.interceptors.reversed() {
            next = AppServiceServerNext { [context = self.context, next] request in
                try await interceptor.intercept(request, context: context, next: next)
            }
        }
        return try await next(request)
    }
}

/// What a handler has thrown, for the interceptors around it. The handler may run in a task of its own.
final class HandlerError: Sendable {
    private let stored = Mutex<(any Error)?>(nil)

    fileprivate var error: (any Error)? { self.stored.withLock { $0 } }

    func set(_ error: any Error) { self.stored.withLock { $0 = error } }
}

extension Response {
    /// The answer; thrown if there is none: the handler's error if it is known, else what the caller would be told.
    fileprivate func get(_ error: HandlerError) throws -> ValueSet {
        guard self.status != .success else { return self.message }
        throw error.error
            ?? AppServiceFailure(
                self.failure?.text ?? "The service could not carry out the request.",
                canRetry: self.failure?.canRetry ?? false,
                status: AppServiceResponseStatus(rawValue: Int(clamping: self.status.rawValue))
            )
    }
}

extension AppService {
    /// Runs the service's own interceptors around `last`. For tests of a service by itself.
    package func intercepting(
        _ request: AppServiceRequest,
        last: @escaping @Sendable (AppServiceRequest) async throws -> ValueSet
    ) async throws -> ValueSet {
        let context = AppServiceServerContext(service: self.name)
        guard let chain = ServerInterceptorChain(self.interceptors, context) else { return try await last(request) }
        return try await chain.respond(to: request, last: last)
    }
}
