// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import Synchronization

/// The recorded events, in order.
final class Diary: Sendable {
    private let written = Mutex<[String]>([])

    var entries: [String] { self.written.withLock { $0 } }

    func write(_ entry: String) { self.written.withLock { $0.append(entry) } }
}

/// Interceptors whose behaviour a test defines.
struct ClientInterceptor: AppServiceClientInterceptor {
    typealias Next = AppServiceClientNext

    var body: @Sendable (AppServiceClientRequest, AppServiceClientContext, Next) async throws -> AppServiceResponse

    init(
        _ body:
            @escaping @Sendable (AppServiceClientRequest, AppServiceClientContext, Next) async throws ->
            AppServiceResponse
    ) {
        self.body = body
    }

    /// Records each request and its outcome.
    init(_ name: String, _ diary: Diary) {
        self.init { request, context, next in
            diary.write("\(name): \(context.service)\(context.isPush ? " push" : "")")
            do {
                let response = try await next(request)
                diary.write("\(name): \(response.status)")
                return response
            } catch {
                diary.write("\(name): \(type(of: error))")
                throw error
            }
        }
    }

    func intercept(
        _ request: AppServiceClientRequest,
        context: AppServiceClientContext,
        next: Next
    ) async throws -> AppServiceResponse {
        try await self.body(request, context, next)
    }
}

struct ServerInterceptor: AppServiceServerInterceptor {
    typealias Next = AppServiceServerNext

    var body: @Sendable (AppServiceRequest, AppServiceServerContext, Next) async throws -> AppServiceServerResponse

    init(
        _ body:
            @escaping @Sendable (AppServiceRequest, AppServiceServerContext, Next) async throws ->
            AppServiceServerResponse
    ) {
        self.body = body
    }

    /// Records each request and its outcome.
    init(_ name: String, _ diary: Diary) {
        self.init { request, context, next in
            diary.write("\(name): \(context.service)\(context.isPush ? " push" : "")")
            do {
                let response = try await next(request)
                diary.write("\(name): answered")
                return response
            } catch {
                diary.write("\(name): \(type(of: error))")
                throw error
            }
        }
    }

    func intercept(
        _ request: AppServiceRequest,
        context: AppServiceServerContext,
        next: Next
    ) async throws -> AppServiceServerResponse {
        try await self.body(request, context, next)
    }
}

extension AppServiceConnection {
    /// Sends a request and returns the response's message.
    func response(_ message: ValueSet, idempotencyKey: IdempotencyKey? = nil) async throws -> ValueSet {
        try await self.send(message, idempotencyKey: idempotencyKey).get()
    }
}
