// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
public import ValueSets

extension AppServiceConnection {
    /// Sends one message over a connection of its own and waits for the response.
    ///
    /// Every call opens and closes a connection, which costs a handshake. To send messages regularly, open a
    /// connection.
    ///
    /// - Parameters:
    ///   - message: the message. It must satisfy the service's request schema.
    ///   - service: the service to call.
    ///   - request: the system, application or address that offers the service.
    ///   - timeout: the time for the whole operation, including the start of the application on the other system.
    ///     Defaults to ``RemoteSystemsConfiguration/Transport/requestTimeout``. Valid range: 0–24 h.
    ///   - idempotencyKey: identifies the operation, so that the message can safely be sent again
    ///     (``send(_:timeout:idempotencyKey:metadata:)``). Defaults to `nil`.
    ///   - metadata: data sent beside the message, for the interceptors and the handler of the peer. Defaults to none.
    /// - Returns: the status and the response. The status is
    ///   ``StatelessAppServiceResponseStatus/remoteSystemUnavailable`` when the connection was not open by the
    ///   deadline, and ``StatelessAppServiceResponseStatus/unknown`` when no response arrived. The
    ///   ``StatelessAppServiceResponse/error`` states whether a retry may succeed and whether the request may have been
    ///   executed.
    /// - Throws: ``RemoteSystemError`` for a failure on this side:
    ///   - ``RemoteSystemError/Code/invalidMessage`` when the message does not satisfy the schema or the metadata
    ///     breaks its rules,
    ///   - ``RemoteSystemError/Code/invalidArgument`` when the timeout, the service's name, the host, the port or the
    ///     configuration is not valid,
    ///   - ``RemoteSystemError/Code/misuse`` when the address is outside ``RemoteSystemsConfiguration/network``,
    ///   - ``RemoteSystemError/Code/identity`` when this system's own identity cannot be used,
    ///   - ``RemoteSystemError/Code/localResources`` when the process cannot open enough files.
    ///
    ///   Also `CancellationError`, and any error of an interceptor.
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
        let whole = timeout ?? request.origin.configuration.transport.requestTimeout
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
        "The connection was not open by the deadline; nothing was sent. Try again, or use a longer timeout.",
        side: .network,
        canRetry: true
    )

    /// Opens the connection within a time limit, which includes the start of the application on the other system.
    ///
    /// - Throws: ``RemoteSystemError`` with the reason why the connection could not be opened, with
    ///   ``RemoteSystemError/Code/deadlineExceeded`` when it was not open in time; `CancellationError`.
    package func open(_ request: RemoteSystemConnectionRequest, in time: Duration) async throws {
        let status = try await self.open(request, within: time)
        guard status != .success else { return }
        throw status == nil
            ? Self.notOpenInTime
            : self.openError ?? RemoteSystemError(.refused, "The connection was not opened.", side: .remote)
    }

    /// Opens the connection, or returns `nil` after the time limit. The configured start timeout does not apply.
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
