// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems
internal import Tracing
public import ValueSets

/// Creates a span for every sent request, with the program's tracer (`InstrumentationSystem.bootstrap`).
///
/// ```swift
/// configuration.interceptors.client.append(TracingClientInterceptor())
/// ```
///
/// The span's parent is the current span. The spans of the other system become its children. Span names and attributes
/// follow OpenTelemetry's semantic conventions for RPC. The message and its metadata are not recorded.
///
/// | attribute | value |
/// | --- | --- |
/// | `rpc.system.name` | `remote_systems` |
/// | `rpc.method` | the span's name: the service, and the operation if there is one |
/// | `server.address`, `network.peer.address` | the peer's address |
/// | `remote_systems.peer.system_id` | the peer's system id |
/// | `rpc.response.status_code` | the response's status, such as `success` |
/// | `error.type` | on failure: the status, or the type of the thrown error |
public struct TracingClientInterceptor: AppServiceClientInterceptor {
    private let operation: @Sendable (ValueSet) -> String?

    /// Creates an interceptor that traces sent requests.
    ///
    /// - Parameter operation: Returns the operation that a message requests, such as `{ $0["Type"]?.string }`. Called
    ///   in the sending task for each request. Span names are then `service/operation`, so there should be few
    ///   operations. By default, the span's name is the service.
    public init(operation: @escaping @Sendable (_ message: ValueSet) -> String? = { _ in nil }) {
        self.operation = operation
    }

    /// Sends the request in a new span. The other system receives the span's context with the request's metadata.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - context: The service and the connection.
    ///   - next: Sends the request, or passes it to the next interceptor.
    /// - Returns: The response, unchanged.
    /// - Throws: The errors of `next`, unchanged.
    public func intercept(
        _ request: AppServiceClientRequest,
        context: AppServiceClientContext,
        next: AppServiceClientNext
    ) async throws -> AppServiceResponse {
        let name = RPCSpan.name(context.service, self.operation(request.message))
        return try await InstrumentationSystem.tracer.withAnySpan(name, ofKind: .client) { span in
            span.setRPC(name, peer: context.connection.peer, address: context.connection.address)
            span.attributes["server.address"] = context.connection.address
            let response: AppServiceResponse
            do {
                response = try await next(request)
            } catch {
                span.attributes["error.type"] = RPCSpan.type(of: error)
                throw error
            }
            span.attributes["rpc.response.status_code"] = "\(response.status)"
            if response.status != .success {
                span.attributes["error.type"] = "\(response.status)"
                if let error = response.error { span.recordError(error) }
                span.setStatus(SpanStatus(code: .error))
            }
            return response
        }
    }
}
