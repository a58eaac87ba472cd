// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsTransport
internal import Synchronization
public import ValueSets

extension AppServiceConnection {
    /// Sends a request and waits for its answer.
    ///
    /// Requests reach the service in the order in which they are sent; answers may come in any order. Any number may be
    /// under way: beyond what the other side takes at once they wait their turn, at most 65 536 of them.
    ///
    /// - Parameters:
    ///   - message: what to send. It must satisfy the service's request schema.
    ///   - timeout: how long to wait; the configuration's request timeout unless given. When it is over, the
    ///     handler is cancelled. Valid range: 0–24 h.
    ///   - idempotencyKey: names what is asked for, so that it may be asked for again when no answer came: a host
    ///     carries out requests of one system to one service with one key once, and gives every one the first one's
    ///     answer, over other connections too, while it remembers (five minutes, unless it is short of room). Such a
    ///     request goes on when it is cancelled or its connection is lost, until its deadline. An answer that says that
    ///     trying again may help is not remembered. Needs a host that knows keys; an older one carries out each
    ///     request.
    ///   - metadata: what is sent beside the message, for the interceptors and the handler on the other side.
    /// - Returns: the status and the answer. A connection that is lost, or a deadline that passes, ends in
    ///   ``AppServiceResponseStatus/unknown``: whether the request was carried out cannot be known. A request for which
    ///   the other side had no room before its deadline, or for which there was no room to wait, ends in
    ///   ``AppServiceResponseStatus/resourceLimitsExceeded``.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/invalidMessage`` when the message does not satisfy
    ///   the schema, or the metadata breaks its rules, ``RemoteSystemError/Code/misuse`` when the connection was never
    ///   opened, ``RemoteSystemError/Code/invalidArgument`` when the timeout is out of range; `CancellationError`; what
    ///   an interceptor throws. Nothing has been sent then, or the service has been told to stop.
    public func send(
        _ message: ValueSet,
        timeout: Duration? = nil,
        idempotencyKey: IdempotencyKey? = nil,
        metadata: RequestMetadata = RequestMetadata()
    ) async throws -> AppServiceResponse {
        let open: Open
        switch self.guarded.withLock({ $0.state }) {
        case .open(let now): open = now
        case .closed: return .closed
        case .idle, .opening:
            throw RemoteSystemError(
                .misuse,
                "The connection is not open yet. Call 'open(_:)' and wait for its result before sending.",
                side: .local
            )
        }
        guard let interceptors = open.interceptors else {
            return try await Self.send(message, timeout, idempotencyKey, metadata, over: open)
        }
        return try await interceptors.send(
            AppServiceClientRequest(
                message: message,
                metadata: metadata,
                timeout: timeout,
                idempotencyKey: idempotencyKey
            ),
            AppServiceClientContext(service: self.service.name, connection: open.info, isPush: self.isServing)
        ) { try await Self.send($0.message, $0.timeout, $0.idempotencyKey, $0.metadata, over: open) }
    }

    /// Sends it, whatever it has been through.
    @inline(__always)
    private static func send(
        _ message: ValueSet,
        _ timeout: Duration?,
        _ idempotencyKey: IdempotencyKey?,
        _ metadata: RequestMetadata,
        over open: Open
    ) async throws -> AppServiceResponse {
        if let timeout { try ArgumentCheck.check("timeout", timeout, in: .requestTimeouts) }
        do {
            try open.requestRule.check(message)
        } catch {
            throw RemoteSystemError(error)
        }
        try metadata.check()
        do {
            let response = try await open.connection.send(
                message,
                timeout: timeout.map { TimeAmount($0) } ?? open.requestTimeout,
                key: idempotencyKey?.bytes,
                metadata: TraceContext.inject(into: metadata, for: open.info.peer).values
            )
            return Self.response(response, open.responseRule)
        } catch let error as TransportError {
            return try Self.response(error)
        }
    }

    private static func response(_ response: Response, _ rule: MessageRule) -> AppServiceResponse {
        guard response.status == .success else {
            return AppServiceResponse(
                status: AppServiceResponseStatus(rawValue: Int(clamping: response.status.rawValue)),
                message: response.message,
                error: RemoteSystemError(
                    response.status == .messageTooLarge ? .messageTooLarge : .serviceFailed,
                    response.failure?.text ?? "The service could not carry out the request.",
                    side: .remote,
                    canRetry: response.failure?.canRetry ?? false,
                    outcome: .failed,
                    failureCode: response.failure?.code
                )
            )
        }
        do {
            try rule.check(response.message)
            return AppServiceResponse(status: .success, message: response.message)
        } catch {
            return AppServiceResponse(
                status: .failure,
                error: RemoteSystemError(
                    .protocolViolation,
                    "The service's response does not satisfy the response schema: \(error)",
                    side: .remote,
                    outcome: .unknown,
                    cause: error
                )
            )
        }
    }

    private static func response(_ error: TransportError) throws -> AppServiceResponse {
        var failure = RemoteSystemError(error)
        // A connection that has ended stays so: only over another one can the request succeed.
        if failure.isOfEndedConnection { failure.canRetry = false }
        switch error.code {
        case .connectionClosed: return AppServiceResponse(status: .connectionClosed, error: failure)
        case .messageTooLarge: return AppServiceResponse(status: .messageTooLarge, error: failure)
        case .localResources: return AppServiceResponse(status: .resourceLimitsExceeded, error: failure)
        case .deadlineExceeded where !error.wasSent:
            return AppServiceResponse(status: .resourceLimitsExceeded, error: failure)
        case .invalidMessage: throw failure
        default: return AppServiceResponse(status: .unknown, error: failure)
        }
    }

    /// Sends a frame as it is, without its length field; for a host that checks how its callers take what they do not
    /// know.
    package func send(unchecked frame: [UInt8]) {
        guard case .open(let open) = self.guarded.withLock({ $0.state }) else { return }
        open.connection.send(unchecked: frame)
    }
}

extension AppServiceResponse {
    fileprivate static let closed = AppServiceResponse(
        status: .connectionClosed,
        error: RemoteSystemError(
            .connectionClosed,
            "The connection is closed; nothing was sent. Open a new one.",
            side: .local
        )
    )

    /// The same for one who sends over another connection next time, which may help.
    var overAnotherConnection: AppServiceResponse {
        guard self.error?.isOfEndedConnection == true else { return self }
        var response = self
        response.error?.canRetry = true
        return response
    }
}

extension RemoteSystemError {
    /// Whether it says that the connection has ended over which a request was, or was to be, sent.
    fileprivate var isOfEndedConnection: Bool { self.code == .connectionClosed || self.code == .connectionLost }
}
