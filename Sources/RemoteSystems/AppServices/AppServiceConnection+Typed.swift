// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

extension AppServiceConnection {
    /// Sends a message of your own type and waits for a response of your own type.
    ///
    /// ```swift
    /// let receipt = try await connection.send(order, as: Receipt.self)
    /// ```
    ///
    /// - Parameters:
    ///   - message: the message. It must satisfy the service's request schema.
    ///   - type: the type of the response. Inferred from the context by default.
    ///   - timeout: the time to wait for the response. Defaults to
    ///     ``RemoteSystemsConfiguration/Transport/requestTimeout``. Valid range: 0–24 h.
    ///   - idempotencyKey: identifies the operation, so that the request can safely be repeated
    ///     (``send(_:timeout:idempotencyKey:metadata:)``). Defaults to `nil`.
    ///   - metadata: data sent beside the message, for the interceptors and the handler of the peer. Defaults to none.
    /// - Returns: the decoded response.
    /// - Throws: ``RemoteSystemError``: ``RemoteSystemError/Code/invalidMessage`` when the message cannot be encoded,
    ///   ``RemoteSystemError/Code/protocolViolation`` when the response cannot be decoded, and the error of every
    ///   status except success. Its ``RemoteSystemError/canRetry`` and ``RemoteSystemError/outcome`` state whether a
    ///   retry is useful and safe. Also the errors of ``send(_:timeout:idempotencyKey:metadata:)`` and
    ///   `CancellationError`.
    public func send<Message: Encodable, Response: Decodable>(
        _ message: Message,
        as type: Response.Type = Response.self,
        timeout: Duration? = nil,
        idempotencyKey: IdempotencyKey? = nil,
        metadata: RequestMetadata = RequestMetadata()
    ) async throws -> Response {
        let set = try ValueSet(sending: message)
        return try await self.send(set, timeout: timeout, idempotencyKey: idempotencyKey, metadata: metadata)
            .message(as: type)
    }

    /// Sends one message of your own type over a connection of its own and waits for a response of your own type.
    ///
    /// Every call opens and closes a connection, which costs a handshake.
    ///
    /// - Parameters:
    ///   - message: the message. It must satisfy the service's request schema.
    ///   - service: the service to call.
    ///   - request: the system, application or address that offers the service.
    ///   - type: the type of the response. Inferred from the context by default.
    ///   - timeout: the time for the whole operation, including the start of the application on the other system.
    ///     Defaults to ``RemoteSystemsConfiguration/Transport/requestTimeout``. Valid range: 0–24 h.
    ///   - idempotencyKey: identifies the operation, so that the message can safely be sent again
    ///     (``send(_:timeout:idempotencyKey:metadata:)``). Defaults to `nil`.
    ///   - metadata: data sent beside the message, for the interceptors and the handler of the peer. Defaults to none.
    /// - Returns: the decoded response.
    /// - Throws: ``RemoteSystemError``: ``RemoteSystemError/Code/invalidMessage`` when the message cannot be encoded,
    ///   ``RemoteSystemError/Code/protocolViolation`` when the response cannot be decoded, and the error of every
    ///   status except success. Also the errors of ``sendStateless(_:to:request:timeout:idempotencyKey:metadata:)`` and
    ///   `CancellationError`.
    public static func sendStateless<Message: Encodable, Response: Decodable>(
        _ message: Message,
        to service: AppServiceDescription,
        request: RemoteSystemConnectionRequest,
        as type: Response.Type = Response.self,
        timeout: Duration? = nil,
        idempotencyKey: IdempotencyKey? = nil,
        metadata: RequestMetadata = RequestMetadata()
    ) async throws -> Response {
        let response = try await Self.sendStateless(
            ValueSet(sending: message),
            to: service,
            request: request,
            timeout: timeout,
            idempotencyKey: idempotencyKey,
            metadata: metadata
        )
        guard response.status == .success else { throw response.error ?? .serviceFailed("\(response.status)") }
        return try response.message.response(as: type)
    }
}

extension LongLivedConnection {
    /// Sends a message of your own type and waits for a response of your own type, over any connection that opens
    /// before the deadline.
    ///
    /// - Parameters:
    ///   - message: the message. It must satisfy the service's request schema.
    ///   - type: the type of the response. Inferred from the context by default.
    ///   - timeout: the maximum time to wait in total, for the connection and for the response. Defaults to
    ///     ``RemoteSystemsConfiguration/Transport/requestTimeout``. Valid range: 0–24 h.
    ///   - retry: whether to send the request again when the connection is lost before the response. Defaults to
    ///     ``RequestRetry/never``.
    ///   - metadata: data sent beside the message, for the interceptors and the handler of the peer. Defaults to none.
    /// - Returns: the decoded response.
    /// - Throws: ``RemoteSystemError``: ``RemoteSystemError/Code/invalidMessage`` when the message cannot be encoded,
    ///   ``RemoteSystemError/Code/protocolViolation`` when the response cannot be decoded, and the error of every
    ///   status except success. Also the errors of ``send(_:timeout:retry:metadata:)`` and `CancellationError`.
    public func send<Message: Encodable, Response: Decodable>(
        _ message: Message,
        as type: Response.Type = Response.self,
        timeout: Duration? = nil,
        retry: RequestRetry = .never,
        metadata: RequestMetadata = RequestMetadata()
    ) async throws -> Response {
        let set = try ValueSet(sending: message)
        return try await self.send(set, timeout: timeout, retry: retry, metadata: metadata).message(as: type)
    }
}

extension RemoteSystemApplication {
    /// Opens a connection to one of the application's services, runs the body with it, and closes it.
    ///
    /// The body runs on the connection's event loop. Its requests therefore need no executor hop, and blocking calls in
    /// the body delay the connection and all others on that event loop. When the body returns, the connection closes
    /// after the requests in progress are finished. When the body throws, the connection is aborted.
    ///
    /// - Parameters:
    ///   - service: the service's name.
    ///   - requestSchema: a schema of requests, in addition to the one that the service publishes. Defaults to none.
    ///   - responseSchema: a schema of responses, in addition to the one that the service publishes. Defaults to none.
    ///   - onRequest: responds to requests that the service sends. Runs on the connection's event loop. Defaults to
    ///     `nil`: the service's requests fail.
    ///   - body: receives the open connection.
    /// - Returns: the result of the body.
    /// - Throws: ``RemoteSystemError`` when the connection cannot be opened, with
    ///   ``RemoteSystemError/Code/unreachable``, ``RemoteSystemError/Code/refused``,
    ///   ``RemoteSystemError/Code/notTrusted`` or a code of ``AppServiceConnection/open(_:)``; any error of the body;
    ///   `CancellationError`.
    public func withAppService<Result: Sendable>(
        _ service: String,
        requestSchema: AllowedValueSchema? = nil,
        responseSchema: AllowedValueSchema? = nil,
        onRequest: AppServiceConnection.RequestHandler? = nil,
        _ body: @Sendable (AppServiceConnection) async throws -> Result
    ) async throws -> Result {
        try await AppServiceConnection.with(
            self.description(of: service, requestSchema, responseSchema),
            RemoteSystemConnectionRequest(application: self),
            onRequest: onRequest,
            body
        )
    }

    /// Opens a connection to one of the application's services, runs the body with it and with the service's requests,
    /// and closes it.
    ///
    /// The body runs on the connection's event loop, which it must not block. When the body returns, the connection
    /// closes after the requests in progress are finished. When the body throws, the connection is aborted.
    ///
    /// - Parameters:
    ///   - service: the service's name.
    ///   - requestSchema: a schema of requests, in addition to the one that the service publishes. Defaults to none.
    ///   - responseSchema: a schema of responses, in addition to the one that the service publishes. Defaults to none.
    ///   - body: receives the open connection and the sequence of all requests that the service sends.
    /// - Returns: the result of the body.
    /// - Throws: ``RemoteSystemError`` when the connection cannot be opened, with
    ///   ``RemoteSystemError/Code/unreachable``, ``RemoteSystemError/Code/refused``,
    ///   ``RemoteSystemError/Code/notTrusted`` or a code of ``AppServiceConnection/open(_:)``; any error of the body;
    ///   `CancellationError`.
    public func withAppService<Result: Sendable>(
        _ service: String,
        requestSchema: AllowedValueSchema? = nil,
        responseSchema: AllowedValueSchema? = nil,
        _ body: @Sendable (AppServiceConnection, AppServiceRequests) async throws -> Result
    ) async throws -> Result {
        try await AppServiceConnection.with(
            self.description(of: service, requestSchema, responseSchema),
            RemoteSystemConnectionRequest(application: self),
            body
        )
    }

    private func description(
        of service: String,
        _ requestSchema: AllowedValueSchema?,
        _ responseSchema: AllowedValueSchema?
    ) -> AppServiceDescription {
        AppServiceDescription(
            name: service,
            applicationID: self.id,
            requestSchema: requestSchema,
            responseSchema: responseSchema
        )
    }
}

extension AppServiceConnection {
    /// Opens a connection, runs the body with it on its event loop, and closes it.
    ///
    /// When the body returns, the connection closes after the requests in progress are finished. When the body throws,
    /// the connection is aborted.
    ///
    /// - Parameters:
    ///   - service: the service to connect to.
    ///   - request: the system, application or address to connect to.
    ///   - onRequest: responds to requests that the service sends. Runs on the connection's event loop. Defaults to
    ///     `nil`: the service's requests fail.
    ///   - body: receives the open connection. It must not block the event loop.
    /// - Returns: the result of the body.
    /// - Throws: ``RemoteSystemError`` when the connection cannot be opened, with
    ///   ``RemoteSystemError/Code/unreachable``, ``RemoteSystemError/Code/refused``,
    ///   ``RemoteSystemError/Code/notTrusted`` or a code of ``open(_:)``; any error of the body; `CancellationError`.
    public static func with<Result: Sendable>(
        _ service: AppServiceDescription,
        _ request: RemoteSystemConnectionRequest,
        onRequest: RequestHandler? = nil,
        _ body: @Sendable (AppServiceConnection) async throws -> Result
    ) async throws -> Result {
        let connection = AppServiceConnection(to: service, onRequest: onRequest)
        try await connection.openOrThrow(request)
        return try await connection.use(body)
    }

    /// Opens a connection, runs the body with it and with the service's requests on its event loop, and closes it.
    ///
    /// When the body returns, the connection closes after the requests in progress are finished. When the body throws,
    /// the connection is aborted.
    ///
    /// - Parameters:
    ///   - service: the service to connect to.
    ///   - request: the system, application or address to connect to.
    ///   - body: receives the open connection and the sequence of all requests that the service sends. It must not
    ///     block the event loop.
    /// - Returns: the result of the body.
    /// - Throws: ``RemoteSystemError`` when the connection cannot be opened, with
    ///   ``RemoteSystemError/Code/unreachable``, ``RemoteSystemError/Code/refused``,
    ///   ``RemoteSystemError/Code/notTrusted`` or a code of ``open(_:)``; any error of the body; `CancellationError`.
    public static func with<Result: Sendable>(
        _ service: AppServiceDescription,
        _ request: RemoteSystemConnectionRequest,
        _ body: @Sendable (AppServiceConnection, AppServiceRequests) async throws -> Result
    ) async throws -> Result {
        let connection = AppServiceConnection(to: service)
        let requests = connection.requests
        try await connection.openOrThrow(request)
        return try await connection.use { try await body($0, requests) }
    }

    private func openOrThrow(_ request: RemoteSystemConnectionRequest) async throws {
        // In a child task, whose stack is freed when it ends. A task keeps the memory of its deepest call, and the
        // scope may last long.
        async let opening = self.open(request)
        let status = try await opening
        guard status == .success else {
            throw self.openError
                ?? RemoteSystemError(.refused, "The connection was not opened (\(status)).", side: .remote)
        }
    }

    /// Opens a connection within a time limit, runs the body with it on its event loop, and closes it.
    ///
    /// - Parameter time: the time limit for opening, which includes the start of the application on the other system.
    package static func with<Result: Sendable>(
        _ service: AppServiceDescription,
        _ request: RemoteSystemConnectionRequest,
        openIn time: Duration,
        _ body: @Sendable (AppServiceConnection) async throws -> Result
    ) async throws -> Result {
        let connection = AppServiceConnection(to: service)
        try await connection.open(request, in: time)
        return try await connection.use(body)
    }

    private func use<Result: Sendable>(
        _ body: @Sendable (AppServiceConnection) async throws -> Result
    ) async throws -> Result {
        do {
            let result = try await withTaskExecutorPreference(self.executor) { try await body(self) }
            await self.close()
            return result
        } catch {
            await self.cancel()
            throw error
        }
    }
}
