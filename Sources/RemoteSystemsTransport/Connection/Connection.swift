// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
package import NIOCore
package import RemoteSystemsIdentity
package import ValueSets

/// A request from the peer, as its handler receives it.
package struct IncomingRequest: Sendable {
    package var message: ValueSet
    /// When the caller stops waiting for the response.
    package var deadline: NIODeadline
    /// The idempotency key: requests with the same key are performed once.
    package var key: [UInt8]?
    /// The request's metadata, which satisfies ``MetadataRules``.
    package var metadata: ValueSet
}

/// A handler's response.
package struct Response: Sendable {
    package var status: ResponseStatus
    package var message: ValueSet
    package var failure: WireFailure?

    package init(status: ResponseStatus = .success, message: ValueSet = [:], failure: WireFailure? = nil) {
        self.status = status
        self.message = message
        self.failure = failure
    }
}

/// Handles one request. It runs on the connection's event loop until it first suspends, so that an immediate response
/// is sent without delay. After that it runs on the default executor.
package typealias RequestHandler = @Sendable (IncomingRequest, Connection) async -> Response

/// Handles one request synchronously on the connection's event loop. Returns `nil` if the request needs a
/// ``RequestHandler``. A task for each request would cost a fifth of the host's work for a small one.
package typealias ImmediateHandler = @Sendable (IncomingRequest, Connection) -> Response?

/// An open, authenticated connection that carries requests and responses in both directions. Usable from any task.
///
/// The ``ConnectionDriver`` does the work on the channel's event loop. For a caller on the event loop it does so at
/// once, without a thread switch (`Docs/decisions/0007-no-thread-switch.md`).
package final class Connection: AuthenticatedConnection {
    package let peer: PeerIdentity
    /// The peer's parameters from the handshake.
    package let remote: Acceptance
    package let channel: any Channel
    package let limits: ConnectionLimits
    /// Runs tasks on the connection's event loop.
    package let taskExecutor: EventLoopTaskExecutor
    let eventLoopEnvironment: EventLoopEnvironment
    let driver: NIOLoopBound<ConnectionDriver>
    private let eventLoop: any EventLoop
    private let immediateHandler: ImmediateHandler?
    private let handler: RequestHandler

    /// Called on the channel's event loop.
    init(
        channel: any Channel,
        peer: PeerIdentity,
        remote: Acceptance,
        limits: ConnectionLimits,
        decoder: FrameDecoder,
        logger: Logger,
        observer: ConnectionObserver.One? = nil,
        immediateHandler: ImmediateHandler?,
        handler: @escaping RequestHandler
    ) {
        self.channel = channel
        self.eventLoop = channel.eventLoop
        self.eventLoopEnvironment = EventLoopEnvironment(of: channel.eventLoop)
        self.taskExecutor = EventLoopTaskExecutor(channel.eventLoop)
        self.peer = peer
        self.remote = remote
        self.limits = limits
        self.immediateHandler = immediateHandler
        self.handler = handler
        let driver = ConnectionDriver(
            channel: channel,
            eventLoopEnvironment: self.eventLoopEnvironment,
            taskExecutor: self.taskExecutor,
            remote: remote.limits,
            limits: limits,
            trusted: peer.trustedTime,
            decoder: decoder,
            logger: logger,
            observer: observer
        )
        self.driver = NIOLoopBound(driver, eventLoop: channel.eventLoop)
        driver.connection = self
    }

    /// The features that both sides offer.
    package var features: Set<String> { self.remote.features.intersection(ProtocolFeature.known) }

    /// Converts a deadline of the event loop to an instant of the clock.
    package func instant(of deadline: NIODeadline) -> ContinuousClock.Instant {
        self.eventLoopEnvironment.instant + Duration(deadline - self.eventLoopEnvironment.now)
    }

    // MARK: Calls

    /// Sends a request and waits for its response.
    ///
    /// A caller on another thread is resumed on its own executor directly, without another turn of the event loop.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for the response. The peer receives it with the request.
    ///   - key: the idempotency key, of 1 to 64 bytes (``Frame/maxKeyBytes``).
    ///   - metadata: must satisfy ``MetadataRules``.
    /// - Throws: `CancellationError` when the calling task is cancelled, ``TransportError`` when no response can
    ///   arrive.
    package func send(
        _ message: ValueSet,
        timeout: TimeAmount,
        key: [UInt8]? = nil,
        metadata: ValueSet = ValueSet()
    ) async throws -> Response {
        let call = OutgoingCall(
            message: message,
            key: key,
            metadata: metadata,
            timeout: timeout,
            deadline: self.eventLoopEnvironment.now + timeout
        )
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if self.eventLoop.inEventLoop {
                    self.driver.value.start(call, continuation)
                } else {
                    self.eventLoop.execute { self.driver.value.start(call, continuation) }
                }
            }
        } onCancel: {
            self.onEventLoop { driver in
                if let id = call.cancel() { driver.cancel(id: id) }
            }
        }
    }

    /// Sends a frame without any check, for a host that tests how its callers handle unknown frames.
    ///
    /// - Parameter frame: the frame without its length field; at most ``ConnectionLimits/minMessageBytes``.
    package func send(unchecked frame: [UInt8]) {
        self.onEventLoop { $0.write(unchecked: frame) }
    }

    /// Runs the closure on the connection's event loop: at once if called there, otherwise as soon as possible.
    func onEventLoop(_ body: @escaping @Sendable (ConnectionDriver) -> Void) {
        if self.eventLoop.inEventLoop {
            body(self.driver.value)
        } else {
            self.eventLoop.execute { body(self.driver.value) }
        }
    }

    /// Offers the publisher's topics to the peer. Call it on the event loop when the connection opens: earlier
    /// subscriptions are answered as if there were no topics.
    package func publish(_ publisher: StatePublisher) {
        self.onEventLoop { $0.publish(publisher) }
    }

    // MARK: Incoming requests

    /// Returns the response to a request that needs no task; `nil` if the request needs one.
    func respondImmediately(_ request: IncomingRequest) -> Response? {
        self.immediateHandler?(request, self)
    }

    /// Starts the request's handler at once, on the event loop. A handler that never suspends has responded when this
    /// returns.
    func handle(_ request: IncomingRequest, id: UInt64) -> Task<Void, Never> {
        Task.immediate(executorPreference: self.eventLoopEnvironment.taskExecutor) {
            let response = await self.handler(request, self)
            if self.eventLoop.inEventLoop {
                self.driver.value.handled(id: id, response)
            } else {
                self.eventLoop.execute { self.driver.value.handled(id: id, response) }
            }
        }
    }

    // MARK: Ending

    /// Closes gracefully: outstanding work is finished first, within the drain time. Returns after the connection has
    /// closed.
    package func close(_ status: CloseStatus = .completed) async {
        self.onEventLoop { $0.close(status) }
        _ = await self.waitUntilClosed()
    }

    /// Closes at once: before this returns if called on the event loop, otherwise as soon as possible. The peer
    /// receives the reason. Outstanding work fails on both sides.
    package func abort(_ status: CloseStatus = .cancelled, reason: TransportError? = nil) {
        self.onEventLoop { $0.abort(status, reason: reason) }
    }

    /// Closes gracefully without waiting for the peer's `close`. Requests of the peer that are being handled get their
    /// responses, within the drain time. Returns at once.
    package func leave() {
        self.onEventLoop { $0.leave() }
    }

    /// Ends the connection unless the peer sends something within this time. For use when another source indicates that
    /// the peer may be gone.
    package func probe(within time: TimeAmount) {
        self.onEventLoop { $0.probe(within: time) }
    }

    /// Changes the timeout after which a silent peer counts as lost.
    package func update(deadPeerTime: TimeAmount) {
        self.onEventLoop { $0.update(deadPeerTime: deadPeerTime) }
    }

    /// Calls the listener once, on the event loop, when the connection has ended. If it has ended already, a call from
    /// the event loop notifies the listener at once, and a call from elsewhere as soon as possible.
    package func onClose(_ listener: @escaping @Sendable (CloseStatus) -> Void) {
        self.onEventLoop { $0.onClose(listener) }
    }
}
