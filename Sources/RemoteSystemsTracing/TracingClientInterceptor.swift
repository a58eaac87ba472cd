// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems
internal import Tracing
public import ValueSets

/// Makes a span of every request that is sent, with the tracer that the program has installed (`InstrumentationSystem.bootstrap`).
///
/// ```swift
/// configuration.interceptors.client.append(TracingClientInterceptor())
/// ```
///
/// The span's parent is the current one, and the other system's spans become its children. Span names and attributes follow
/// OpenTelemetry's semantic conventions for RPC. The message and its metadata are not recorded.
///
/// | attribute | value |
/// | --- | --- |
/// | `rpc.system.name` | `remote_systems` |
/// | `rpc.method` | the span's name: the service, and the operation if there is one |
/// | `server.address`, `network.peer.address` | the address at the other end |
/// | `remote_systems.peer.system_id` | the other system's id |
/// | `rpc.response.status_code` | the response's status, such as `success` |
/// | `error.type` | if it failed: the status, or the type of the error that was thrown |
public struct TracingClientInterceptor: AppServiceClientInterceptor {
    private let operation: @Sendable (ValueSet) -> String?

    /// An interceptor.
    ///
    /// - Parameter operation: which of the service's operations a message asks for, such as `{ $0["Type"]?.string }`. Span names are
    ///   `service/operation` then, so there should be few of them. By default a span is named after the service.
    public init(operation: @escaping @Sendable (_ message: ValueSet) -> String? = { _ in nil }) {
        self.operation = operation
    }

    /// Sends the request in a span.
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
