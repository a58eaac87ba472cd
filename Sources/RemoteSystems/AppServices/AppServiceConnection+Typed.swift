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
    ///   - message: what to send. It must satisfy the service's request schema.
    ///   - type: the type of the response; what the context says unless given.
    ///   - timeout: see ``send(_:timeout:idempotencyKey:metadata:)``.
    ///   - idempotencyKey: see ``send(_:timeout:idempotencyKey:metadata:)``.
    ///   - metadata: what is sent beside the message, for the interceptors and the handler on the other side.
    /// - Throws: ``RemoteSystemError`` when there is no response, or the response is of another form;
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

    /// Sends one message of your own type and waits for a response of your own type, without a connection of the
    /// caller's own; see ``sendStateless(_:to:request:timeout:idempotencyKey:metadata:)``.
    ///
    /// - Throws: ``RemoteSystemError`` when there is no response, or the response is of another form;
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
    /// Sends a message of your own type and waits for a response of your own type, over whichever connection there is
    /// by its deadline; see ``send(_:timeout:retry:metadata:)``.
    ///
    /// - Throws: ``RemoteSystemError`` when there is no response, or the response is of another form;
    ///   `CancellationError`.
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
    /// The body runs on the connection's event loop: requests cost no thread switch, and whatever blocks there delays
    /// them.
    ///
    /// - Parameters:
    ///   - service: the service's name.
    ///   - requestSchema: what requests must look like, beside what the service publishes.
    ///   - responseSchema: what responses must look like, beside what the service publishes.
    ///   - onRequest: responds to requests that the service sends; without it they fail.
    ///   - body: gets the open connection.
    /// - Throws: ``RemoteSystemError`` when the connection cannot be opened; what the body throws.
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

    /// Opens a connection to one of the application's services, runs the body with it and with the requests that the
    /// service sends, and closes it.
    ///
    /// - Parameters:
    ///   - service: the service's name.
    ///   - requestSchema: what requests must look like, beside what the service publishes.
    ///   - responseSchema: what responses must look like, beside what the service publishes.
    ///   - body: gets the open connection and the service's requests, from the first on. It runs on the connection's
    ///     event loop.
    /// - Throws: ``RemoteSystemError`` when the connection cannot be opened; what the body throws.
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
    /// - Parameters:
    ///   - service: the service to connect to.
    ///   - request: where it is to be had.
    ///   - onRequest: responds to requests that the service sends; without it they fail.
    ///   - body: gets the open connection.
    /// - Throws: ``RemoteSystemError`` when the connection cannot be opened; what the body throws.
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

    /// Opens a connection, runs the body on its event loop with it and with the requests that the service sends, from
    /// the first on, and closes it.
    ///
    /// - Throws: ``RemoteSystemError`` when the connection cannot be opened; what the body throws.
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
        let status = try await self.open(request)
        guard status == .success else {
            throw self.openError
                ?? RemoteSystemError(.refused, "The connection was not opened (\(status)).", side: .remote)
        }
    }

    /// The same with a time in which the connection has to be open, an application's start over there included.
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
            let result = try await withTaskExecutorPreference(self.taskExecutor) { try await body(self) }
            await self.close()
            return result
        } catch {
            await self.cancel()
            throw error
        }
    }
}
