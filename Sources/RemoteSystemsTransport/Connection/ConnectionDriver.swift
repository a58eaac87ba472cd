// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import ValueSets

/// Drives an open connection: performs the actions of ``ConnectionStateMachine``, and decides nothing itself.
///
/// It is confined to its channel's event loop, where incoming frames are handled as they arrive. Other code holds the
/// ``Connection``. The driver is not an actor on the event loop's executor, because the isolation check for each
/// message cost a tenth of the time of the message (`Docs/decisions/0007-no-thread-switch.md`). Incoming frames are in
/// `ConnectionDriver+Receiving.swift`, and what they use of the host's memory in `ConnectionDriver+Memory.swift`.
final class ConnectionDriver {
    /// The connection whose requests are handled. The reference keeps the connection alive while it is open.
    var connection: Connection?
    let channel: any Channel
    let taskExecutor: EventLoopTaskExecutor
    let eventLoopEnvironment: EventLoopEnvironment
    let remote: PeerLimits
    let limits: ConnectionLimits
    let logger: Logger
    let incidents: IncidentLog
    let observer: ConnectionObserver.One?

    let handler: RequestHandler
    /// The memory for unfinished frames, requests and responses; `nil` if only the limits of a single connection apply.
    let memoryBudget: MemoryBudget?
    /// The holder of the peer's share of ``memoryBudget``.
    let holder: QuotaHolder
    /// What the requests in flight use of ``memoryBudget``.
    var requestMemory: HeldMemory
    /// What the responses that are not sent use of ``memoryBudget``.
    var responseMemory: HeldMemory
    /// The places in ``memoryBudget`` for requests whose handlers run.
    var places: HeldMemory
    var isPlaceRetryDue = false

    var machine: ConnectionStateMachine<OutgoingCall, IncomingRequest>
    var decoder: FrameDecoder
    /// The frame that has arrived in part, if there is one.
    var unfinished: UnfinishedFrame?
    var unfinishedTimer: Scheduled<Void>?
    /// `true` while received bytes or submitted calls are handled. Everything that is written meanwhile is flushed
    /// together at the end.
    var isBatching = false
    /// The calls that ``startAll()`` starts. The array keeps its storage for later calls.
    var starting: [SubmittedCall] = []
    /// The calls whose responses were just read, until ``complete()``.
    var completed: [(call: OutgoingCall, response: Response)] = []
    /// The tasks of running handlers, by request id.
    var handlerTasks: [UInt64: Task<Void, Never>] = [:]
    /// The request whose handler finished last. A handler that responds immediately has no task to store.
    var lastFinished: UInt64 = 0
    /// The token of the newest ping that could not be answered yet, because the peer does not read.
    var owedPong: UInt64?
    /// The published state, in both directions.
    var state = ConnectionState()
    /// The reason with which the peer closes the connection, if it sent one.
    var peerReason: TransportError?
    /// Receives the notice with which a peer of a linked account closes the connection.
    var withdrawalListener: (@Sendable ([UInt8]) -> Void)?
    /// `true` while ``flush()`` writes to the channel.
    private(set) var isFlushing = false
    /// Whether the channel became writable during a flush.
    var isResumeDue = false

    private let loop: NIOIsolatedEventLoop
    private var outbound: ByteBuffer
    /// The bytes that were given to the channel since it could last take more.
    private var unsentBytes = 0
    /// The number of frames in ``outbound``, without those that ``append(_:)`` added.
    private var unflushedFrames = 0
    private var held: (id: UInt64, frame: ByteBuffer)?
    private var isFlushScheduled = false
    private var isStepping = false
    private var timer: Scheduled<Void>?
    /// The time at which ``timer`` is due.
    private var timerDeadline = NIODeadline.distantFuture
    /// The timeout of ``leave()`` while it waits for responses.
    private var leaving: Scheduled<Void>?
    private var ending: (status: CloseStatus, cause: TransportError?)?
    private var closeListeners: [@Sendable (CloseStatus) -> Void] = []

    /// The number of bytes that triggers a flush. The flush updates the channel's writability, so that a peer that does
    /// not read is detected before more is written for it. It is half of the allowance for responses: a response that
    /// is not longer fits into the other half.
    private var maxUnflushedBytes: Int { self.responseMemory.allowance / 2 }

    /// The number of frames that triggers a flush. The peer handles them while this side writes further ones. With one
    /// flush for all, the two sides of a connection with 64 requests in flight would take turns.
    private static var maxUnflushedFrames: Int { 32 }

    /// Creates the driver of a connection that has just opened.
    ///
    /// - Parameter trusted: how long the peer's certificate remains valid.
    init(
        channel: any Channel,
        holder: QuotaHolder,
        eventLoopEnvironment: EventLoopEnvironment,
        taskExecutor: EventLoopTaskExecutor,
        remote: PeerLimits,
        limits: ConnectionLimits,
        trusted: TimeAmount,
        decoder: FrameDecoder,
        logger: Logger,
        incidents: IncidentLog,
        observer: ConnectionObserver.One? = nil,
        memoryBudget: MemoryBudget? = nil,
        handler: RequestHandler
    ) {
        self.handler = handler
        self.memoryBudget = memoryBudget
        self.holder = holder
        let allowance = memoryBudget?.enter(holder) ?? MemoryBudget.allowance
        let isFurther = allowance < MemoryBudget.allowance
        self.requestMemory = HeldMemory(allowance: allowance)
        self.responseMemory = HeldMemory(
            allowance: isFurther ? MemoryBudget.responseAllowanceOfFurther : MemoryBudget.responseAllowance
        )
        self.places = HeldMemory(
            allowance: isFurther ? MemoryBudget.handledOfFurther : MemoryBudget.handledOfConnection,
            step: MemoryBudget.handledStep
        )
        self.observer = observer
        self.channel = channel
        self.loop = channel.eventLoop.assumeIsolated()
        self.eventLoopEnvironment = eventLoopEnvironment
        self.taskExecutor = taskExecutor
        self.remote = remote
        self.limits = limits
        self.decoder = decoder
        self.decoder.limit = limits.messageBytes
        self.logger = logger
        self.incidents = incidents
        self.outbound = channel.allocator.buffer(capacity: Self.outboundBytes)
        if isFurther {
            // What the channel holds while it is writable is not counted, so it is little, too.
            let mark = MemoryBudget.responseAllowanceOfFurther / 2
            let marks = ChannelOptions.Types.WriteBufferWaterMark(low: mark / 2, high: mark)
            try? channel.syncOptions?.setOption(.writeBufferWaterMark, value: marks)
        }
        let now = eventLoopEnvironment.now
        self.machine = ConnectionStateMachine(limits: limits, peer: remote, now: now, trustEnd: now + trusted)
        // The channel may have become unwritable during the handshake, and the first request may have arrived with it.
        self.machine.writabilityChanged(channel.isWritable)
        if memoryBudget != nil { self.machine.permit(self.places.allowance) }
    }

    // MARK: Calls

    func start(_ call: OutgoingCall, _ continuation: CheckedContinuation<Response, any Error>) {
        let id = self.machine.reserveID()
        guard call.start(id: id, continuation) else { return }
        switch self.machine.submit(id: id, call, deadline: call.deadline) {
        case .encode(let call):
            self.transmit(id: id, call, timeLeft: call.timeout)
            self.scheduleFlush()
            self.armTimer()
        case .wait:
            self.armTimer()
        case .overflow(let call):
            call.fail(TransportError.overflow())
        case .reject(let call, let status):
            call.fail(TransportError.closed(status, cause: self.ending?.cause))
        }
    }

    /// Starts the calls in ``starting``.
    func startAll() {
        self.isBatching = true
        for submitted in self.starting { self.start(submitted.call, submitted.continuation) }
        self.starting.removeAll(keepingCapacity: self.starting.count <= Self.maxKept)
        self.isBatching = false
        self.flush()
    }

    /// Resumes the callers whose responses were read. They are resumed together, so that the threads that run them
    /// wake once for all.
    func complete() {
        guard !self.completed.isEmpty else { return }
        var completed: [(call: OutgoingCall, response: Response)] = []
        swap(&completed, &self.completed)
        for (call, response) in completed { call.succeed(response) }
        completed.removeAll(keepingCapacity: completed.count <= Self.maxKept)
        swap(&completed, &self.completed)
    }

    /// The initial size of the output buffer: enough for a small message, since most connections are idle.
    private static var outboundBytes: Int { 256 }
    /// The number of elements up to which an array keeps its storage.
    private static var maxKept: Int { 256 }

    /// Appends a call's frame to the output buffer.
    private func transmit(id: UInt64, _ call: OutgoingCall, timeLeft: TimeAmount) {
        let start = self.outbound.writerIndex
        do throws(TransportError) {
            try self.outbound.writeRequest(
                id: id,
                timeoutMilliseconds: timeLeft.roundedUpMilliseconds,
                message: call.message,
                key: call.key,
                metadata: call.metadata,
                limit: self.remote.messageBytes
            )
        } catch {
            _ = self.machine.encodingFailed(id: id)
            return call.fail(error)
        }
        guard !self.machine.encoded(id: id, bytes: self.outbound.writerIndex - start - FrameDecoder.lengthBytes) else {
            return
        }
        if start == self.outbound.readerIndex {
            // The buffer contains nothing else, so it becomes the held frame without a copy.
            self.held = (id, self.outbound)
            self.outbound = self.channel.allocator.buffer(capacity: Self.outboundBytes)
        } else if let frame = self.outbound.getSlice(at: start, length: self.outbound.writerIndex - start) {
            self.held = (id, frame)
            self.outbound.moveWriterIndex(to: start)
        }
    }

    func cancel(id: UInt64) {
        switch self.machine.cancel(id: id) {
        case .sendCancel(let call):
            self.write(.cancel(id: id))
            call.fail(CancellationError())
        case .drop(let call):
            self.dropHeld(id: id)
            call.fail(CancellationError())
        case .nothing:
            return
        }
        self.doNextSteps()
    }

    private func dropHeld(id: UInt64) {
        if self.held?.id == id { self.held = nil }
    }

    // MARK: Performing the next steps

    func doNextSteps() {
        // A handler that responds immediately calls this method again during a step; the loop below continues with its
        // steps.
        guard !self.isStepping else { return }
        self.isStepping = true
        defer { self.isStepping = false }
        while true {
            if self.machine.incoming.hasQueued { self.reservePlace() }
            switch self.machine.nextStep() {
            case .nothing:
                self.armTimer()
                return
            case .encode(let id, let call):
                self.transmit(id: id, call, timeLeft: call.deadline - self.eventLoopEnvironment.now)
                self.scheduleFlush()
            case .writeHeld:
                if var frame = self.held.take()?.frame {
                    // A held frame is usually large. Flushing first lets it become the output buffer without a copy.
                    self.flush()
                    if self.outbound.readableBytes == 0 {
                        self.outbound = frame
                    } else {
                        self.outbound.writeBuffer(&frame)
                    }
                    self.scheduleFlush()
                }
            case .dispatch(_, let request):
                self.dispatch(request)
            case .respondCancelled(let id):
                self.respond(id: id, .cancelled)
                self.leaveIfResponded()
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

    /// Writes a frame other than a request. Only messages can exceed the maximum length.
    func write(_ frame: Frame) {
        do throws(TransportError) {
            try self.outbound.writeFrame(frame, limit: ConnectionLimits.maxMessageBytes)
            self.scheduleFlush()
        } catch {
            self.logger.error("A frame could not be written", metadata: ["reason": "\(error)"])
        }
    }

    func write(unchecked frame: [UInt8]) {
        guard !self.hasEnded else { return }
        self.outbound.writeInteger(UInt32(clamping: frame.count))
        self.outbound.writeBytes(frame)
        self.scheduleFlush()
    }

    /// Appends a frame that is encoded already, with its length field. The caller flushes.
    func append(_ frame: ByteBuffer) {
        self.outbound.writeImmutableBuffer(frame)
        if self.outbound.readableBytes >= self.maxUnflushedBytes { self.flush() }
    }

    /// Called when the channel can take more: what it holds is little, and no longer counted.
    func channelTakesMore() {
        self.unsentBytes = 0
        self.releaseResponses(holding: self.outbound.readableBytes)
    }

    func serveStateLater() {
        self.loop.execute { self.serveState() }
    }

    /// Writes a response. Returns whether the host's memory has space for it; otherwise nothing is written.
    func writeResponse(id: UInt64, _ response: Response) throws(TransportError) -> Bool {
        let start = self.outbound.writerIndex
        try self.outbound.writeResponse(id: id, response, limit: self.remote.messageBytes)
        guard self.holdResponses(self.unsentBytes + self.outbound.readableBytes) else {
            self.outbound.moveWriterIndex(to: start)
            return false
        }
        self.scheduleFlush()
        return true
    }

    /// Flushes at the end of the event loop's turn, so that several frames leave as one TLS record and one system call,
    /// or at once if enough has been written. Call it once for each frame.
    func scheduleFlush() {
        self.unflushedFrames += 1
        guard self.unflushedFrames < Self.maxUnflushedFrames, self.outbound.readableBytes < self.maxUnflushedBytes
        else { return self.flush() }
        guard !self.isBatching, !self.isFlushScheduled else { return }
        self.isFlushScheduled = true
        self.loop.execute {
            self.isFlushScheduled = false
            self.flush()
        }
    }

    func flush() {
        guard self.outbound.readableBytes > 0, !self.isFlushing else { return }
        self.isFlushing = true
        self.unflushedFrames = 0
        let bytes = self.outbound.readableBytes
        self.channel.writeAndFlush(self.outbound, promise: nil)
        self.unsentBytes = self.channel.isWritable ? 0 : self.unsentBytes + bytes
        // TLS has copied the bytes by now, so the storage is usually unique again and is reused. Large storage is
        // released.
        if self.outbound.capacity > 1 << 17 {
            self.outbound = self.channel.allocator.buffer(capacity: Self.outboundBytes)
        } else {
            self.outbound.clear()
        }
        self.releaseResponses(holding: self.unsentBytes)
        self.isFlushing = false
        if self.isResumeDue {
            self.isResumeDue = false
            self.writabilityChanged()
        }
    }

    // MARK: Time

    func armTimer() {
        let next = self.machine.nextWakeUp
        guard next < self.timerDeadline, self.ending == nil else { return }
        self.timer?.cancel()
        self.timer = self.loop.scheduleTask(deadline: next) { self.tick() }
        self.timerDeadline = next
    }

    private func stopTimer() {
        self.timer?.cancel()
        self.timer = nil
        self.timerDeadline = .distantFuture
    }

    func probe(within time: TimeAmount) {
        self.machine.probe(within: time, now: self.eventLoopEnvironment.now)
        self.armTimer()
    }

    func update(deadPeerTime: TimeAmount) {
        self.machine.update(deadPeerTime: deadPeerTime, now: self.eventLoopEnvironment.now)
        self.armTimer()
    }

    private func tick() {
        self.stopTimer()
        guard self.ending == nil else { return }
        let due = self.machine.tick(now: self.eventLoopEnvironment.now)
        self.releaseRequests()
        for (id, call, wasSent) in due.expired {
            if wasSent { self.write(.cancel(id: id)) } else { self.dropHeld(id: id) }
            call.fail(TransportError.deadlineExceeded(wasSent: wasSent))
        }
        for id in due.overdue {
            self.handlerTasks[id]?.cancel()
        }
        // A cancelled handler may have ended the connection.
        guard self.ending == nil else { return }
        if due.isPeerDead {
            let seconds = Double(self.machine.deadPeerTime.nanoseconds) / 1e9
            let silent = TransportError(
                .connectionLost,
                "The connection was lost: the other system has been silent for \(seconds) s.",
                side: .network,
                canRetry: true
            )
            self.end(.unknown, cause: silent)
        } else if due.isTrustOver {
            self.abort(.unknown, reason: .trustEnded(in: self.connection?.peer))
        } else if due.isDrainOver {
            self.end(.cancelled, cause: nil)
        } else {
            if let token = due.ping { self.write(.ping(token: token)) }
            self.doNextSteps()
        }
    }

    // MARK: Ending

    var hasEnded: Bool { self.ending != nil }

    /// Closes after outstanding work. A status other than `completed` closes at once, because the peer ends the
    /// connection when it receives such a status.
    func close(_ status: CloseStatus) {
        guard status == .completed else { return self.abort(status, reason: nil) }
        self.machine.close(status, until: self.eventLoopEnvironment.now + self.limits.drainTime)
        self.doNextSteps()
    }

    func abort(_ status: CloseStatus, reason: TransportError?) {
        guard self.ending == nil else { return }
        self.write(.close(status, reason?.wireFailure))
        self.flush()
        self.end(status, cause: reason)
    }

    /// Sends `close` and ends the connection without waiting for the peer's `close`. Requests that have arrived get
    /// their responses first, within the drain time.
    func leave() {
        guard self.ending == nil, self.leaving == nil else { return }
        guard !self.machine.incoming.isEmpty else { return self.abort(.completed, reason: nil) }
        self.leaving = self.loop.scheduleTask(in: self.limits.drainTime) { self.abort(.completed, reason: nil) }
    }

    /// Ends the connection if ``leave()`` was waiting for the last response.
    func leaveIfResponded() {
        if self.leaving != nil, self.machine.incoming.isEmpty { self.abort(.completed, reason: nil) }
    }

    func onClose(_ listener: @escaping @Sendable (CloseStatus) -> Void) {
        if let ending = self.ending {
            listener(ending.status)
        } else {
            self.closeListeners.append(listener)
        }
    }

    /// Ends the connection. Every outstanding call fails exactly once.
    func end(_ status: CloseStatus, cause: TransportError?, closing mode: CloseMode = .all) {
        guard self.ending == nil else { return }
        let lost = self.machine.lost(status)
        self.ending = (lost.status, cause)
        self.connection?.markEnded()
        self.observer?.report(.ended(lost.status))
        self.stopTimer()
        self.leaving?.cancel()
        self.unfinishedTimer?.cancel()
        self.releaseUnfinishedFrame()
        self.releaseRequests()
        self.releaseResponsesAtClose()
        self.memoryBudget?.leave(self.holder, allowance: self.requestMemory.allowance)
        self.held = nil
        // Done before callers and listeners are notified: a program may exit then, and `close_notify` must be sent
        // before.
        self.channel.outlivesPeersHalf(false)
        self.channel.close(mode: mode, promise: nil)
        for call in lost.sent {
            call.fail(TransportError.lost(lost.status, cause: cause))
        }
        for call in lost.unsent {
            call.fail(TransportError.closed(lost.status, cause: cause))
        }
        for task in self.handlerTasks.values { task.cancel() }
        self.handlerTasks.removeAll()
        self.endState()
        let listeners = self.closeListeners
        self.closeListeners = []
        for listener in listeners { listener(lost.status) }
        self.connection = nil
    }
}
