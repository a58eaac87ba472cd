// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// The interceptors around one service's handler, outermost first.
final class ServerInterceptorChain: Sendable {
    typealias Last = @Sendable (AppServiceRequest) async throws -> AppServiceServerResponse

    private let interceptors: [any AppServiceServerInterceptor]
    private let context: AppServiceServerContext

    /// Returns `nil` for an empty list, so that requests without interceptors cost one check.
    init?(_ interceptors: [any AppServiceServerInterceptor], _ context: AppServiceServerContext) {
        guard !interceptors.isEmpty else { return nil }
        self.interceptors = interceptors
        self.context = context
    }

    /// Runs the interceptors around the last step.
    ///
    /// - Throws: any error of the outermost interceptor.
    func respond(to request: AppServiceRequest, last: @escaping Last) async throws -> AppServiceServerResponse {
        var next = AppServiceServerNext(last)
        for interceptor in self.interceptors.reversed() {
            next = AppServiceServerNext { [context = self.context, next] request in
                try await interceptor.intercept(request, context: context, next: next)
            }
        }
        return try await next(request)
    }
}

extension AppService {
    /// Runs the service's own interceptors around `last`, to test a service in isolation.
    package func intercepting(
        _ request: AppServiceRequest,
        last: @escaping @Sendable (AppServiceRequest) async throws -> ValueSet
    ) async throws -> ValueSet {
        let context = AppServiceServerContext(service: self.name)
        guard let chain = ServerInterceptorChain(self.interceptors, context) else { return try await last(request) }
        return try await chain.respond(to: request) { AppServiceServerResponse(message: try await last($0)) }.message
    }
}
