// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// Surrounds the sending of requests: adds metadata, refuses, retries, logs, measures.
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
/// Interceptors are set for everything that a program sends (``RemoteSystemsConfiguration/interceptors``) and for single
/// connections (``RemoteSystemConnectionRequest/interceptors``). Those of the configuration are outside those of the connection; in
/// both, the first is the outermost: it sees the request first and the response last.
///
/// They run in the task that sends, and are cancelled with it. Each attempt of a ``LongLivedConnection`` is intercepted by itself.
/// The requests that a host sends to its callers are intercepted too; ``AppServiceClientContext/isPush`` tells them apart. The SDK's
/// own requests are not: launching, presence, diagnosis.
public protocol AppServiceClientInterceptor: Sendable {
    /// Surrounds one request.
    ///
    /// - Parameters:
    ///   - request: the request as the interceptors before this one passed it on.
    ///   - context: the service and the connection.
    ///   - next: passes a request on: to the next interceptor, and from the last one to the other system. An interceptor that does not
    ///     call it sends nothing; one that calls it again sends another request.
    /// - Returns: the response that the sender gets.
    /// - Throws: any error; the sender gets it as it is. Before `next` is called nothing has been sent.
    func intercept(
        _ request: AppServiceClientRequest,
        context: AppServiceClientContext,
        next: AppServiceClientNext
    ) async throws -> AppServiceResponse
}

/// A request that is about to be sent.
public struct AppServiceClientRequest: Sendable {
    /// What is sent. It is checked against the service's schema behind the last interceptor.
    public var message: ValueSet
    /// What is sent beside the message. It is checked behind the last interceptor.
    public var metadata: RequestMetadata
    /// How long to wait for the response; `nil` for the configuration's request timeout. It counts from the last
    /// interceptor, behind which it is checked. Valid range: 0–24 h.
    public var timeout: Duration?
    /// See ``AppServiceConnection/send(_:timeout:idempotencyKey:metadata:)``.
    public var idempotencyKey: IdempotencyKey?

    /// Creates a request, for tests of an interceptor by itself.
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

/// The rest of the way of a request that is sent: further interceptors, then the other system.
public struct AppServiceClientNext: Sendable {
    private let send: @Sendable (AppServiceClientRequest) async throws -> AppServiceResponse

    /// Creates one that calls a closure, for tests of an interceptor by itself.
    public init(_ send: @escaping @Sendable (AppServiceClientRequest) async throws -> AppServiceResponse) {
        self.send = send
    }

    /// Passes the request on, and returns the response.
    ///
    /// - Throws: what a further interceptor or ``AppServiceConnection/send(_:timeout:idempotencyKey:metadata:)`` throws.
    public func callAsFunction(_ request: AppServiceClientRequest) async throws -> AppServiceResponse {
        try await self.send(request)
    }
}

/// Where a request is sent.
public struct AppServiceClientContext: Sendable {
    /// The name of the connection's service.
    public let service: String
    /// Facts of the connection; its ``RemoteSystemConnectionInfo/peer`` is the verified system at the other end.
    public let connection: RemoteSystemConnectionInfo
    /// Whether it is the service that sends the request to its caller.
    public let isPush: Bool

    package init(service: String, connection: RemoteSystemConnectionInfo, isPush: Bool) {
        self.service = service
        self.connection = connection
        self.isPush = isPush
    }
}
