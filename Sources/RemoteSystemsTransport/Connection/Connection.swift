// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
package import NIOCore
package import RemoteSystemsIdentity
package import ValueSets

/// A request from the peer, as its handler gets it.
package struct IncomingRequest: Sendable {
    package var message: ValueSet
    /// When the caller stops waiting for the answer.
    package var deadline: NIODeadline
    /// By which the caller names what it wants done, so that it is done once however often it is asked for.
    package var key: [UInt8]?
    /// What the caller says about the request beside its message; it keeps ``MetadataRules``.
    package var metadata: ValueSet
}

/// What a handler answers.
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

/// Answers one request. Runs on the connection's event loop until it first waits for something, so that an answer that
/// is known at once leaves at once; after that it runs where all tasks do.
package typealias RequestHandler = @Sendable (IncomingRequest, Connection) async -> Response

/// Answers one request at once, on the connection's event loop, without a task; `nil` if it takes a ``RequestHandler``. A task for each
/// request would cost a fifth of what the host does for a small one.
package typealias ImmediateHandler = @Sendable (IncomingRequest, Connection) -> Response?

/// An open, authenticated connection: requests and answers both ways, from whatever task.
///
/// What is to be done is done by its ``ConnectionDriver`` on the channel's event loop: at once for a caller that is there already,
/// which costs no thread switch (`Docs/decisions/0007-no-thread-switch.md`).
package final class Connection: AuthenticatedConnection {
    package let peer: PeerIdentity
    /// What the other side said of itself when the connection was opened.
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

    /// On the channel's event loop.
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

    /// The features that both sides have.
    package var features: Set<String> { self.remote.features.intersection(ProtocolFeature.known) }

    /// A moment of the event loop's time, as clocks tell it.
    package func instant(of deadline: NIODeadline) -> ContinuousClock.Instant {
        self.eventLoopEnvironment.instant + Duration(deadline - self.eventLoopEnvironment.now)
    }

    // MARK: Calls

    /// Sends a request and waits for its answer.
    ///
    /// A caller on another thread is resumed where it was, without coming by the event loop again.
    ///
    /// - Parameters:
    ///   - key: 1 to 64 bytes (``Frame/maxKeyBytes``).
    ///   - metadata: must keep ``MetadataRules``.
    /// - Throws: `CancellationError` when the calling task is cancelled, ``TransportError`` when no answer can come.
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

    /// Sends a frame as it is, whatever it is: for a host that checks how its callers take what they do not know.
    ///
    /// - Parameter frame: without its length field; at most ``ConnectionLimits/minMessageBytes``.
    package func send(unchecked frame: [UInt8]) {
        self.onEventLoop { $0.write(unchecked: frame) }
    }

    /// At once if this is the connection's event loop, else as soon as it gets to it.
    func onEventLoop(_ body: @escaping @Sendable (ConnectionDriver) -> Void) {
        if self.eventLoop.inEventLoop {
            body(self.driver.value)
        } else {
            self.eventLoop.execute { body(self.driver.value) }
        }
    }

    /// Offers the publisher's topics to the peer. To be called when the connection opens, on its event loop: a
    /// subscription that came before is answered as if there were no topics.
    package func publish(_ publisher: StatePublisher) {
        self.onEventLoop { $0.publish(publisher) }
    }

    // MARK: Requests of the peer

    /// The answer to a request that needs no task.
    func respondImmediately(_ request: IncomingRequest) -> Response? {
        self.immediateHandler?(request, self)
    }

    /// Starts the request's handler at once, on the event loop; a handler that needs nothing else answers before this returns.
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

    /// Closes gracefully: what is under way is finished first, bounded by the drain time. Returns once it is closed.
    package func close(_ status: CloseStatus = .completed) async {
        self.onEventLoop { $0.close(status) }
        _ = await self.waitUntilClosed()
    }

    /// Closes at once, before this returns if this is the event loop, else soon. The peer is told; what is under way fails on both sides.
    package func abort(_ status: CloseStatus = .cancelled, reason: TransportError? = nil) {
        self.onEventLoop { $0.abort(status, reason: reason) }
    }

    /// Closes gracefully, but does not wait for the peer: requests of it that are being handled are responded to,
    /// within the drain time, then the connection ends. Does not wait for that either.
    package func leave() {
        self.onEventLoop { $0.leave() }
    }

    /// Ends the connection unless the peer says something within this time. For when something else tells that it may be gone.
    package func probe(within time: TimeAmount) {
        self.onEventLoop { $0.probe(within: time) }
    }

    /// Changes after how much silence the connection counts as lost.
    package func update(deadPeerTime: TimeAmount) {
        self.onEventLoop { $0.update(deadPeerTime: deadPeerTime) }
    }

    /// Calls back once, on the event loop, when the connection has ended. If it has, at once if this is the event loop, else soon.
    package func onClose(_ listener: @escaping @Sendable (CloseStatus) -> Void) {
        self.onEventLoop { $0.onClose(listener) }
    }
}
