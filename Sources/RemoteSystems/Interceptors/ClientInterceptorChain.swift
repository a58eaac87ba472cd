// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The interceptors of one connection's requests, outermost first.
final class ClientInterceptorChain: Sendable {
    private let interceptors: [any AppServiceClientInterceptor]

    /// Returns `nil` for an empty list, so that requests without interceptors cost one check.
    init?(_ interceptors: [any AppServiceClientInterceptor]) {
        guard !interceptors.isEmpty else { return nil }
        self.interceptors = interceptors
    }

    func send(
        _ request: AppServiceClientRequest,
        _ context: AppServiceClientContext,
        last: @escaping @Sendable (AppServiceClientRequest) async throws -> AppServiceResponse
    ) async throws -> AppServiceResponse {
        var next = AppServiceClientNext(last)
        for interceptor in self.interceptors.reversed() {
            next = AppServiceClientNext { [next] request in
                try await interceptor.intercept(request, context: context, next: next)
            }
        }
        return try await next(request)
    }
}
