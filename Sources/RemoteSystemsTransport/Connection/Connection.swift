// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
package import NIOCore
package import RemoteSystemsIdentity
internal import Synchronization
package import ValueSets

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
    /// The executor that runs tasks on the connection's event loop.
    package let taskExecutor: EventLoopTaskExecutor
    let eventLoopEnvironment: EventLoopEnvironment
    let driver: NIOLoopBound<ConnectionDriver>
    private let eventLoop: any EventLoop
    /// The calls of other threads on their way to the event loop.
    private let submitted = Mutex<[SubmittedCall]>([])
    private let ended = Atomic(false)

    /// Called on the channel's event loop.
    init(
        channel: any Channel,
        peer: PeerIdentity,
        remote: Acceptance,
        limits: ConnectionLimits,
        decoder: FrameDecoder,
        logger: Logger,
        incidents: IncidentLog,
        observer: ConnectionObserver.One? = nil,
        memoryBudget: MemoryBudget? = nil,
        handler: RequestHandler
    ) {
        self.channel = channel
        self.eventLoop = channel.eventLoop
        self.eventLoopEnvironment = EventLoopEnvironment(of: channel.eventLoop)
        self.taskExecutor = EventLoopTaskExecutor(channel.eventLoop)
        self.peer = peer
        self.remote = remote
        self.limits = limits
        let driver = ConnectionDriver(
            channel: channel,
            holder: peer.quotaHolder,
            eventLoopEnvironment: self.eventLoopEnvironment,
            taskExecutor: self.taskExecutor,
            remote: remote.limits,
            limits: limits,
            trusted: peer.trustedTime,
            decoder: decoder,
            logger: logger,
            incidents: incidents,
            observer: observer,
            memoryBudget: memoryBudget,
            handler: handler
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
                    self.submit(SubmittedCall(call: call, continuation: continuation))
                }
            }
        } onCancel: {
            self.onEventLoop { driver in
                if let id = call.cancel() { driver.cancel(id: id) }
            }
        }
    }

    /// Hands a call over to the event loop, which starts all calls that wait for it in one turn, with one flush.
    private func submit(_ call: SubmittedCall) {
        let needsTurn = self.submitted.withLock { calls in
            calls.append(call)
            return calls.count == 1
        }
        guard needsTurn else { return }
        self.eventLoop.execute {
            let driver = self.driver.value
            self.submitted.withLock { swap(&$0, &driver.starting) }
            driver.startAll()
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

    // MARK: Ending

    /// Whether the connection has ended.
    package var hasEnded: Bool { self.ended.load(ordering: .relaxed) }

    /// Called by the driver when the connection ends, before it notifies listeners.
    func markEnded() { self.ended.store(true, ordering: .relaxed) }

    /// Closes gracefully: outstanding work is finished first, within the drain time. Closes at once with a status other
    /// than ``CloseStatus/completed``. Returns after the connection has closed.
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

    /// Calls the listener, on the event loop, with the notice that the peer's account has withdrawn its link with this
    /// one, if the peer closes the connection with it. The notice is not verified.
    func onWithdrawal(_ listener: @escaping @Sendable (_ notice: [UInt8]) -> Void) {
        self.onEventLoop { $0.withdrawalListener = listener }
    }

    /// Calls the listener once, on the event loop, when the connection has ended. If it has ended already, a call from
    /// the event loop notifies the listener at once, and a call from elsewhere as soon as possible.
    package func onClose(_ listener: @escaping @Sendable (CloseStatus) -> Void) {
        self.onEventLoop { $0.onClose(listener) }
    }
}
