// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems
internal import Tracing
public import ValueSets

/// Creates a span for every handled request, with the program's tracer (`InstrumentationSystem.bootstrap`).
///
/// ```swift
/// configuration.interceptors.server.insert(TracingServerInterceptor(), at: 0)
/// ```
///
/// The span's parent is the caller's span, if the caller sent one. Spans created and requests sent in the handler
/// become its children. As the first interceptor, it also covers the other interceptors. Span names and attributes
/// follow OpenTelemetry's semantic conventions for RPC. The message and its metadata are not recorded.
///
/// | attribute | value |
/// | --- | --- |
/// | `rpc.system.name` | `remote_systems` |
/// | `rpc.method` | the span's name: the service, and the operation if there is one |
/// | `client.address`, `network.peer.address` | the caller's address |
/// | `remote_systems.peer.system_id` | the caller's system id, which is authenticated |
/// | `rpc.response.status_code` | the response's status, such as `success` |
/// | `error.type` | on failure: the status, or the type of the thrown error |
public struct TracingServerInterceptor: AppServiceServerInterceptor {
    private let operation: @Sendable (ValueSet) -> String?

    /// Creates an interceptor that traces handled requests.
    ///
    /// - Parameter operation: Returns the operation that a message requests, such as `{ $0["Type"]?.string }`. Called
    ///   in the handler's task for each request. Span names are then `service/operation`. Callers choose their
    ///   messages, so return one of a few known names only. By default, the span's name is the service.
    public init(operation: @escaping @Sendable (_ message: ValueSet) -> String? = { _ in nil }) {
        self.operation = operation
    }

    /// Handles the request in a new span, whose parent is the caller's span if the caller sent one.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - context: The service.
    ///   - next: Calls the handler, or passes the request to the next interceptor.
    /// - Returns: The response, unchanged.
    /// - Throws: The errors of `next`, unchanged.
    public func intercept(
        _ request: AppServiceRequest,
        context: AppServiceServerContext,
        next: AppServiceServerNext
    ) async throws -> AppServiceServerResponse {
        let name = RPCSpan.name(context.service, self.operation(request.message))
        return try await InstrumentationSystem.tracer.withAnySpan(name, ofKind: .server) { span in
            let address = request.connection.info?.address
            span.setRPC(name, peer: request.caller, address: address)
            if let address { span.attributes["client.address"] = address }
            do {
                let response = try await next(request)
                span.attributes["rpc.response.status_code"] = "\(AppServiceResponseStatus.success)"
                return response
            } catch {
                let refused = error as? AppServiceFailure
                let status = refused?.status ?? .failure
                span.attributes["rpc.response.status_code"] = "\(status)"
                span.attributes["error.type"] = refused == nil ? RPCSpan.type(of: error) : "\(status)"
                throw error
            }
        }
    }
}
