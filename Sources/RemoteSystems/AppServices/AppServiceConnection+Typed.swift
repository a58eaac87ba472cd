// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

extension AppServiceConnection {
    /// Sends a message of your own type and waits for an answer of your own type.
    ///
    /// - Throws: ``RemoteSystemError`` when there is no answer, or the answer is of another form; `CancellationError`.
    public func send<Message: Encodable, Response: Decodable>(
        _ message: Message,
        expecting response: Response.Type = Response.self,
        timeout: Duration? = nil,
        idempotencyKey: IdempotencyKey? = nil
    ) async throws -> Response {
        let set = try ValueSet(sending: message)
        return try await self.send(set, timeout: timeout, idempotencyKey: idempotencyKey).get().response()
    }
}

extension LongLivedConnection {
    /// Sends a message of your own type and waits for an answer of your own type, over whichever connection there is by
    /// its deadline; see ``send(_:timeout:retry:)``.
    ///
    /// - Throws: ``RemoteSystemError`` when there is no answer, or the answer is of another form; `CancellationError`.
    public func send<Message: Encodable, Response: Decodable>(
        _ message: Message,
        expecting response: Response.Type = Response.self,
        timeout: Duration? = nil,
        retry: RequestRetry = .never
    ) async throws -> Response {
        let set = try ValueSet(sending: message)
        return try await self.send(set, timeout: timeout, retry: retry).get().response()
    }
}

extension ValueSet {
    fileprivate init(sending message: some Encodable) throws(RemoteSystemError) {
        do {
            self = try ValueSetEncoder().encode(message)
        } catch {
            throw RemoteSystemError(
                .invalidMessage,
                "The message cannot be encoded.",
                side: .local,
                cause: error
            )
        }
    }

    fileprivate func response<Response: Decodable>(as type: Response.Type = Response.self) throws(RemoteSystemError)
        -> Response
    {
        do {
            return try ValueSetDecoder().decode(Response.self, from: self)
        } catch {
            throw RemoteSystemError(
                .protocolViolation,
                "The answer has another form than \(Response.self).",
                side: .remote,
                outcome: .unknown,
                cause: error
            )
        }
    }
}

extension RemoteSystemApplication {
    /// Opens a connection to one of the application's services, runs the body with it, and closes it.
    ///
    /// The body runs on the connection's event loop: requests cost no thread switch, and whatever blocks there delays
    /// them.
    ///
    /// - Throws: ``RemoteSystemError`` when the connection cannot be opened; what the body throws.
    public func withAppService<Result: Sendable>(
        _ service: String,
        schema: AllowedValueSchema = .appService,
        _ body: @Sendable (AppServiceConnection) async throws -> Result
    ) async throws -> Result {
        try await AppServiceConnection.with(
            AppServiceDescription(name: service, applicationID: self.id, schema: schema),
            RemoteSystemConnectionRequest(application: self),
            body
        )
    }
}

extension AppServiceConnection {
    /// Opens a connection, runs the body with it on its event loop, and closes it.
    ///
    /// - Throws: ``RemoteSystemError`` when the connection cannot be opened; what the body throws.
    public static func with<Result: Sendable>(
        _ service: AppServiceDescription,
        _ request: RemoteSystemConnectionRequest,
        _ body: @Sendable (AppServiceConnection) async throws -> Result
    ) async throws -> Result {
        let connection = AppServiceConnection(to: service)
        let status = try await connection.open(request)
        guard status == .success else {
            throw connection.openError
                ?? RemoteSystemError(.refused, "The connection was not opened (\(status)).", side: .remote)
        }
        return try await connection.use(body)
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
