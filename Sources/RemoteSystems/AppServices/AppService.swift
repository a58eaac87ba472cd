// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// Answers requests of one app service; for services that have more to them than a closure.
public protocol AppServiceProvider: Sendable {
    /// Answers a request. See ``AppService/Execution`` for where it runs.
    ///
    /// - Throws: ``AppServiceFailure`` to tell the caller why not. Of other errors the caller learns only that there was one;
    ///   the host logs their descriptions.
    func respond(to request: AppServiceRequest) async throws -> ValueSet
    /// A connection to the service was opened. By default nothing happens.
    func connectionOpened(_ connection: AppServiceConnection, by caller: AppServiceCaller)
    /// A connection to the service has ended. By default nothing happens.
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
        /// On the connection's event loop: the fastest. It must not block or compute for long before it first awaits
        /// something else, since connections on the same loop wait for it.
        case onEventLoop
        /// On Swift's shared thread pool: for handlers that compute. Costs two thread switches for each request.
        case onThreadPool
    }

    /// To whom a service is open, and what it tells of itself.
    public struct Options: Sendable, Hashable {
        /// The service's version, in whatever form its makers count; 1 to 1024 bytes of UTF-8. Published.
        public var version: String?
        /// What the service is for, in a sentence; 1 to 1024 bytes of UTF-8. Published.
        public var summary: String?
        /// Who may call it.
        public var callers: AppServiceCallers
        /// Whether other systems may call it; if not, only programs on the same system. Others are refused with
        /// ``AppServiceConnectionStatus/remoteSystemNotSupportedByApp``. In code it is on unless set, since whoever gives a service to a
        /// ``RemoteSystemHost`` means it to be called from elsewhere (`Docs/decisions/0009`).
        public var supportsRemote: Bool
        /// What requests of the service to its callers look like (``AppServiceRequest/connection``), if it sends any. Published;
        /// ``AllowedValueSchema/appService`` holds unless set.
        public var pushRequestSchema: AllowedValueSchema?
        /// What the callers' responses to those must look like. Published; ``AllowedValueSchema/appService`` holds unless set.
        public var pushResponseSchema: AllowedValueSchema?

        /// Options; every one may be left out.
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
    /// What requests must look like. It is published, so that callers are told before they send.
    public let requestSchema: AllowedValueSchema
    /// What responses must look like. It is published; a caller refuses any other response.
    public let responseSchema: AllowedValueSchema
    /// How many requests of one connection are handled at the same time; `nil` for as many as come, 1 for one after
    /// the other. Requests always start in the order in which they were sent. Valid range: 1–4096.
    public let concurrentRequests: Int?
    /// Where the handler runs.
    public let execution: Execution
    /// To whom the service is open, and what it tells of itself.
    public var options: Options
    /// The interceptors around the handler, the outermost first, inside those of ``RemoteSystemsConfiguration/interceptors``. None
    /// unless set.
    public var interceptors: [any AppServiceServerInterceptor] = []

    var callers: AppServiceCallers { self.options.callers }
    var supportsRemote: Bool { self.options.supportsRemote }

    package enum Handler: Sendable {
        /// Awaits nothing, so it needs no task.
        case immediate(@Sendable (AppServiceRequest) throws -> ValueSet)
        case asynchronous(@Sendable (AppServiceRequest) async throws -> ValueSet)
    }

    /// The closure that was given, or the provider's method.
    package let handler: Handler
    /// `nil` for a service that is only a closure.
    let provider: (any AppServiceProvider)?

    /// A service answered by a closure.
    ///
    /// - Parameters:
    ///   - name: the service's name, in reverse-DNS form: 1 to 256 bytes of UTF-8 without control, invisible or line-breaking
    ///     characters. Names that start with `remote-systems.` are taken.
    ///   - requestSchema: what requests must look like. It is published, so that callers are told before they send.
    ///   - responseSchema: what responses must look like. It is published; a caller refuses any other response.
    ///   - concurrentRequests: how many requests of one connection are handled at the same time; `nil` for as many as
    ///     come, 1 for one after the other. Valid range: 1–4096.
    ///   - execution: where the handler runs.
    ///   - options: to whom the service is open, and what it tells of itself.
    ///   - handler: answers a request; starts on the connection's event loop unless `execution` says otherwise. Its task
    ///     is cancelled when the caller cancels, stops waiting, or goes away.
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

    /// A service answered by a closure that awaits nothing: the fastest there is. Swift takes this one for a closure without `await`.
    ///
    /// The same as with a closure that awaits, save that a request costs no task of its own: there is none to be cancelled, and
    /// no task-local values. (It does where it needs one: on the thread pool, and with an idempotency key.)
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

    /// A service answered by a type of your own.
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
    /// What the host tells of the service.
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
    /// What the handler answers, whichever kind it is.
    package func response(to request: AppServiceRequest) async throws -> ValueSet {
        switch self.handler {
        case .immediate(let handler): try handler(request)
        case .asynchronous(let handler): try await handler(request)
        }
    }
}
