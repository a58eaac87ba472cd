// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

extension AppServiceConnection {
    /// Sends a message of your own type and waits for an answer of your own type.
    ///
    /// - Throws: ``RemoteSystemError`` when there is no answer, or the answer is of another form; `CancellationError`.
    public func send<Message: Encodable, Answer: Decodable>(
        _ message: Message,
        expecting answer: Answer.Type = Answer.self,
        timeout: Duration? = nil
    ) async throws -> Answer {
        let set: ValueSet
        do {
            set = try ValueSetEncoder().encode(message)
        } catch {
            throw RemoteSystemError(
                .invalidMessage,
                "The message cannot be encoded.",
                side: .local,
                cause: error
            )
        }
        let response = try await self.send(set, timeout: timeout).get()
        do {
            return try ValueSetDecoder().decode(Answer.self, from: response)
        } catch {
            throw RemoteSystemError(
                .protocolViolation,
                "The answer has another form than \(Answer.self).",
                side: .remote,
                outcome: .unknown,
                cause: error
            )
        }
    }

    /// Runs the body on the connection's executor, where sending costs no thread switch.
    func run<Result>(
        _ body: sending (AppServiceConnection) async throws -> sending Result
    ) async throws -> sending Result {
        try await body(self)
    }
}

extension RemoteSystemApplication {
    /// Opens a connection to one of the application's services, runs the body with it, and closes it.
    ///
    /// The body runs on the connection's executor: requests cost no thread switch, and what blocks there delays them.
    ///
    /// - Throws: ``RemoteSystemError`` when the connection cannot be opened; what the body throws.
    public func withAppService<Result>(
        _ service: String,
        schema: AllowedValueSchema = .appService,
        _ body: sending (AppServiceConnection) async throws -> sending Result
    ) async throws -> sending Result {
        try await AppServiceConnection.with(
            AppServiceDescription(name: service, packageID: self.id, schema: schema),
            RemoteSystemConnectionRequest(application: self),
            body
        )
    }
}

extension AppServiceConnection {
    /// Opens a connection, runs the body with it on its executor, and closes it.
    ///
    /// - Throws: ``RemoteSystemError`` when the connection cannot be opened; what the body throws.
    public static func with<Result>(
        _ service: AppServiceDescription,
        _ request: RemoteSystemConnectionRequest,
        _ body: sending (AppServiceConnection) async throws -> sending Result
    ) async throws -> sending Result {
        let connection = AppServiceConnection(to: service)
        let status = try await connection.open(request)
        guard status == .success else {
            throw await connection.openError
                ?? RemoteSystemError(.refused, "The connection was not opened (\(status)).", side: .remote)
        }
        do {
            let result = try await connection.run(body)
            await connection.close()
            return result
        } catch {
            await connection.cancel()
            throw error
        }
    }
}
