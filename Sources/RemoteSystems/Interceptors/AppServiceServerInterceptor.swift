// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// Intercepts requests that are handled: authorises, refuses, adds metadata, logs or measures.
///
/// ```swift
/// struct OnlyOperators: AppServiceServerInterceptor {
///     func intercept(
///         _ request: AppServiceRequest,
///         context: AppServiceServerContext,
///         next: AppServiceServerNext
///     ) async throws -> AppServiceServerResponse {
///         guard request.metadata["role"] == "operator" else {
///             throw AppServiceFailure("Only operators may call this service.")
///         }
///         return try await next(request)
///     }
/// }
/// ```
///
/// Interceptors are set for all requests that a program handles (``RemoteSystemsConfiguration/interceptors``) or for
/// one service (``AppService/interceptors``). The interceptors of the configuration run outside the interceptors of the
/// service. In each list the first is the outermost: it sees the request first and the response last.
///
/// Interceptors run for every request, before the message is checked against the service's schema. This includes
/// requests with an idempotency key whose response is remembered: a refusal applies to them, too, and a repeated
/// failure has the error of the first one. Interceptors start on the connection's event loop, wherever the handler
/// runs. They are cancelled when the caller cancels, stops waiting or disconnects. A request that is cancelled before
/// the last interceptor has passed it on does not reach the handler.
///
/// Requests that a service sends to its caller are intercepted at the caller; ``AppServiceServerContext/isPush``
/// identifies them. If they are read as a sequence (``AppServiceRequests``), the interceptors run once a reader is
/// available. The SDK's built-in services (the description of systems, launching, diagnosis, joining) are not
/// intercepted.
public protocol AppServiceServerInterceptor: Sendable {
    /// Intercepts one request before it is handled, and its response.
    ///
    /// Starts on the connection's event loop, which it must not block. Its task is cancelled when the caller cancels,
    /// stops waiting or disconnects.
    ///
    /// - Parameters:
    ///   - request: the request as the outer interceptors passed it on.
    ///   - context: the service.
    ///   - next: passes a request to the next interceptor, or from the last one to the handler. An interceptor that
    ///     does not call it responds itself, and the handler does not run. Each further call runs the handler again.
    /// - Returns: the response for the caller. It is checked against the service's schema.
    /// - Throws: ``AppServiceFailure`` to send the caller a reason. With any other error the request fails as if the
    ///   handler had thrown the error.
    func intercept(
        _ request: AppServiceRequest,
        context: AppServiceServerContext,
        next: AppServiceServerNext
    ) async throws -> AppServiceServerResponse
}

/// A successful response to a handled request, on its way from the handler through the interceptors to the caller.
public struct AppServiceServerResponse: Sendable, Hashable {
    /// The message for the caller. It is checked against the service's schema after the outermost interceptor.
    public var message: ValueSet

    /// Creates a response.
    ///
    /// - Parameter message: the message for the caller.
    public init(message: ValueSet) {
        self.message = message
    }
}

extension AppServiceServerResponse: ExpressibleByDictionaryLiteral {
    /// Creates a response whose message holds the entries of the literal.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self.init(message: ValueSet(elements))
    }
}

/// The remaining steps for a request that is handled: further interceptors, then the handler.
public struct AppServiceServerNext: Sendable {
    private let handle: @Sendable (AppServiceRequest) async throws -> AppServiceServerResponse

    /// Creates a value that calls a closure, to test an interceptor in isolation.
    ///
    /// - Parameter handle: receives the request that the interceptor passes on, and returns the response.
    public init(_ handle: @escaping @Sendable (AppServiceRequest) async throws -> AppServiceServerResponse) {
        self.handle = handle
    }

    /// Passes the request on and returns the response.
    ///
    /// - Parameter request: the request, possibly changed by the interceptor.
    /// - Returns: the response of the next interceptor or of the handler.
    /// - Throws: any error of a further interceptor or the handler; ``AppServiceFailure`` when the service's schema
    ///   does not allow the message or the response.
    public func callAsFunction(_ request: AppServiceRequest) async throws -> AppServiceServerResponse {
        try await self.handle(request)
    }
}

/// The service that a request is handled for.
public struct AppServiceServerContext: Sendable {
    /// The name of the service that handles the request.
    public let service: String
    /// Whether the service sent the request and this process is its caller.
    public let isPush: Bool

    /// Creates a context, to test an interceptor in isolation.
    ///
    /// - Parameters:
    ///   - service: the name of the service.
    ///   - isPush: whether the service sent the request and this process is its caller. Defaults to `false`.
    public init(service: String, isPush: Bool = false) {
        self.service = service
        self.isPush = isPush
    }
}
