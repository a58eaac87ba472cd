// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore

/// Drives an open stream: performs the steps of ``ByteStreamStateMachine``, and decides nothing itself.
///
/// It is confined to its channel's event loop. Tasks use ``ByteStream``.
final class ByteStreamDriver {
    /// The stream's connection. The reference keeps it alive while it is open.
    var connection: StreamConnection?
    let channel: any Channel
    let logger: Logger
    private let incidents: IncidentLog
    let limits: StreamLimits
    let observer: ConnectionObserver.One?

    private let environment: EventLoopEnvironment
    private let loop: NIOIsolatedEventLoop
    private var machine: ByteStreamStateMachine
    private var decoder: StreamFrameDecoder
    private let inbox: StreamInbox
    /// The writes to perform, in the order in which the machine counts them.
    private var writes = CircularBuffer<(operation: StreamOperation, bytes: StreamSource)>()
    /// The frames, or beginnings of frames, that are to be written to the channel.
    private var outbound: ByteBuffer
    /// The number of bytes that were written to the channel and not flushed.
    private var unflushedBytes = 0
    private var isFlushScheduled = false
    /// The number of bytes sent in this turn of the event loop.
    private var turnBytes = 0
    private var isTurnScheduled = false
    private var isStepping = false
    /// The token of the newest ping that could not be answered yet, because the peer does not read.
    private var owedPong: UInt64?
    private var timer: Scheduled<Void>?
    private var timerDeadline = NIODeadline.distantFuture
    /// The reason for the stream's end; `.some(nil)` if it ended properly, `nil` while it is open.
    private var ending: StreamError??
    private var isClosed = false
    private var closeListeners: [@Sendable (CloseStatus) -> Void] = []
    /// The tasks that wait for the stream's end.
    private var waits: [StreamOperation] = []
    /// The closure that reads from the channel. Set by ``StreamHandler``.
    var readNetwork: () -> Void = {}

    /// The number of bytes that triggers a flush, so that a peer that does not read is detected.
    private static var maxUnflushedBytes: Int { ByteStreamStateMachine.maxDataBytes }
    /// The number of bytes that a writer on the event loop may send before other work gets its turn.
    private static var maxTurnBytes: Int { 1 << 20 }

    /// Creates the driver of a stream that has just opened.
    ///
    /// - Parameter trusted: how long the peer's certificate remains valid.
    init(
        channel: any Channel,
        remote: PeerLimits,
        limits: StreamLimits,
        trusted: TimeAmount,
        decoder: FrameDecoder,
        inbox: StreamInbox,
        logger: Logger,
        incidents: IncidentLog,
        observer: ConnectionObserver.One?
    ) {
        self.channel = channel
        self.inbox = inbox
        self.loop = channel.eventLoop.assumeIsolated()
        self.environment = EventLoopEnvironment(of: channel.eventLoop)
        self.limits = limits
        self.logger = logger
        self.incidents = incidents
        self.observer = observer
        self.decoder = StreamFrameDecoder(decoder)
        self.outbound = channel.allocator.buffer(capacity: 256)
        let now = self.environment.now
        self.machine = ByteStreamStateMachine(
            limits: limits,
            peerLimit: remote.messageBytes,
            now: now,
            trustEnd: now + trusted
        )
        // The channel may have become unwritable during the handshake.
        self.machine.writabilityChanged(channel.isWritable, now: now)
    }

    // MARK: Reading

    /// Returns whether the channel may read from the network.
    func networkWantsRead() -> Bool {
        self.machine.networkWantsRead(isFull: self.inbox.holdsNetwork())
    }

    /// Resumes reading from the network after a reader has made space in the inbox.
    func inboxHasSpace() {
        self.machine.inboxHasSpace()
        self.doNextSteps()
    }

    func received(_ bytes: ByteBuffer) {
        let now = self.environment.now
        self.machine.heardFromPeer(now: now)
        self.decoder.append(bytes.compacted)
        do throws(TransportError) {
            while !self.isClosed, let item = try self.decoder.next() {
                switch item {
                case .data(let data): try self.receivedData(data)
                case .frame(let frame): try self.receive(frame)
                }
            }
        } catch {
            self.observer?.report(.violation(error))
            self.incidents.report(.protocolBroken, by: self.channel, reason: "\(error)")
            self.abort(.violation(error))
        }
        self.inbox.resumeReader()
        self.doNextSteps()
    }

    private func receivedData(_ data: ByteBuffer) throws(TransportError) {
        guard try self.accepts(self.machine.receivedData()) else { return }
        self.inbox.append(data)
    }

    private func receive(_ frame: Frame) throws(TransportError) {
        self.observer?.report(.received(frame, bytes: 0))
        switch frame {
        case .fin:
            if try self.accepts(self.machine.receivedFin()) { self.inbox.finish() }
        case .abort(let failure):
            self.receivedAbort(failure)
        case .ping(let token):
            // Nothing follows an `abort`.
            guard self.ending == nil else { break }
            if self.channel.isWritable { self.write(.pong(token: token)) } else { self.owedPong = token }
        case .pong, .unknown, .data:
            break
        case .close(.completed, _):
            _ = try self.accepts(self.machine.receivedClose())
        case .hello, .accept, .refuse, .request, .response, .cancel, .close, .malformed, .state:
            throw .violation("a frame that has no place on a stream came", .frameUnexpected)
        }
    }

    private func accepts(_ outcome: ByteStreamStateMachine.OnReceive) throws(TransportError) -> Bool {
        switch outcome {
        case .accept: return true
        case .drop: return false
        case .violation(let what): throw .violation(what, .frameUnexpected)
        }
    }

    // MARK: Writing

    func write(
        _ operation: StreamOperation,
        _ bytes: StreamSource,
        _ continuation: CheckedContinuation<Void, any Error>
    ) {
        guard operation.start(continuation) else { return }
        self.enqueue(operation, bytes, self.machine.write(id: operation.id, bytes: bytes.count))
    }

    func finish(_ operation: StreamOperation, _ continuation: CheckedContinuation<Void, any Error>) {
        guard operation.start(continuation) else { return }
        let outcome = self.machine.finish(id: operation.id)
        // A second call of `finish` has no effect.
        guard outcome != .finished else { return operation.succeed() }
        self.enqueue(operation, .empty, outcome)
    }

    private func enqueue(
        _ operation: StreamOperation,
        _ bytes: StreamSource,
        _ outcome: ByteStreamStateMachine.OnWrite
    ) {
        switch outcome {
        case .wait:
            self.writes.append((operation, bytes))
            self.doNextSteps()
        case .finished:
            operation.fail(StreamError.finished)
        case .ended:
            operation.fail((self.ending ?? nil) ?? StreamError.finished)
        }
    }

    func cancel(_ operation: StreamOperation) {
        guard operation.cancel() else { return }
        switch self.machine.cancelWrite(id: operation.id) {
        case .nothing: break
        case .leave: operation.fail(CancellationError())
        case .forget:
            self.writes.removeAll { $0.operation === operation }
            operation.fail(CancellationError())
            self.doNextSteps()
        case .abort:
            operation.fail(CancellationError())
            self.abort(.aborted(WireFailure("A write to the stream was cancelled midway.", code: .streamCancelled)))
        }
    }

    private func send(bytes count: Int) {
        self.outbound.writeDataHead(count)
        let index = self.writes.startIndex
        let copied = self.writes[index].bytes.bytesToCopy(of: count, untilRecordEndsAfter: self.outbound.readableBytes)
        self.writes[index].bytes.move(copied, to: &self.outbound)
        if let rest = self.writes[index].bytes.slice(count - copied) {
            self.channel.write(self.outbound, promise: nil)
            self.channel.write(rest, promise: nil)
            self.outbound = self.channel.allocator.buffer(capacity: 256)
        }
        self.unflushedBytes += count
        self.turnBytes += count
        self.scheduleTurn()
        if self.unflushedBytes >= Self.maxUnflushedBytes { self.flush() } else { self.scheduleFlush() }
        self.updateWritability()
    }

    private func write(_ frame: Frame) {
        // Every frame that is written here fits into the smallest limit of a peer.
        try? self.outbound.writeFrame(frame, limit: ConnectionLimits.minMessageBytes)
        self.scheduleFlush()
    }

    private func scheduleFlush() {
        guard !self.isFlushScheduled else { return }
        self.isFlushScheduled = true
        self.loop.execute {
            self.isFlushScheduled = false
            self.flush()
        }
    }

    func flush() {
        if self.outbound.readableBytes > 0 {
            let outbound = self.outbound
            self.outbound = self.channel.allocator.buffer(capacity: 256)
            self.unflushedBytes = 0
            self.channel.writeAndFlush(outbound, promise: nil)
        } else if self.unflushedBytes > 0 {
            self.unflushedBytes = 0
            self.channel.flush()
        }
    }

    /// Lets other work of the event loop proceed when a writer never has to wait.
    private func scheduleTurn() {
        guard !self.isTurnScheduled else { return }
        self.isTurnScheduled = true
        self.loop.execute {
            self.isTurnScheduled = false
            self.turnBytes = 0
            self.writabilityChanged()
        }
    }

    private func updateWritability() {
        let isWritable = self.channel.isWritable && self.turnBytes < Self.maxTurnBytes
        self.machine.writabilityChanged(isWritable, now: self.environment.now)
    }

    func writabilityChanged() {
        self.updateWritability()
        if self.channel.isWritable, let token = self.owedPong.take() { self.write(.pong(token: token)) }
        self.doNextSteps()
    }

    // MARK: Performing the next steps

    func doNextSteps() {
        // Performing a step may call this method again; the loop below continues with the further steps.
        guard !self.isStepping else { return }
        self.isStepping = true
        defer { self.isStepping = false }
        while true {
            switch self.machine.nextStep(now: self.environment.now) {
            case .nothing:
                return self.armTimer()
            case .readNetwork:
                self.readNetwork()
            case .send(let bytes):
                self.send(bytes: bytes)
            case .written:
                self.writes.popFirst()?.operation.succeed()
            case .sendFin:
                self.write(.fin)
                self.flush()
                self.writes.popFirst()?.operation.succeed()
            case .sendClose:
                self.write(.close(.completed, nil))
                self.flush()
            case .finish:
                self.end(nil)
                self.closeChannel()
            }
        }
    }

    // MARK: Time

    private func armTimer() {
        let next = self.machine.nextWakeUp
        guard next < self.timerDeadline, !self.isClosed else { return }
        self.timer?.cancel()
        self.timer = self.loop.scheduleTask(deadline: next) { self.tick() }
        self.timerDeadline = next
    }

    private func stopTimer() {
        self.timer?.cancel()
        self.timer = nil
        self.timerDeadline = .distantFuture
    }

    private func tick() {
        self.stopTimer()
        guard !self.isClosed else { return }
        switch self.machine.tick(now: self.environment.now) {
        case .nothing:
            break
        case .ping(let token):
            if self.channel.isWritable { self.write(.ping(token: token)) }
        case .silent:
            self.lose(.silent(seconds: Double(self.limits.deadPeerTime.nanoseconds) / 1e9))
        case .stalled:
            self.abort(.stalled(seconds: Double(self.limits.stallTimeout.nanoseconds) / 1e9))
        case .trustEnded:
            self.abort(.certificateExpired)
        case .closeNow:
            self.abort(
                .aborted(WireFailure("The application is shutting down.", code: .applicationClosing, canRetry: true))
            )
        case .giveUp:
            self.closeChannel()
        }
        self.doNextSteps()
    }

    // MARK: Ending

    func closeSoon() {
        self.machine.close(until: self.environment.now + self.limits.drainTime)
        self.doNextSteps()
    }

    /// Handles that the application has released the stream. What was written is still delivered if the application has
    /// finished and has read everything.
    func released() {
        if self.machine.isDone, self.inbox.isEmpty { self.closeSoon() } else { self.abort(.aborted(.streamCancelled)) }
    }

    /// Aborts the stream. The peer receives the reason, and closes the connection.
    func abort(_ error: StreamError) {
        guard self.machine.abort(now: self.environment.now) else { return }
        self.owedPong = nil
        self.write(.abort(error.wireFailure))
        self.flush()
        // The reader fails after the peer was notified, because a program may exit then.
        self.inbox.fail(error, dropsUnread: true)
        self.end(error)
        // Resumes reading: the peer's end of the connection follows the bytes that were held back.
        self.doNextSteps()
    }

    private func receivedAbort(_ failure: WireFailure) {
        if self.machine.receivedAbort() {
            let error = StreamError.abortedByPeer(failure)
            self.inbox.fail(error, dropsUnread: true)
            self.end(error)
        }
        self.closeChannel()
    }

    /// Ends the stream after the connection was lost.
    private func lose(_ error: StreamError) {
        switch self.machine.connectionEnded() {
        case .truncated:
            var error = error
            error.code = .truncated
            self.truncate(error)
        case .unconfirmed: self.end(error)
        case .known: break
        }
        self.closeChannel()
    }

    /// Ends the stream after TLS or TCP has ended.
    ///
    /// - Parameter mode: `output` after the peer's TCP ended without `close_notify`, because only the output is left to
    ///   close.
    func connectionEnded(cause: (any Error)? = nil, closing mode: CloseMode = .all) {
        switch self.machine.connectionEnded() {
        case .truncated: self.truncate(.truncated(cause: cause))
        case .unconfirmed: self.end(.connectionLost(cause: cause))
        case .known: break
        }
        self.closeChannel(mode)
        self.doNextSteps()
    }

    private func truncate(_ error: StreamError) {
        self.inbox.fail(error, dropsUnread: false)
        self.end(error)
    }

    /// Ends the stream. Every waiting write fails, and every task that waits for the end is resumed, exactly once.
    private func end(_ error: StreamError?) {
        guard self.ending == nil else { return }
        self.ending = .some(error)
        let writes = self.writes
        self.writes = []
        for write in writes { write.operation.fail(error ?? StreamError.finished) }
        let waits = self.waits
        self.waits = []
        for wait in waits { wait.end(error) }
    }

    private func closeChannel(_ mode: CloseMode = .all) {
        guard !self.isClosed else { return }
        self.isClosed = true
        self.stopTimer()
        self.flush()
        self.channel.outlivesPeersHalf(false)
        self.channel.close(mode: mode, promise: nil)
        let status: CloseStatus = self.hasFinished ? .completed : .unknown
        self.observer?.report(.ended(status))
        let listeners = self.closeListeners
        self.closeListeners = []
        for listener in listeners { listener(status) }
        self.connection = nil
    }

    func onClose(_ listener: @escaping @Sendable (CloseStatus) -> Void) {
        guard self.isClosed else { return self.closeListeners.append(listener) }
        listener(self.hasFinished ? .completed : .unknown)
    }

    /// Lets a task wait for the stream's end. It fails with the reason unless both sides have received everything.
    func waitUntilEnded(_ operation: StreamOperation, _ continuation: CheckedContinuation<Void, any Error>) {
        guard operation.start(continuation) else { return }
        if let ending { operation.end(ending) } else { self.waits.append(operation) }
    }

    func cancelWait(_ operation: StreamOperation) {
        guard operation.cancel() else { return }
        self.waits.removeAll { $0 === operation }
        operation.fail(CancellationError())
    }

    private var hasFinished: Bool {
        if case .some(.none) = self.ending { true } else { false }
    }
}
