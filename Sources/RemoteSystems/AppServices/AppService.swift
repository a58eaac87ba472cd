// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// A type that responds to the requests of one app service and observes its connections.
public protocol AppServiceProvider: Sendable {
    /// Responds to a request.
    ///
    /// ``AppService/Execution`` decides where the method runs. The method's task is cancelled when the caller cancels
    /// the request, stops waiting or disconnects.
    ///
    /// - Parameter request: the request, whose message satisfies the service's request schema.
    /// - Returns: the response. If it does not satisfy the service's response schema, the request fails.
    /// - Throws: ``AppServiceFailure`` to send the caller a reason. For any other error the caller learns only that the
    ///   handler failed; the host logs the error's description.
    func respond(to request: AppServiceRequest) async throws -> ValueSet
    /// Called when a caller has opened a connection to the service, before its first request is handled. Does nothing
    /// by default.
    ///
    /// The host calls this method on the connection's event loop, which it must not block.
    ///
    /// - Parameters:
    ///   - connection: the connection. Use it to send requests to the caller
    ///     (``AppServiceConnection/send(_:timeout:idempotencyKey:metadata:)``).
    ///   - caller: the authenticated caller.
    func connectionOpened(_ connection: AppServiceConnection, by caller: AppServiceCaller)
    /// Called once when a connection to the service has ended. Does nothing by default.
    ///
    /// The host calls this method on the connection's event loop, which it must not block.
    ///
    /// - Parameters:
    ///   - connection: the connection that ``connectionOpened(_:by:)`` received.
    ///   - status: the reason why the connection ended.
    func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus)
}

extension AppServiceProvider {
    /// The default implementation, which does nothing.
    public func connectionOpened(_ connection: AppServiceConnection, by caller: AppServiceCaller) {}
    /// The default implementation, which does nothing.
    public func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus) {}
}

/// An app service that a ``RemoteSystemHost`` offers: its name, its handler, the schemas of its messages and its
/// permitted callers.
///
/// ``RemoteSystemHost/run()`` throws ``RemoteSystemError/Code/invalidArgument`` when a name, a text or a number of the
/// service is not valid.
public struct AppService: Sendable {
    /// The executor on which a service's handler runs.
    public enum Execution: Sendable, Hashable {
        /// On the connection's event loop, the fastest option.
        ///
        /// Until its first suspension, the handler must not block or compute for long: the other connections of the
        /// event loop wait for it.
        case onEventLoop
        /// On Swift's shared thread pool, for handlers that compute. Costs two executor hops for each request.
        case onThreadPool
    }

    /// The permitted callers of a service, and what the service publishes about itself.
    public struct Options: Sendable, Hashable {
        /// The service's version, in a format of your choice. Published. Defaults to `nil`. Valid length: 1–1024 bytes
        /// of UTF-8.
        public var version: String?
        /// The service's purpose, in one sentence. Published. Defaults to `nil`. Valid length: 1–1024 bytes of UTF-8.
        public var summary: String?
        /// The permitted callers. Defaults to ``AppServiceCallers/account``.
        public var callers: AppServiceCallers
        /// Whether other systems may call the service. Defaults to `true` (`Docs/decisions/0009`).
        ///
        /// With `false`, only programs on the same system may call it. Others are refused with
        /// ``AppServiceConnectionStatus/remoteSystemNotSupportedByApp``.
        public var supportsRemote: Bool
        /// The schema of requests that the service sends to its callers (``AppServiceRequest/connection``). Published.
        ///
        /// Defaults to `nil`: ``AllowedValueSchema/appService`` applies.
        public var pushRequestSchema: AllowedValueSchema?
        /// The schema of the callers' responses to requests that the service sends. Published.
        ///
        /// Defaults to `nil`: ``AllowedValueSchema/appService`` applies.
        public var pushResponseSchema: AllowedValueSchema?

        /// Creates options for a service.
        ///
        /// - Parameters:
        ///   - version: the service's version. Defaults to `nil`. Valid length: 1–1024 bytes of UTF-8.
        ///   - summary: the service's purpose, in one sentence. Defaults to `nil`. Valid length: 1–1024 bytes of UTF-8.
        ///   - callers: the permitted callers. Defaults to ``AppServiceCallers/account``.
        ///   - supportsRemote: whether other systems may call the service. Defaults to `true`.
        ///   - pushRequestSchema: the schema of requests that the service sends to its callers. Defaults to `nil`:
        ///     ``AllowedValueSchema/appService`` applies.
        ///   - pushResponseSchema: the schema of the callers' responses to requests that the service sends. Defaults to
        ///     `nil`: ``AllowedValueSchema/appService`` applies.
        public init(
            version: String? = nil,
            summary: String? = nil,
            callers: AppServiceCallers = .account,
            supportsRemote: Bool = true,
            pushRequestSchema: AllowedValueSchema? = nil,
            pushResponseSchema: AllowedValueSchema? = nil
        ) {
            self.version = version
            self.summary = summary
            self.callers = callers
            self.supportsRemote = supportsRemote
            self.pushRequestSchema = pushRequestSchema
            self.pushResponseSchema = pushResponseSchema
        }
    }

    /// The service's name, in reverse-DNS form. Unique within a host.
    public let name: String
    /// The schema of requests. Published, so that callers check a message before they send it.
    public let requestSchema: AllowedValueSchema
    /// The schema of responses. Published; a caller rejects a response that does not satisfy it.
    public let responseSchema: AllowedValueSchema
    /// The maximum number of requests of one connection that are handled at the same time; `nil` for no limit. Valid
    /// range: 1–4096.
    ///
    /// Requests start in the order in which the caller sent them, whatever the limit.
    public let concurrentRequests: Int?
    /// The executor on which the handler runs.
    public let execution: Execution
    /// The permitted callers, and what the service publishes about itself.
    public var options: Options
    /// The interceptors around the handler, outermost first. They run inside the interceptors of
    /// ``RemoteSystemsConfiguration/interceptors``. Defaults to none.
    public var interceptors: [any AppServiceServerInterceptor] = []

    var callers: AppServiceCallers { self.options.callers }
    var supportsRemote: Bool { self.options.supportsRemote }

    /// The code that responds to the service's requests.
    package enum Handler: Sendable {
        /// A closure that does not suspend, so it needs no task.
        case immediate(@Sendable (AppServiceRequest) throws -> ValueSet)
        case asynchronous(@Sendable (AppServiceRequest) async throws -> ValueSet)
    }

    /// The closure, or the provider's method.
    package let handler: Handler
    /// The provider; `nil` for a service whose handler is a closure.
    let provider: (any AppServiceProvider)?

    /// Creates a service with a closure as its handler.
    ///
    /// - Parameters:
    ///   - name: the service's name, in reverse-DNS form. Valid length: 1–256 bytes of UTF-8, without control,
    ///     invisible or line-breaking characters. Names that start with `remote-systems.` are reserved.
    ///   - requestSchema: the schema of requests. Published, so that callers check a message before they send it.
    ///     Defaults to ``AllowedValueSchema/appService``.
    ///   - responseSchema: the schema of responses. Published; a caller rejects a response that does not satisfy it.
    ///     Defaults to ``AllowedValueSchema/appService``.
    ///   - concurrentRequests: the maximum number of requests of one connection that are handled at the same time. With
    ///     1, each request waits for the previous one. Defaults to `nil`, no limit. Valid range: 1–4096.
    ///   - execution: where the handler runs. Defaults to ``Execution/onEventLoop``.
    ///   - options: the permitted callers, and what the service publishes about itself. Defaults to `Options()`.
    ///   - handler: responds to a request. Its task is cancelled when the caller cancels, stops waiting or disconnects.
    ///     An ``AppServiceFailure`` that it throws is sent to the caller. For any other error the caller learns only
    ///     that the handler failed.
    public init(
        _ name: String,
        requestSchema: AllowedValueSchema = .appService,
        responseSchema: AllowedValueSchema = .appService,
        concurrentRequests: Int? = nil,
        execution: Execution = .onEventLoop,
        options: Options = Options(),
        handler: @escaping @Sendable (AppServiceRequest) async throws -> ValueSet
    ) {
        self.init(
            name,
            requestSchema: requestSchema,
            responseSchema: responseSchema,
            concurrentRequests: concurrentRequests,
            execution: execution,
            options: options,
            handler: .asynchronous(handler),
            provider: nil
        )
    }

    /// Creates a service with a closure that awaits nothing, the fastest kind of service.
    ///
    /// Swift selects this initializer for a closure without `await`. The handler runs without a task of its own, so it
    /// cannot be cancelled and has no task-local values. It does run in a task if the service has interceptors or
    /// `execution` is ``Execution/onThreadPool``, and for a request with an idempotency key.
    ///
    /// - Parameters:
    ///   - name: the service's name, in reverse-DNS form. Valid length: 1–256 bytes of UTF-8, without control,
    ///     invisible or line-breaking characters. Names that start with `remote-systems.` are reserved.
    ///   - requestSchema: the schema of requests. Published, so that callers check a message before they send it.
    ///     Defaults to ``AllowedValueSchema/appService``.
    ///   - responseSchema: the schema of responses. Published; a caller rejects a response that does not satisfy it.
    ///     Defaults to ``AllowedValueSchema/appService``.
    ///   - concurrentRequests: the maximum number of requests of one connection that are handled at the same time.
    ///     Defaults to `nil`, no limit. Valid range: 1–4096.
    ///   - execution: where the handler runs. Defaults to ``Execution/onEventLoop``.
    ///   - options: the permitted callers, and what the service publishes about itself. Defaults to `Options()`.
    ///   - handler: responds to a request. An ``AppServiceFailure`` that it throws is sent to the caller. For any other
    ///     error the caller learns only that the handler failed.
    public init(
        _ name: String,
        requestSchema: AllowedValueSchema = .appService,
        responseSchema: AllowedValueSchema = .appService,
        concurrentRequests: Int? = nil,
        execution: Execution = .onEventLoop,
        options: Options = Options(),
        handler: @escaping @Sendable (AppServiceRequest) throws -> ValueSet
    ) {
        self.init(
            name,
            requestSchema: requestSchema,
            responseSchema: responseSchema,
            concurrentRequests: concurrentRequests,
            execution: execution,
            options: options,
            handler: .immediate(handler),
            provider: nil
        )
    }

    /// Creates a service whose handler is a type of your own.
    ///
    /// One provider serves all connections. It handles requests concurrently, unless `concurrentRequests` limits them.
    ///
    /// - Parameters:
    ///   - name: the service's name, in reverse-DNS form. Valid length: 1–256 bytes of UTF-8, without control,
    ///     invisible or line-breaking characters. Names that start with `remote-systems.` are reserved.
    ///   - requestSchema: the schema of requests. Published, so that callers check a message before they send it.
    ///     Defaults to ``AllowedValueSchema/appService``.
    ///   - responseSchema: the schema of responses. Published; a caller rejects a response that does not satisfy it.
    ///     Defaults to ``AllowedValueSchema/appService``.
    ///   - concurrentRequests: the maximum number of requests of one connection that are handled at the same time.
    ///     Defaults to `nil`, no limit. Valid range: 1–4096.
    ///   - execution: where ``AppServiceProvider/respond(to:)`` runs. Defaults to ``Execution/onEventLoop``.
    ///   - options: the permitted callers, and what the service publishes about itself. Defaults to `Options()`.
    ///   - provider: responds to requests and observes connections.
    public init(
        _ name: String,
        requestSchema: AllowedValueSchema = .appService,
        responseSchema: AllowedValueSchema = .appService,
        concurrentRequests: Int? = nil,
        execution: Execution = .onEventLoop,
        options: Options = Options(),
        provider: some AppServiceProvider
    ) {
        self.init(
            name,
            requestSchema: requestSchema,
            responseSchema: responseSchema,
            concurrentRequests: concurrentRequests,
            execution: execution,
            options: options,
            handler: .asynchronous { try await provider.respond(to: $0) },
            provider: provider
        )
    }

    private init(
        _ name: String,
        requestSchema: AllowedValueSchema,
        responseSchema: AllowedValueSchema,
        concurrentRequests: Int?,
        execution: Execution,
        options: Options,
        handler: Handler,
        provider: (any AppServiceProvider)?
    ) {
        self.name = name
        self.requestSchema = requestSchema
        self.responseSchema = responseSchema
        self.concurrentRequests = concurrentRequests
        self.execution = execution
        self.options = options
        self.handler = handler
        self.provider = provider
    }
}

extension AppService {
    /// The description of the service that the host publishes.
    var published: RemoteSystemApplication.Service {
        RemoteSystemApplication.Service(
            name: self.name,
            requestSchema: self.requestSchema,
            responseSchema: self.responseSchema,
            pushRequestSchema: self.options.pushRequestSchema,
            pushResponseSchema: self.options.pushResponseSchema,
            version: self.options.version,
            summary: self.options.summary,
            supportsRemote: self.supportsRemote
        )
    }
}

extension AppService {
    /// Calls the handler, whichever kind it is.
    package func response(to request: AppServiceRequest) async throws -> ValueSet {
        switch self.handler {
        case .immediate(let handler): try handler(request)
        case .asynchronous(let handler): try await handler(request)
        }
    }
}
