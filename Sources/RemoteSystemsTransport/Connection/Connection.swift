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
}

/// What a handler answers.
package struct Reply: Sendable {
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
package typealias RequestHandler = @Sendable (IncomingRequest, Connection) async -> Reply

/// An open, authenticated connection: requests and answers both ways.
///
/// An actor on its event loop's executor. What comes from the network is handled where it arrives, and a caller that
/// already runs on the connection's executor sends without changing threads. It does what ``ConnectionStateMachine``
/// says and decides nothing itself. Incoming frames are in `Connection+Receiving.swift`.
package actor Connection {
    package nonisolated let peer: PeerIdentity
    /// What the other side said of itself when the connection was opened.
    package nonisolated let remote: Acceptance
    package nonisolated let channel: any Channel
    nonisolated let surroundings: LoopSurroundings
    package nonisolated let limits: ConnectionLimits
    /// Runs tasks on the connection's event loop.
    package nonisolated let taskExecutor: EventLoopTaskExecutor

    private nonisolated let executor: any SerialExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe self.executor.asUnownedSerialExecutor()
    }

    var machine: ConnectionStateMachine<OutgoingCall, IncomingCall>
    var decoder: FrameDecoder
    nonisolated let handler: RequestHandler
    let logger: Logger
    /// True while bytes from the network are being handled; what is written meanwhile leaves in one go at the end.
    var isReading = false
    /// Handlers that have not come to their end, by request number.
    var handlerTasks: [UInt64: Task<Void, Never>] = [:]
    /// The newest ping that could not be answered yet because the peer does not read.
    var owedPong: UInt64?
    /// Why the peer closes the connection, if it said so.
    var peerReason: TransportError?
    /// True while ``flush()`` hands over what is to leave.
    private(set) var isFlushing = false
    /// The channel became writable again in the middle of a flush.
    var isResumeDue = false

    private var outbound: ByteBuffer
    private var held: (id: UInt64, frame: ByteBuffer)?
    private var isFlushScheduled = false
    private var isStepping = false
    private var timer: (at: NIODeadline, scheduled: Scheduled<Void>)?
    private var ending: (status: CloseStatus, cause: TransportError?)?
    private var closeListeners: [@Sendable (CloseStatus) -> Void] = []

    struct OutgoingCall {
        var message: ValueSet
        var key: [UInt8]?
        /// From when it was asked for until ``deadline``.
        var timeout: TimeAmount
        var deadline: NIODeadline
        var continuation: CheckedContinuation<Reply, any Error>
    }

    struct IncomingCall {
        enum Work {
            case handle(IncomingRequest)
            /// No handler is needed to know the answer.
            case answer(Reply)
        }

        var id: UInt64
        var work: Work
    }

    /// What is to leave is handed on at the latest when it is this much, so that a peer that does not read is noticed
    /// by the channel's writability before more is written for it.
    private static var mostUnflushedBytes: Int { 1 << 16 }

    init(
        channel: any Channel,
        peer: PeerIdentity,
        remote: Acceptance,
        limits: ConnectionLimits,
        decoder: FrameDecoder,
        logger: Logger,
        handler: @escaping RequestHandler
    ) {
        self.channel = channel
        self.executor = channel.eventLoop.executor
        self.surroundings = LoopSurroundings(of: channel.eventLoop)
        self.taskExecutor = EventLoopTaskExecutor(channel.eventLoop)
        self.peer = peer
        self.remote = remote
        self.limits = limits
        self.decoder = decoder
        self.decoder.limit = limits.messageBytes
        self.handler = handler
        self.logger = logger
        self.outbound = channel.allocator.buffer(capacity: 1024)
        // Longer than any machine stays up, and in range whatever the certificate says.
        let trustedSeconds = min(max(peer.expiry.timeIntervalSinceNow, 0), 1e9)
        self.machine = ConnectionStateMachine(
            limits: limits,
            peer: remote.limits,
            now: self.surroundings.now,
            trustEnd: self.surroundings.now + .nanoseconds(Int64(trustedSeconds * 1e9))
        )
    }

    /// A moment of the event loop's time, as clocks tell it.
    package nonisolated func instant(of deadline: NIODeadline) -> ContinuousClock.Instant {
        self.surroundings.instant + Duration(deadline - self.surroundings.now)
    }

    // MARK: Calls

    /// Sends a request and waits for its answer.
    ///
    /// Not isolated: a caller on another thread is resumed where it was, without coming by the event loop again.
    ///
    /// - Parameter key: 1 to 64 bytes (``Frame/mostKeyBytes``).
    /// - Throws: `CancellationError` when the calling task is cancelled, ``TransportError`` when no answer can come.
    package nonisolated func send(
        _ message: ValueSet,
        timeout: TimeAmount,
        key: [UInt8]? = nil
    ) async throws -> Reply {
        let deadline = self.surroundings.now + timeout
        let token = CallToken()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let call = OutgoingCall(
                    message: message,
                    key: key,
                    timeout: timeout,
                    deadline: deadline,
                    continuation: continuation
                )
                self.onEventLoop { $0.start(call, token) }
            }
        } onCancel: {
            self.onEventLoop { connection in
                if let id = token.cancel() { connection.cancel(id: id) }
            }
        }
    }

    /// At once if this is the connection's event loop, else as soon as it gets to it.
    private nonisolated func onEventLoop(_ body: @escaping @Sendable (isolated Connection) -> Void) {
        if self.channel.eventLoop.inEventLoop {
            self.assumeIsolated(body)
        } else {
            self.channel.eventLoop.execute { self.assumeIsolated(body) }
        }
    }

    private func start(_ call: OutgoingCall, _ token: CallToken) {
        let id = self.machine.reserveID()
        guard token.start(id: id) else {
            call.continuation.resume(throwing: CancellationError())
            return
        }
        switch self.machine.submit(id: id, call, deadline: call.deadline) {
        case .encode(let call):
            self.transmit(id: id, call, timeLeft: call.timeout)
            self.scheduleFlush()
            self.armTimer()
        case .wait:
            self.armTimer()
        case .overflow(let call):
            call.continuation.resume(throwing: Self.overflowError())
        case .reject(let call, let status):
            call.continuation.resume(throwing: Self.closedError(status, cause: self.ending?.cause))
        }
    }

    /// Encodes a call's frame behind what already waits to leave.
    private func transmit(id: UInt64, _ call: OutgoingCall, timeLeft: TimeAmount) {
        let start = self.outbound.writerIndex
        do throws(TransportError) {
            try self.outbound.writeRequest(
                id: id,
                timeoutMilliseconds: Self.milliseconds(timeLeft),
                message: call.message,
                key: call.key,
                limit: self.remote.limits.messageBytes
            )
        } catch {
            _ = self.machine.encodingFailed(id: id)
            call.continuation.resume(throwing: error)
            return
        }
        guard !self.machine.encoded(id: id, bytes: self.outbound.writerIndex - start - FrameDecoder.lengthBytes) else {
            return
        }
        if let frame = self.outbound.getSlice(at: start, length: self.outbound.writerIndex - start) {
            self.held = (id, frame)
        }
        self.outbound.moveWriterIndex(to: start)
    }

    private func cancel(id: UInt64) {
        switch self.machine.cancel(id: id) {
        case .sendCancel(let call):
            self.write(.cancel(id: id))
            call.continuation.resume(throwing: CancellationError())
        case .drop(let call):
            self.dropHeld(id: id)
            call.continuation.resume(throwing: CancellationError())
        case .nothing:
            return
        }
        self.doNextSteps()
    }

    private func dropHeld(id: UInt64) {
        if self.held?.id == id { self.held = nil }
    }

    // MARK: Doing what the machine says

    func doNextSteps() {
        // A handler that answers at once comes back here in the middle of a step; the loop below goes on with it.
        guard !self.isStepping else { return }
        self.isStepping = true
        defer { self.isStepping = false }
        while true {
            switch self.machine.nextStep() {
            case .nothing:
                self.armTimer()
                return
            case .encode(let id, let call):
                self.transmit(id: id, call, timeLeft: call.deadline - self.surroundings.now)
                self.scheduleFlush()
            case .writeHeld:
                if var frame = self.held.take()?.frame {
                    self.outbound.writeBuffer(&frame)
                    self.scheduleFlush()
                }
            case .dispatch(_, let request):
                self.dispatch(request)
            case .sendClose(let status):
                self.write(.close(status, nil))
            case .finish(let status):
                self.flush()
                self.end(status, cause: self.peerReason)
                return
            }
        }
    }

    // MARK: Writing

    /// Writes a frame other than a request. It cannot be too large for the wire: only messages can.
    func write(_ frame: Frame) {
        do throws(TransportError) {
            try self.outbound.writeFrame(frame, limit: ConnectionLimits.mostMessageBytes)
            self.scheduleFlush()
        } catch {
            self.logger.error("A frame could not be written", metadata: ["reason": "\(error)"])
        }
    }

    func writeResponse(id: UInt64, _ reply: Reply) throws(TransportError) {
        try self.outbound.writeResponse(id: id, reply, limit: self.remote.limits.messageBytes)
        self.scheduleFlush()
    }

    /// Several frames that are written in one turn of the event loop leave as one TLS record and one system call.
    func scheduleFlush() {
        guard self.outbound.readableBytes < Self.mostUnflushedBytes else { return self.flush() }
        guard !self.isReading, !self.isFlushScheduled else { return }
        self.isFlushScheduled = true
        self.channel.eventLoop.execute {
            self.assumeIsolated {
                $0.isFlushScheduled = false
                $0.flush()
            }
        }
    }

    func flush() {
        guard self.outbound.readableBytes > 0, !self.isFlushing else { return }
        self.isFlushing = true
        self.channel.writeAndFlush(self.outbound, promise: nil)
        // TLS has copied the bytes out by now, so the storage is ours alone again, as a rule; a large one is let go.
        if self.outbound.capacity > 1 << 17 {
            self.outbound = self.channel.allocator.buffer(capacity: 1024)
        } else {
            self.outbound.clear()
        }
        self.isFlushing = false
        if self.isResumeDue {
            self.isResumeDue = false
            self.writabilityChanged()
        }
    }

    // MARK: Time

    func armTimer() {
        let next = self.machine.nextWakeUp
        if let timer = self.timer {
            guard next < timer.at else { return }
            timer.scheduled.cancel()
        }
        guard self.ending == nil else { return }
        let scheduled = self.channel.eventLoop.scheduleTask(deadline: next) {
            self.assumeIsolated { $0.tick() }
        }
        self.timer = (next, scheduled)
    }

    /// Ends the connection unless the peer says something within this time. For when something else tells that it may be gone.
    package nonisolated func doubt(within time: TimeAmount) {
        self.onEventLoop { connection in
            connection.machine.doubt(within: time, now: connection.surroundings.now)
            connection.armTimer()
        }
    }

    private func tick() {
        self.timer = nil
        guard self.ending == nil else { return }
        let due = self.machine.tick(now: self.surroundings.now)
        for (id, call, wasSent) in due.expired {
            if wasSent { self.write(.cancel(id: id)) } else { self.dropHeld(id: id) }
            call.continuation.resume(throwing: Self.deadlineError(wasSent: wasSent))
        }
        for id in due.overdue {
            self.handlerTasks[id]?.cancel()
        }
        if due.isPeerDead {
            let seconds = Double(self.limits.deadPeerTime.nanoseconds) / 1e9
            let silent = TransportError(
                .connectionLost,
                "The connection was lost: the other system has been silent for \(seconds) s.",
                side: .network,
                canRetry: true
            )
            self.end(.unknown, cause: silent)
        } else if due.isTrustOver {
            let expired = TransportError(
                .peerNotTrusted,
                "The other system's certificate has expired. It has to renew it; connect again after that.",
                side: .remote,
                canRetry: true
            )
            self.abort(.unknown, reason: expired)
        } else if due.isDrainOver {
            self.end(.cancelled, cause: nil)
        } else {
            if let token = due.ping { self.write(.ping(token: token)) }
            self.doNextSteps()
        }
    }

    /// Rounded up, so that a caller never waits longer than its peer works.
    private static func milliseconds(_ left: TimeAmount) -> UInt64 {
        left.nanoseconds > 0 ? UInt64((left.nanoseconds - 1) / 1_000_000 + 1) : 0
    }

    // MARK: Ending

    /// Closes gracefully: what is under way is finished first, bounded by the drain time. Returns once it is closed.
    package func close(_ status: CloseStatus = .completed) async {
        self.machine.close(status, until: self.surroundings.now + self.limits.drainTime)
        self.doNextSteps()
        _ = await self.waitUntilClosed()
    }

    var hasEnded: Bool { self.ending != nil }

    /// Closes at once. The peer is told; what is under way fails on both sides.
    package func abort(_ status: CloseStatus = .cancelled, reason: TransportError? = nil) {
        guard self.ending == nil else { return }
        self.write(.close(status, reason.map { WireFailure($0.message, canRetry: $0.canRetry) }))
        self.flush()
        self.end(status, cause: reason)
    }

    /// Closes at once, from anywhere: the peer is not trusted any more.
    nonisolated func refuseFurther(_ objection: TrustError) {
        let reason = TransportError(.peerNotTrusted, objection.message, side: .remote, cause: objection)
        self.onEventLoop { $0.abort(.unknown, reason: reason) }
    }

    /// Returns when the connection has ended, saying how.
    package nonisolated func waitUntilClosed() async -> CloseStatus {
        await withCheckedContinuation { continuation in
            self.onClose { continuation.resume(returning: $0) }
        }
    }

    /// Calls back once, on the event loop, when the connection has ended; soon if it has.
    package nonisolated func onClose(_ listener: @escaping @Sendable (CloseStatus) -> Void) {
        self.onEventLoop { connection in
            if let ending = connection.ending {
                listener(ending.status)
            } else {
                connection.closeListeners.append(listener)
            }
        }
    }

    /// Ends the connection, whoever asked for it; what is still under way is failed exactly once.
    func end(_ status: CloseStatus, cause: TransportError?) {
        guard self.ending == nil else { return }
        let lost = self.machine.lost(status)
        self.ending = (lost.status, cause)
        self.timer?.scheduled.cancel()
        self.timer = nil
        self.held = nil
        for call in lost.sent {
            call.continuation.resume(throwing: Self.lostError(lost.status, cause: cause))
        }
        for call in lost.unsent {
            call.continuation.resume(throwing: Self.closedError(lost.status, cause: cause))
        }
        for task in self.handlerTasks.values { task.cancel() }
        self.handlerTasks.removeAll()
        self.channel.close(promise: nil)
        let listeners = self.closeListeners
        self.closeListeners = []
        for listener in listeners { listener(lost.status) }
    }
}
