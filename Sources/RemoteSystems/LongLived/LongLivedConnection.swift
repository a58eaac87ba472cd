// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// A connection to an app service that reconnects after a loss: at a new address, over another interface, or to a
/// restarted host.
///
/// Requests that have not been sent wait for the connection. A request is not sent twice, unless its ``RequestRetry``
/// allows it: a request that was running when the connection was lost ends with ``AppServiceResponseStatus/unknown``.
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
/// If the target is a system or an application, a watcher searches for it while the connection is down and the last
/// known address does not respond. If the target is an address, the connection is tried at that address only. The
/// connection gives up at once on an error that no further attempt can change: the host refuses this system, does not
/// offer the service to it, or has no protocol version in common with it.
public final class LongLivedConnection: Sendable {
    /// The state of a long-lived connection. Later versions may add cases: write a default case.
    public enum State: Sendable {
        /// The connection has not been started.
        case idle
        /// A connection attempt is running.
        case connecting
        /// The connection is open, to the process that the value describes.
        case connected(RemoteSystemConnectionInfo)
        /// The connection was lost, or an attempt failed, for the reason in `reason`. The next attempt begins at
        /// `until`, or earlier if the system is found. ``ReconnectionPolicy`` sets the delays.
        case waiting(until: ContinuousClock.Instant, reason: RemoteSystemError)
        /// The connection does not try again, for the reason that the error describes. The last state: create another
        /// connection to retry.
        case gaveUp(RemoteSystemError)
        /// The connection was closed by ``LongLivedConnection/close()`` or ``LongLivedConnection/cancel()``. The
        /// last state.
        case closed
    }

    /// The service to connect to.
    public let service: AppServiceDescription
    private let run: LongLivedRun
    let reception: RequestReception

    /// Creates a connection. ``start()`` opens it.
    ///
    /// - Parameters:
    ///   - service: the service to connect to.
    ///   - request: the system, application or address that offers the service.
    ///   - policy: when to reconnect, and when to give up. Defaults to ``ReconnectionPolicy/init()``.
    ///   - onRequest: responds to requests that the service sends. Runs on the event loop of the present connection.
    ///     Without it, such requests fail, unless ``requests`` are read. Defaults to `nil`.
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

    /// Starts to connect, and returns at once. ``state`` and ``onStateChanged(_:)`` report the progress.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse`` when the connection was started before,
    ///   with ``RemoteSystemError/Code/invalidArgument`` when the policy, the service's name, the port or the
    ///   configuration is not valid.
    public func start() throws(RemoteSystemError) {
        try self.run.start()
    }

    /// The present state of the connection. Callbacks and sequences report the same states in the same order.
    public var state: State { self.run.state }

    /// Information about the open connection; `nil` while there is none.
    public var info: RemoteSystemConnectionInfo? {
        if case .connected(let info) = self.state { info } else { nil }
    }

    /// The states from now on, the present one first. The sequence ends after ``State/gaveUp(_:)`` or ``State/closed``.
    ///
    /// Each access returns a new sequence, for one reader. Buffer policy: the newest 64 unread states are kept, so a
    /// slow reader misses older states, never the last one.
    public var states: AsyncStream<State> { self.run.states }

    /// Registers a callback for new states.
    ///
    /// The callback is not called for the present state. The connection waits until each callback returns. For example,
    /// it sends waiting requests only after all callbacks have returned from the call with the state *open*.
    ///
    /// - Parameter listener: receives the new state. Called from a task of the connection, one state at a time, in
    ///   order.
    /// - Returns: a registration that removes the callback. It may be discarded.
    @discardableResult
    public func onStateChanged(_ listener: @escaping @Sendable (State) -> Void) -> ListenerRegistration {
        self.run.onStateChanged(listener)
    }

    /// Sends a request and waits for its response, over any connection that opens before the deadline.
    ///
    /// When the calling task is cancelled, a waiting request is withdrawn. If the request was sent, the service is
    /// notified to cancel its handler.
    ///
    /// - Parameters:
    ///   - message: the message. It must satisfy the service's request schema.
    ///   - timeout: the maximum time to wait in total, for the connection and for the response. Defaults to
    ///     ``RemoteSystemsConfiguration/Transport/requestTimeout``. Valid range: 0–24 h.
    ///   - retry: whether to send the request again when the connection is lost before the response. Defaults to
    ///     ``RequestRetry/never``.
    ///   - metadata: data sent beside the message, for the interceptors and the handler of the peer. Defaults to none.
    /// - Returns: the status and the response. ``AppServiceConnection/send(_:timeout:idempotencyKey:metadata:)`` lists
    ///   the statuses of a request that was sent. The following statuses report that nothing was sent:
    ///   - ``AppServiceResponseStatus/remoteSystemUnavailable`` when no connection opened before the deadline, or the
    ///     connection gave up,
    ///   - ``AppServiceResponseStatus/connectionClosed`` when the connection was closed,
    ///   - ``AppServiceResponseStatus/resourceLimitsExceeded`` when ``ReconnectionPolicy/waitingRequests`` requests
    ///     wait already.
    ///
    ///   If the request was sent over a connection that was lost, the status is ``AppServiceResponseStatus/unknown``
    ///   instead of any of these.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/invalidMessage`` when the message does not satisfy
    ///   the schema, with ``RemoteSystemError/Code/misuse`` when the connection was never started, with
    ///   ``RemoteSystemError/Code/invalidArgument`` when the timeout is outside its range; `CancellationError`. When
    ///   the method throws, either nothing was sent or the service was notified to cancel the request.
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
    /// Sent requests that have no response after ``RemoteSystemsConfiguration/Transport/drainTimeout`` are aborted.
    /// Waiting requests are not sent and end with ``AppServiceResponseStatus/connectionClosed``. Closing twice has no
    /// effect.
    public func close() async {
        await self.run.close()
    }

    /// Closes the connection at once, and returns when it is closed.
    ///
    /// Running requests end with ``AppServiceResponseStatus/unknown``. Waiting requests are not sent and end with
    /// ``AppServiceResponseStatus/connectionClosed``.
    public func cancel() async {
        await self.run.cancel()
    }
}

extension LongLivedConnection.State: CustomStringConvertible {
    /// The state's name, with the peer or the reason if there is one.
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
