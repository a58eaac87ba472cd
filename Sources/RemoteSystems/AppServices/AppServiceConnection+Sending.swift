// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsTransport
internal import Synchronization
public import ValueSets

extension AppServiceConnection {
    /// Sends a request and waits for its response.
    ///
    /// Requests reach the service in the order in which they are sent. Responses may arrive in any order. At most
    /// ``RemoteSystemConnectionInfo/requestWindow`` requests of a connection run at the same time. Up to 65 536 further
    /// requests wait until others are finished.
    ///
    /// When the calling task is cancelled, the method throws, and the service is notified. The service then cancels its
    /// handler, unless the request has an idempotency key.
    ///
    /// An idempotency key makes it safe to repeat a request when no response arrived. A host executes only the first of
    /// the requests that one system sends to one service with the same key. It sends the response to all of these
    /// requests, even over other connections. The first request continues until its deadline, even when it is cancelled
    /// or its connection is lost. The host remembers the key and the response for five minutes. While it remembers as
    /// many keys as it can, it refuses requests with new keys. It does not remember a response that permits a retry. An
    /// older host that does not support keys executes every request.
    ///
    /// - Parameters:
    ///   - message: the message. It must satisfy the service's request schema.
    ///   - timeout: the time to wait for the response. When it expires, the handler is cancelled. Defaults to
    ///     ``RemoteSystemsConfiguration/Transport/requestTimeout``. Valid range: 0–24 h.
    ///   - idempotencyKey: identifies the operation. Defaults to `nil`: each request is executed.
    ///   - metadata: data sent beside the message, for the interceptors and the handler of the peer. Defaults to none.
    /// - Returns: the response, or the status and the error that explain why there is none:
    ///   - ``AppServiceResponseStatus/failure`` when the service could not execute the request, or its response does
    ///     not satisfy the response schema,
    ///   - ``AppServiceResponseStatus/unknown`` after a lost connection or an expired deadline: it cannot be known
    ///     whether the request was executed,
    ///   - ``AppServiceResponseStatus/resourceLimitsExceeded`` when the request could not be sent before the deadline,
    ///     because the maximum number of requests was running, when 65 536 requests are already waiting, or when the
    ///     host accepts no further idempotency key for now,
    ///   - ``AppServiceResponseStatus/messageTooLarge`` when the message or the response is larger than its receiver
    ///     accepts,
    ///   - ``AppServiceResponseStatus/connectionClosed`` when the connection was closed before the request was sent.
    ///
    ///   The error states whether a retry may succeed.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/invalidMessage`` when the message does not satisfy
    ///   the schema or the metadata breaks its rules, with ``RemoteSystemError/Code/misuse`` when the connection was
    ///   never opened, with ``RemoteSystemError/Code/invalidArgument`` when the timeout is outside its range;
    ///   `CancellationError`; any error of an interceptor. When the method throws, either nothing was sent or the
    ///   service was notified to cancel the request.
    public func send(
        _ message: ValueSet,
        timeout: Duration? = nil,
        idempotencyKey: IdempotencyKey? = nil,
        metadata: RequestMetadata = RequestMetadata()
    ) async throws -> AppServiceResponse {
        guard let open = try self.openState() else { return .closed }
        guard let interceptors = open.interceptors else {
            return try await Self.send(message, timeout, idempotencyKey, metadata, over: open)
        }
        return try await self.send(
            AppServiceClientRequest(
                message: message,
                metadata: metadata,
                timeout: timeout,
                idempotencyKey: idempotencyKey
            ),
            through: interceptors,
            over: open
        )
    }

    /// Sends the request after the interceptors have processed it.
    ///
    /// Not inlined, like the functions below: a task keeps the memory of its deepest call, with the variables of every
    /// function that was inlined into an `async` one.
    @inline(never)
    private func send(
        _ request: AppServiceClientRequest,
        through interceptors: ClientInterceptorChain,
        over open: Open
    ) async throws -> AppServiceResponse {
        try await interceptors.send(
            request,
            AppServiceClientContext(service: self.service.name, connection: open.info, isPush: self.isServing)
        ) { try await Self.send($0.message, $0.timeout, $0.idempotencyKey, $0.metadata, over: open) }
    }

    @inline(__always)
    private static func send(
        _ message: ValueSet,
        _ timeout: Duration?,
        _ idempotencyKey: IdempotencyKey?,
        _ metadata: RequestMetadata,
        over open: Open
    ) async throws -> AppServiceResponse {
        try Self.check(message, timeout, metadata, open)
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

    /// Returns the state of the open connection; `nil` if it is closed.
    @inline(never)
    private func openState() throws -> Open? {
        switch self.guarded.withLock({ $0.state }) {
        case .open(let open): return open
        case .closed: return nil
        case .idle, .opening:
            throw RemoteSystemError(
                .misuse,
                "The connection is not open yet. Call 'open(_:)' and wait for its result before sending.",
                side: .local
            )
        }
    }

    @inline(never)
    private static func check(
        _ message: ValueSet,
        _ timeout: Duration?,
        _ metadata: RequestMetadata,
        _ open: Open
    ) throws {
        if let timeout { try ArgumentCheck.check("timeout", timeout, in: .requestTimeouts) }
        do {
            try open.requestRule.check(message)
        } catch {
            throw RemoteSystemError(error)
        }
        try metadata.check()
    }

    @inline(never)
    private static func response(_ response: Response, _ rule: MessageRule) -> AppServiceResponse {
        guard response.status == .success else {
            return AppServiceResponse(
                status: AppServiceResponseStatus(response.status),
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

    @inline(never)
    private static func response(_ error: TransportError) throws -> AppServiceResponse {
        var failure = RemoteSystemError(error)
        // An ended connection does not come back: the request can succeed only over another one.
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

    /// Sends a frame unchecked, without adding the length field. A host uses it to test how its callers handle unknown
    /// frames.
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

    /// Returns this response as retryable, for callers that use another connection for the next attempt.
    var overAnotherConnection: AppServiceResponse {
        guard self.error?.isOfEndedConnection == true else { return self }
        var response = self
        response.error?.canRetry = true
        return response
    }
}

extension RemoteSystemError {
    /// Whether the connection for the request has ended.
    fileprivate var isOfEndedConnection: Bool { self.code == .connectionClosed || self.code == .connectionLost }
}
