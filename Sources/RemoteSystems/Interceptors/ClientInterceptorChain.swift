// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The interceptors of one connection's requests, the outermost first.
final class ClientInterceptorChain: Sendable {
    private let interceptors: [any AppServiceClientInterceptor]

    /// `nil` if there are none, so that a request finds that out with one look.
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
