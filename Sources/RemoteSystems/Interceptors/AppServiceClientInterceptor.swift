// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// Intercepts requests that are sent: adds metadata, refuses, retries, logs or measures.
///
/// ```swift
/// struct Timing: AppServiceClientInterceptor {
///     func intercept(
///         _ request: AppServiceClientRequest,
///         context: AppServiceClientContext,
///         next: AppServiceClientNext
///     ) async throws -> AppServiceResponse {
///         let start = ContinuousClock.now
///         let response = try await next(request)
///         print(context.service, response.status, ContinuousClock.now - start)
///         return response
///     }
/// }
/// ```
///
/// Interceptors are set for all requests of a program (``RemoteSystemsConfiguration/interceptors``) or for one
/// connection (``RemoteSystemConnectionRequest/interceptors``). The interceptors of the configuration run outside the
/// interceptors of the connection. In each list the first is the outermost: it sees the request first and the response
/// last.
///
/// Interceptors run in the sending task and are cancelled with it. Each attempt of a ``LongLivedConnection`` is
/// intercepted separately. Requests that a host sends to its callers are intercepted, too;
/// ``AppServiceClientContext/isPush`` identifies them. The SDK's own requests (launching, the description of systems,
/// diagnosis) are not intercepted.
public protocol AppServiceClientInterceptor: Sendable {
    /// Intercepts one request before it is sent, and its response.
    ///
    /// Runs in the sending task, and is cancelled with it.
    ///
    /// - Parameters:
    ///   - request: the request as the outer interceptors passed it on.
    ///   - context: the service and the connection.
    ///   - next: passes a request to the next interceptor, or from the last one to the other system. An interceptor
    ///     that does not call it sends nothing. Each further call sends another request.
    /// - Returns: the response for the sender.
    /// - Throws: any error; the sender receives it unchanged. Nothing has been sent before `next` is called.
    func intercept(
        _ request: AppServiceClientRequest,
        context: AppServiceClientContext,
        next: AppServiceClientNext
    ) async throws -> AppServiceResponse
}

/// A request before it is sent.
public struct AppServiceClientRequest: Sendable {
    /// The message. It is checked against the service's schema after the last interceptor.
    public var message: ValueSet
    /// The data sent beside the message. The rules of ``RequestMetadata`` are checked after the last interceptor; a
    /// request that breaks them is not sent.
    public var metadata: RequestMetadata
    /// The time to wait for the response, from the end of the last interceptor on. Valid range: 0–24 h, checked after
    /// the last interceptor.
    ///
    /// Defaults to `nil`: ``RemoteSystemsConfiguration/Transport/requestTimeout`` applies.
    public var timeout: Duration?
    /// The key that identifies the operation, so that the request can safely be repeated; `nil` for none.
    ///
    /// ``AppServiceConnection/send(_:timeout:idempotencyKey:metadata:)`` describes the effect of a key.
    public var idempotencyKey: IdempotencyKey?

    /// Creates a request, to test an interceptor in isolation.
    ///
    /// - Parameters:
    ///   - message: the message.
    ///   - metadata: the data sent beside the message. Defaults to none.
    ///   - timeout: the time to wait for the response. Defaults to `nil`:
    ///     ``RemoteSystemsConfiguration/Transport/requestTimeout`` applies. Valid range: 0–24 h.
    ///   - idempotencyKey: the key that identifies the operation. Defaults to `nil`.
    public init(
        message: ValueSet,
        metadata: RequestMetadata = RequestMetadata(),
        timeout: Duration? = nil,
        idempotencyKey: IdempotencyKey? = nil
    ) {
        self.message = message
        self.metadata = metadata
        self.timeout = timeout
        self.idempotencyKey = idempotencyKey
    }
}

/// The remaining steps for a request that is sent: further interceptors, then the other system.
public struct AppServiceClientNext: Sendable {
    private let send: @Sendable (AppServiceClientRequest) async throws -> AppServiceResponse

    /// Creates a value that calls a closure, to test an interceptor in isolation.
    ///
    /// - Parameter send: receives the request that the interceptor passes on, and returns the response.
    public init(_ send: @escaping @Sendable (AppServiceClientRequest) async throws -> AppServiceResponse) {
        self.send = send
    }

    /// Passes the request on and returns the response.
    ///
    /// - Parameter request: the request, possibly changed by the interceptor.
    /// - Returns: the response of the next interceptor or of the other system, with any status.
    /// - Throws: any error of a further interceptor or of
    ///   ``AppServiceConnection/send(_:timeout:idempotencyKey:metadata:)``.
    public func callAsFunction(_ request: AppServiceClientRequest) async throws -> AppServiceResponse {
        try await self.send(request)
    }
}

/// The service and the connection for which a request is sent.
public struct AppServiceClientContext: Sendable {
    /// The name of the service that the connection is for.
    public let service: String
    /// Information about the connection. Its ``RemoteSystemConnectionInfo/peer`` is the verified peer.
    public let connection: RemoteSystemConnectionInfo
    /// Whether the service sends the request to its caller.
    public let isPush: Bool

    package init(service: String, connection: RemoteSystemConnectionInfo, isPush: Bool) {
        self.service = service
        self.connection = connection
        self.isPush = isPush
    }
}
