// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// A type that responds to the requests of one app service and observes its connections.
public protocol AppServiceProvider: Sendable {
    /// Responds to a request. ``AppService/Execution`` decides where it runs.
    ///
    /// - Throws: ``AppServiceFailure`` to send the caller a reason. For any other error the caller learns only that the
    ///   handler failed; the host logs the error's description.
    func respond(to request: AppServiceRequest) async throws -> ValueSet
    /// Called when a connection to the service was opened. Does nothing by default.
    func connectionOpened(_ connection: AppServiceConnection, by caller: AppServiceCaller)
    /// Called when a connection to the service has ended. Does nothing by default.
    func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus)
}

extension AppServiceProvider {
    /// Does nothing.
    public func connectionOpened(_ connection: AppServiceConnection, by caller: AppServiceCaller) {}
    /// Does nothing.
    public func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus) {}
}

/// An app service that a ``RemoteSystemHost`` offers.
public struct AppService: Sendable {
    /// Where a service's handler runs.
    public enum Execution: Sendable, Hashable {
        /// On the connection's event loop, the fastest option. Until its first suspension, the handler must not block
        /// or compute for long: the other connections of the loop wait for it.
        case onEventLoop
        /// On Swift's shared thread pool, for handlers that compute. Costs two executor hops a request.
        case onThreadPool
    }

    /// The permitted callers of a service, and what the service publishes about itself.
    public struct Options: Sendable, Hashable {
        /// The service's version, in a format of your choice. Published. Valid length: 1–1024 bytes of UTF-8.
        public var version: String?
        /// The service's purpose, in one sentence. Published. Valid length: 1–1024 bytes of UTF-8.
        public var summary: String?
        /// The permitted callers. Defaults to ``AppServiceCallers/account``.
        public var callers: AppServiceCallers
        /// Whether other systems may call the service. Defaults to `true` (`Docs/decisions/0009`).
        ///
        /// With `false`, only programs on the same system may call it. Others are refused with
        /// ``AppServiceConnectionStatus/remoteSystemNotSupportedByApp``.
        public var supportsRemote: Bool
        /// The schema of requests that the service sends to its callers (``AppServiceRequest/connection``). Published.
        /// Defaults to ``AllowedValueSchema/appService``.
        public var pushRequestSchema: AllowedValueSchema?
        /// The schema of the callers' responses to requests that the service sends. Published. Defaults to
        /// ``AllowedValueSchema/appService``.
        public var pushResponseSchema: AllowedValueSchema?

        /// Creates options.
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

    /// The service's name.
    public let name: String
    /// The schema of requests. Published, so that callers check a message before they send it.
    public let requestSchema: AllowedValueSchema
    /// The schema of responses. Published; a caller rejects a response that does not satisfy it.
    public let responseSchema: AllowedValueSchema
    /// The maximum number of requests of one connection that are handled at the same time; `nil` for no limit.
    /// Valid range: 1–4096.
    ///
    /// Requests always start in the order in which they were sent.
    public let concurrentRequests: Int?
    /// Where the handler runs.
    public let execution: Execution
    /// The permitted callers, and what the service publishes about itself.
    public var options: Options
    /// The interceptors around the handler, outermost first. They run inside those of
    /// ``RemoteSystemsConfiguration/interceptors``. Defaults to none.
    public var interceptors: [any AppServiceServerInterceptor] = []

    var callers: AppServiceCallers { self.options.callers }
    var supportsRemote: Bool { self.options.supportsRemote }

    package enum Handler: Sendable {
        /// Awaits nothing, so it needs no task.
        case immediate(@Sendable (AppServiceRequest) throws -> ValueSet)
        case asynchronous(@Sendable (AppServiceRequest) async throws -> ValueSet)
    }

    /// The closure, or the provider's method.
    package let handler: Handler
    /// `nil` for a service that is only a closure.
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
    ///   - options: the permitted callers, and what the service publishes about itself.
    ///   - handler: responds to a request. Its task is cancelled when the caller cancels, stops waiting or disconnects.
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
    /// Swift selects this initializer for a closure without `await`. A request runs without a task of its own, so it
    /// cannot be cancelled and has no task-local values. A request does get a task on the thread pool, with an
    /// idempotency key, and with interceptors.
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
    /// `provider` responds to requests and observes connections. The other parameters are those of the initializer with
    /// a closure.
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
