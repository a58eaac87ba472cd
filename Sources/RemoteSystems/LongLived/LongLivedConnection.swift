// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// A connection to an app service that reconnects after a loss: at a new address, over another interface, or to a
/// restarted host.
///
/// Requests that have not been sent wait for the connection. No request is sent twice unless it allows that
/// (``RequestRetry``): a request that was running when the connection was lost ends with
/// ``AppServiceResponseStatus/unknown``.
///
/// ```swift
/// let connection = LongLivedConnection(
///     to: AppServiceDescription(name: "com.example.lights"),
///     RemoteSystemConnectionRequest(system: livingRoom)
/// )
/// connection.onStateChanged { print($0) }
/// try connection.start()
/// let response = try await connection.send(["Type": "dim"], retry: .idempotent)
/// ```
///
/// For a target that is a system or an application, the connection runs a watcher of its own while it is not connected
/// and the last known address does not respond. A target that is an address is tried at that address only. The
/// connection gives up at once on an error that no further attempt can change: the system does not accept this one,
/// does not offer it the service, or speaks another version.
public final class LongLivedConnection: Sendable {
    /// The state of a long-lived connection. Later versions may add cases: write a default case.
    public enum State: Sendable {
        /// The connection has not been started.
        case idle
        /// A connection attempt is running.
        case connecting
        /// The connection is open.
        case connected(RemoteSystemConnectionInfo)
        /// The connection was lost, or an attempt failed. The next attempt begins at `until`, or earlier if the system
        /// is found.
        case waiting(until: ContinuousClock.Instant, reason: RemoteSystemError)
        /// The connection does not try again. Create another one to retry.
        case gaveUp(RemoteSystemError)
        /// The connection was closed by ``LongLivedConnection/close()`` or ``LongLivedConnection/cancel()``.
        case closed
    }

    /// The service that the connection is for.
    public let service: AppServiceDescription
    private let run: LongLivedRun
    let reception: RequestReception

    /// Creates a connection. ``start()`` opens it.
    ///
    /// - Parameters:
    ///   - service: the service to connect to.
    ///   - request: the system, application or address that offers the service.
    ///   - policy: when to reconnect, and when to give up.
    ///   - onRequest: responds to requests of the service. Without it such requests fail, unless ``requests`` are read.
    public init(
        to service: AppServiceDescription,
        _ request: RemoteSystemConnectionRequest,
        policy: ReconnectionPolicy = ReconnectionPolicy(),
        onRequest: AppServiceConnection.RequestHandler? = nil
    ) {
        self.service = service
        self.reception = RequestReception(onRequest: onRequest)
        self.run = LongLivedRun(service: service, request: request, policy: policy, reception: self.reception)
    }

    /// A connection that is released is closed.
    deinit {
        self.run.abandon()
    }

    /// Starts to connect, and returns at once.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse`` when it was started before, with
    ///   ``RemoteSystemError/Code/invalidArgument`` when the policy, the service's name, the port or the configuration
    ///   is not valid.
    public func start() throws(RemoteSystemError) {
        try self.run.start()
    }

    /// The present state.
    public var state: State { self.run.state }

    /// Information about the open connection; `nil` while there is none.
    public var info: RemoteSystemConnectionInfo? {
        if case .connected(let info) = self.state { info } else { nil }
    }

    /// The states from now on, the present one first. Ends after ``State/gaveUp(_:)`` or ``State/closed``.
    ///
    /// Each access returns a new sequence, for one reader. Buffer policy: the newest 64 unread states are kept, so a
    /// slow reader misses older states, never the last one.
    public var states: AsyncStream<State> { self.run.states }

    /// Registers a listener for new states. It is called one state at a time, in their order, until cancelled.
    ///
    /// The connection waits for the listeners. In particular, waiting requests are sent only after every listener has
    /// returned from the call that reports the connection as open.
    @discardableResult
    public func onStateChanged(_ listener: @escaping @Sendable (State) -> Void) -> ListenerRegistration {
        self.run.onStateChanged(listener)
    }

    /// Sends a request and waits for its response, over any connection that opens before the deadline.
    ///
    /// - Parameters:
    ///   - message: the request's content. It must satisfy the service's schema.
    ///   - timeout: the maximum time to wait in total, for the connection and for the response. Defaults to the
    ///     configuration's request timeout. Valid range: 0–24 h.
    ///   - retry: whether to send the request again when the connection is lost before the response. Defaults to
    ///     ``RequestRetry/never``.
    ///   - metadata: key-value pairs that are sent with the message.
    /// - Returns: the status and the response, as ``AppServiceConnection`` returns them. Further statuses, with which
    ///   nothing was sent:
    ///   - ``AppServiceResponseStatus/remoteSystemUnavailable`` when no connection opened before the deadline, or the
    ///     connection gave up,
    ///   - ``AppServiceResponseStatus/connectionClosed`` when the connection was closed before,
    ///   - ``AppServiceResponseStatus/resourceLimitsExceeded`` when ``ReconnectionPolicy/waitingRequests`` requests
    ///     wait already.
    ///
    ///   If a request was sent and lost before, the status is ``AppServiceResponseStatus/unknown`` instead of any of
    ///   these.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/invalidMessage`` when the message does not satisfy
    ///   the schema, ``RemoteSystemError/Code/misuse`` when the connection was never started,
    ///   ``RemoteSystemError/Code/invalidArgument`` when the timeout is out of range; `CancellationError`. In these
    ///   cases nothing has been sent, or the service was notified to cancel the request.
    public func send(
        _ message: ValueSet,
        timeout: Duration? = nil,
        retry: RequestRetry = .never,
        metadata: RequestMetadata = RequestMetadata()
    ) async throws -> AppServiceResponse {
        try await self.run.send(message, timeout: timeout, retry: retry, metadata: metadata)
    }

    /// Closes the connection after the response to every sent request, and returns when it is closed.
    ///
    /// Waiting requests are not sent. Closing twice has no effect.
    public func close() async {
        await self.run.close()
    }

    /// Closes the connection at once. Running requests end with ``AppServiceResponseStatus/unknown``; waiting requests
    /// are not sent.
    public func cancel() async {
        await self.run.cancel()
    }
}

extension LongLivedConnection.State: CustomStringConvertible {
    /// The state's name, with the peer or the reason where there is one.
    public var description: String {
        switch self {
        case .idle: "idle"
        case .connecting: "connecting"
        case .connected(let info): "connected to \(info.peer.systemID.short)"
        case .waiting(_, let reason): "waiting: \(reason)"
        case .gaveUp(let error): "gave up: \(error)"
        case .closed: "closed"
        }
    }
}
