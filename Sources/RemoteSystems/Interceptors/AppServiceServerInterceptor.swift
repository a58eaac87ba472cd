// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// Surrounds the handling of requests: authorises, refuses, adds metadata, logs, measures.
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
/// Interceptors are set for everything that a program handles (``RemoteSystemsConfiguration/interceptors``) and for single services
/// (``AppService/interceptors``). Those of the configuration are outside those of the service; in both, the first is the outermost:
/// it sees the request first and the response last.
///
/// They run before the message is checked against the service's schema, for every request: also for one with an idempotency
/// key whose response is remembered, so that a refusal holds for it too, and one that fails again has the first one's
/// error. They start on the connection's event loop, wherever the service's handler runs, and are cancelled when the
/// caller cancels, stops waiting, or goes away. A request that was cancelled before it got through them does not reach
/// the handler.
///
/// Requests that a service sends to its caller are intercepted at the caller; ``AppServiceServerContext/isPush`` tells
/// them apart. Where they are read as a sequence (``AppServiceRequests``), that is when a reader is there to take them.
/// The SDK's built-in services (presence, launching, diagnosis, joining) are not intercepted.
public protocol AppServiceServerInterceptor: Sendable {
    /// Surrounds one request.
    ///
    /// - Parameters:
    ///   - request: the request as the interceptors before this one passed it on.
    ///   - context: the service.
    ///   - next: passes a request on: to the next interceptor, and from the last one to the handler. An interceptor that does not call
    ///     it handles the request itself: the handler does not run. One that calls it again runs the handler again.
    /// - Returns: the response to the caller. It is checked against the service's schema.
    /// - Throws: ``AppServiceFailure`` to tell the caller why the request is refused. For every other error the request fails as if
    ///   the handler had thrown it.
    func intercept(
        _ request: AppServiceRequest,
        context: AppServiceServerContext,
        next: AppServiceServerNext
    ) async throws -> AppServiceServerResponse
}

/// A response to a request that is handled: what interceptors get from `next`, and return.
public struct AppServiceServerResponse: Sendable, Hashable {
    /// What the caller gets. It is checked against the service's schema behind the outermost interceptor.
    public var message: ValueSet

    /// Creates a response.
    public init(message: ValueSet) {
        self.message = message
    }
}

extension AppServiceServerResponse: ExpressibleByDictionaryLiteral {
    /// A response with this message.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self.init(message: ValueSet(elements))
    }
}

/// The rest of the way of a request that is handled: further interceptors, then the handler.
public struct AppServiceServerNext: Sendable {
    private let handle: @Sendable (AppServiceRequest) async throws -> AppServiceServerResponse

    /// Creates one that calls a closure, for tests of an interceptor by itself.
    public init(_ handle: @escaping @Sendable (AppServiceRequest) async throws -> AppServiceServerResponse) {
        self.handle = handle
    }

    /// Passes the request on, and returns the response.
    ///
    /// - Throws: what a further interceptor or the handler throws; ``AppServiceFailure`` where the service's schema does not allow
    ///   the message or the response.
    public func callAsFunction(_ request: AppServiceRequest) async throws -> AppServiceServerResponse {
        try await self.handle(request)
    }
}

/// What a request is handled for.
public struct AppServiceServerContext: Sendable {
    /// The name of the connection's service.
    public let service: String
    /// Whether the service sent the request, and this is its caller.
    public let isPush: Bool

    /// Creates a context, for tests of an interceptor by itself.
    public init(service: String, isPush: Bool = false) {
        self.service = service
        self.isPush = isPush
    }
}
