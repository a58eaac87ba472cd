// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
public import ValueSets

extension AppServiceConnection {
    /// Sends one message and waits for its answer, without a connection of the caller's own: it is opened, used and closed
    /// Costs a handshake each time; open a connection for more than a message now and then.
    ///
    /// - Parameters:
    ///   - message: what to send. It must satisfy the service's schema.
    ///   - service: the service that is to get it.
    ///   - request: the system or application that offers it.
    ///   - timeout: how long all of it may take, an application's start over there included; the configuration's request timeout
    ///     unless given. Valid range: 0–24 h.
    ///   - idempotencyKey: see ``send(_:timeout:idempotencyKey:metadata:)``.
    ///   - metadata: what is sent beside the message.
    /// - Returns: the status and the answer.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/invalidMessage`` when the message does not satisfy the
    ///   schema, or when this system's own identity cannot be used; `CancellationError`.
    public static func sendStateless(
        _ message: ValueSet,
        to service: AppServiceDescription,
        request: RemoteSystemConnectionRequest,
        timeout: Duration? = nil,
        idempotencyKey: IdempotencyKey? = nil,
        metadata: RequestMetadata = RequestMetadata()
    ) async throws -> StatelessAppServiceResponse {
        try ArgumentCheck.check("timeout", timeout, in: .requestTimeouts)
        let time = request.origin.environment.time
        let whole = timeout ?? request.origin.configuration.requestTimeout
        let deadline = time.now + whole
        let connection = AppServiceConnection(to: service)
        guard let status = try await connection.open(request, within: whole) else {
            return StatelessAppServiceResponse(status: .remoteSystemUnavailable, error: Self.notOpenInTime)
        }
        if let failed = StatelessAppServiceResponseStatus(status) {
            return StatelessAppServiceResponse(status: failed, error: connection.openError)
        }
        do {
            let response = try await connection.send(
                message,
                timeout: max(deadline - time.now, .zero),
                idempotencyKey: idempotencyKey,
                metadata: metadata
            ).overAnotherConnection
            await connection.close()
            return StatelessAppServiceResponse(
                status: StatelessAppServiceResponseStatus(response.status),
                message: response.message,
                error: response.error
            )
        } catch {
            await connection.cancel()
            throw error
        }
    }

    private static let notOpenInTime = RemoteSystemError(
        .deadlineExceeded,
        "No connection was open by the deadline; nothing was sent. Try again, or allow it more time.",
        side: .network,
        canRetry: true
    )

    /// Opens the connection, or says why not; what is over first, this time or opening, decides.
    package func open(_ request: RemoteSystemConnectionRequest, in time: Duration) async throws {
        let status = try await self.open(request, within: time)
        guard status != .success else { return }
        throw status == nil
            ? Self.notOpenInTime : self.openError ?? RemoteSystemError(.refused, "It was not opened.", side: .remote)
    }

    /// Opens the connection; gives up, with nil, after this time, which alone limits how long an application may take to start.
    private func open(
        _ request: RemoteSystemConnectionRequest,
        within whole: Duration
    ) async throws -> AppServiceConnectionStatus? {
        try await withThrowingTaskGroup(of: AppServiceConnectionStatus?.self) { group in
            group.addTask { try await self.open(request, startTimeout: whole) }
            group.addTask {
                try await request.origin.environment.time.sleep(for: whole)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
