// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

extension AppService {
    /// A service whose requests and responses are values of your own types.
    ///
    /// ```swift
    /// AppService("com.example.orders") { (order: Order, request) -> Receipt in
    ///     try await kitchen.take(order, from: request.caller)
    /// }
    /// ```
    ///
    /// The schemas are derived from the types (``AllowedValueSchema/init(decoding:)``,
    /// ``AllowedValueSchema/init(encoding:)``) and published, so that callers in any language are told what is wrong
    /// before they send. A message that the schema lets through and the type refuses fails with a sentence that names
    /// the key.
    ///
    /// - Parameters:
    ///   - name: the service's name, in reverse-DNS form: 1 to 256 bytes of UTF-8 without control, invisible or
    ///     line-breaking characters. Names that start with `remote-systems.` are taken.
    ///   - requestSchema: what requests must look like; derived from the message's type unless given.
    ///   - responseSchema: what responses must look like; derived from the response's type unless given.
    ///   - concurrentRequests: how many requests of one connection are handled at the same time; `nil` for as many as
    ///     come, 1 for one after the other. Valid range: 1–4096.
    ///   - execution: where the handler runs.
    ///   - options: to whom the service is open, and what it tells of itself.
    ///   - handler: responds to a message; gets the request as well, with its caller and deadline. It starts on the
    ///     connection's event loop unless `execution` says otherwise, and is cancelled when the caller cancels, stops
    ///     waiting, or goes away.
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

    /// The same with a handler that awaits nothing: the fastest there is. Swift takes this one for a closure without
    /// `await`.
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
    /// A handler of the service's own requests (``RequestHandler``) with values of your own types.
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
    /// - Parameter handler: responds to a message. A message of another form fails with a sentence that names the key.
    public static func requestHandler<Message: Decodable & SendableMetatype, Response: Encodable & SendableMetatype>(
        _ handler: @escaping @Sendable (Message, AppServiceRequest) async throws -> Response
    ) -> RequestHandler {
        { request in try ValueSetEncoder().encode(try await handler(try request.message(), request)) }
    }
}
