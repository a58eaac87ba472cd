// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// A connection to an app service that comes back after a loss: at a new address, over another interface, to a restarted
/// host (issue 3, section 2).
///
/// Requests that have not been sent wait for it. Nothing is sent twice unless the request says that it may be: what was
/// under way when the connection was lost ends in ``AppServiceResponseStatus/unknown``.
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
/// A request for a system or an application is looked for by a watcher of the connection's own while it is not
/// connected and the last known address does not answer; one for an address is tried at that address only. What no
/// further attempt can change ends it at once: that the system does not let us in, does not offer the service to us, or
/// speaks another version.
public final class LongLivedConnection: Sendable {
    /// Where a connection is in its life. More cases may come: have a default case.
    public enum State: Sendable {
        /// It has not been started.
        case idle
        /// An attempt is being made.
        case connecting
        /// It is open.
        case connected(RemoteSystemConnectionInfo)
        /// It was lost, or an attempt has failed. The next one is made then at the latest; sooner if the system is seen.
        case waiting(until: ContinuousClock.Instant, reason: RemoteSystemError)
        /// It tries no more. Make another one when there is a reason to.
        case gaveUp(RemoteSystemError)
        /// It was closed by its owner.
        case closed
    }

    /// The service that it is connected to.
    public let service: AppServiceDescription
    private let run: LongLivedRun
    let reception: RequestReception

    /// A connection that is still to be started.
    ///
    /// - Parameters:
    ///   - service: the service it connects to.
    ///   - request: where it is to be had.
    ///   - policy: how it comes back.
    ///   - onRequest: responds to requests that the service sends us. Without it they fail, unless ``requests`` are
    ///     read.
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

    /// A connection that nobody holds any more is given up.
    deinit {
        self.run.abandon()
    }

    /// Starts to connect, and returns at once.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse`` when it was started before, with
    ///   ``RemoteSystemError/Code/invalidArgument`` when the policy, the service's name, the port or the configuration is not
    ///   valid.
    public func start() throws(RemoteSystemError) {
        try self.run.start()
    }

    /// Where it is now.
    public var state: State { self.run.state }

    /// Facts of the open connection; `nil` while there is none.
    public var info: RemoteSystemConnectionInfo? {
        if case .connected(let info) = self.state { info } else { nil }
    }

    /// Every state from now on, the present one first. Ends behind ``State/gaveUp(_:)`` or ``State/closed``.
    ///
    /// Each call makes a sequence of its own, for one reader. Buffer policy: of what a reader has not read yet the newest
    /// 64 are kept, so one that is slow misses old transitions and never the last.
    public var states: AsyncStream<State> { self.run.states }

    /// Calls back for each new state, one after the other, in their order. It stays registered until cancelled.
    ///
    /// What comes next waits for it, requests included: they are sent when all listeners have heard that there is a connection.
    @discardableResult
    public func onStateChanged(_ listener: @escaping @Sendable (State) -> Void) -> ListenerRegistration {
        self.run.onStateChanged(listener)
    }

    /// Sends a request and waits for its answer, over whichever connection there is by its deadline.
    ///
    /// - Parameters:
    ///   - message: what to send. It must satisfy the service's schema.
    ///   - timeout: how long to wait in all, for the connection and for the answer; the configuration's request timeout
    ///     unless given. Valid range: 0–24 h.
    ///   - retry: whether it may be sent again when the connection is lost before the answer.
    ///   - metadata: what is sent beside the message.
    /// - Returns: the status and the answer, as ``AppServiceConnection`` has them, and besides:
    ///   ``AppServiceResponseStatus/remoteSystemUnavailable`` when there was no connection by the deadline, or it gave up:
    ///   nothing was sent; ``AppServiceResponseStatus/connectionClosed`` when it was closed before: nothing was sent;
    ///   ``AppServiceResponseStatus/resourceLimitsExceeded`` when more than
    ///   ``ReconnectionPolicy/waitingRequests`` wait already: nothing was sent. Where a request was sent and lost, and sent
    ///   again without an answer, the status is ``AppServiceResponseStatus/unknown`` whatever ended the waiting.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/invalidMessage`` when the message does not satisfy the
    ///   schema, ``RemoteSystemError/Code/misuse`` when it was never started, ``RemoteSystemError/Code/invalidArgument`` when the
    ///   timeout is out of range; `CancellationError`. Nothing has been sent then, or the service has been told to stop.
    public func send(
        _ message: ValueSet,
        timeout: Duration? = nil,
        retry: RequestRetry = .never,
        metadata: RequestMetadata = RequestMetadata()
    ) async throws -> AppServiceResponse {
        try await self.run.send(message, timeout: timeout, retry: retry, metadata: metadata)
    }

    /// Closes it once everything that was sent is answered; what still waits is not sent. Returns when it is closed.
    /// Closing twice does no harm.
    public func close() async {
        await self.run.close()
    }

    /// Gives it up at once. What is under way ends with ``AppServiceResponseStatus/unknown``; what still waits is not sent.
    public func cancel() async {
        await self.run.cancel()
    }
}

extension LongLivedConnection.State: CustomStringConvertible {
    /// The state's name, and what there is to say of it.
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
