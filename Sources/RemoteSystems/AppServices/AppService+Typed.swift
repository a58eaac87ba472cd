// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

extension AppService {
    /// Creates a service whose requests and responses are values of your own types.
    ///
    /// ```swift
    /// AppService("com.example.orders") { (order: Order, request) -> Receipt in
    ///     try await kitchen.take(order, from: request.caller)
    /// }
    /// ```
    ///
    /// The schemas are derived from the types (``AllowedValueSchema/init(decoding:)``,
    /// ``AllowedValueSchema/init(encoding:)``) and published, so that callers in any language detect an invalid message
    /// before they send it. If a message satisfies the schema but cannot be decoded, its request fails with an error
    /// that names the key.
    ///
    /// - Parameters:
    ///   - name: the service's name, in reverse-DNS form. Valid length: 1–256 bytes of UTF-8, without control,
    ///     invisible or line-breaking characters. Names that start with `remote-systems.` are reserved.
    ///   - requestSchema: the schema of requests. Defaults to the schema derived from `Message`.
    ///   - responseSchema: the schema of responses. Defaults to the schema derived from `Response`.
    ///   - concurrentRequests: the maximum number of requests of one connection that are handled at the same time. With
    ///     1, each request waits for the previous one. Defaults to `nil`, no limit. Valid range: 1–4096.
    ///   - execution: where the handler runs. Defaults to ``Execution/onEventLoop``.
    ///   - options: the permitted callers, and what the service publishes about itself. Defaults to `Options()`.
    ///   - handler: responds to a message; its second argument is the request, with its caller and deadline. Its task
    ///     is cancelled when the caller cancels, stops waiting or disconnects. An ``AppServiceFailure`` that it throws
    ///     is sent to the caller. For any other error the caller learns only that the handler failed.
    public init<Message: Decodable & SendableMetatype, Response: Encodable & SendableMetatype>(
        _ name: String,
        requestSchema: AllowedValueSchema? = nil,
        responseSchema: AllowedValueSchema? = nil,
        concurrentRequests: Int? = nil,
        execution: Execution = .onEventLoop,
        options: Options = Options(),
        handler: @escaping @Sendable (Message, AppServiceRequest) async throws -> Response
    ) {
        self.init(
            name,
            requestSchema: requestSchema ?? AllowedValueSchema(decoding: Message.self),
            responseSchema: responseSchema ?? AllowedValueSchema(encoding: Response.self),
            concurrentRequests: concurrentRequests,
            execution: execution,
            options: options
        ) { request in
            try ValueSetEncoder().encode(try await handler(try request.message(), request))
        }
    }

    /// Creates a service whose requests and responses are values of your own types, with a handler that awaits nothing.
    ///
    /// This is the fastest kind of service. Swift selects this initializer for a closure without `await`. The handler
    /// runs without a task of its own, so it cannot be cancelled and has no task-local values. It does run in a task if
    /// the service has interceptors or `execution` is ``Execution/onThreadPool``, and for a request with an idempotency
    /// key.
    ///
    /// The schemas are derived from the types (``AllowedValueSchema/init(decoding:)``,
    /// ``AllowedValueSchema/init(encoding:)``) and published. If a message satisfies the schema but cannot be decoded,
    /// its request fails with an error that names the key.
    ///
    /// - Parameters:
    ///   - name: the service's name, in reverse-DNS form. Valid length: 1–256 bytes of UTF-8, without control,
    ///     invisible or line-breaking characters. Names that start with `remote-systems.` are reserved.
    ///   - requestSchema: the schema of requests. Defaults to the schema derived from `Message`.
    ///   - responseSchema: the schema of responses. Defaults to the schema derived from `Response`.
    ///   - concurrentRequests: the maximum number of requests of one connection that are handled at the same time. With
    ///     1, each request waits for the previous one. Defaults to `nil`, no limit. Valid range: 1–4096.
    ///   - execution: where the handler runs. Defaults to ``Execution/onEventLoop``.
    ///   - options: the permitted callers, and what the service publishes about itself. Defaults to
    ///     `Options()`.
    ///   - handler: responds to a message; its second argument is the request, with its caller and deadline. An
    ///     ``AppServiceFailure`` that it throws is sent to the caller. For any other error the caller learns only that
    ///     the handler failed.
    public init<Message: Decodable & SendableMetatype, Response: Encodable & SendableMetatype>(
        _ name: String,
        requestSchema: AllowedValueSchema? = nil,
        responseSchema: AllowedValueSchema? = nil,
        concurrentRequests: Int? = nil,
        execution: Execution = .onEventLoop,
        options: Options = Options(),
        handler: @escaping @Sendable (Message, AppServiceRequest) throws -> Response
    ) {
        self.init(
            name,
            requestSchema: requestSchema ?? AllowedValueSchema(decoding: Message.self),
            responseSchema: responseSchema ?? AllowedValueSchema(encoding: Response.self),
            concurrentRequests: concurrentRequests,
            execution: execution,
            options: options
        ) { request in
            try ValueSetEncoder().encode(try handler(try request.message(), request))
        }
    }
}

extension AppServiceConnection {
    /// Creates a handler (``RequestHandler``) for the requests that the service sends to this caller, with messages of
    /// your own types.
    ///
    /// ```swift
    /// let connection = AppServiceConnection(
    ///     to: AppServiceDescription(name: "com.example.doors"),
    ///     onRequest: AppServiceConnection.requestHandler { (question: MayOpen, request) -> Decision in
    ///         await owner.decide(question)
    ///     }
    /// )
    /// ```
    ///
    /// - Parameter handler: responds to a message; its second argument is the request. Runs on the connection's event
    ///   loop, which it must not block. Its task is cancelled when the service cancels the request or stops waiting, or
    ///   when the connection ends.
    /// - Returns: a handler for `onRequest`. If it cannot decode a message, it does not call `handler`, and the service
    ///   receives a failure whose reason names the key.
    public static func requestHandler<Message: Decodable & SendableMetatype, Response: Encodable & SendableMetatype>(
        _ handler: @escaping @Sendable (Message, AppServiceRequest) async throws -> Response
    ) -> RequestHandler {
        { request in try ValueSetEncoder().encode(try await handler(try request.message(), request)) }
    }
}
