// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The rules of an open stream: what may be sent, when the network is read, when the peer is probed and when the stream
/// ends.
///
/// A value type without I/O or a clock. The driver (``ByteStreamDriver``) reports events with their time, then performs
/// the steps that ``nextStep(now:)`` returns. The driver holds the bytes; this type counts them.
struct ByteStreamStateMachine {
    private enum Input {
        /// The peer may send more bytes.
        case open
        /// The peer has sent its last byte.
        case finished
        /// No more bytes can arrive. The received bytes are incomplete.
        case failed
    }

    private enum Output {
        case open
        /// The last bytes are still to be sent.
        case finishing
        case finished
    }

    private enum Phase {
        case open
        /// Both sides have finished, and this side has sent `close`. The peer's `close` is outstanding.
        case awaitingClose(until: NIODeadline)
        /// An `abort` was sent. The peer is expected to close; what it still sends is dropped.
        case aborting(until: NIODeadline)
        case ended
    }

    private struct Write {
        var id: UInt64
        var bytesLeft: Int
        /// Whether some of its bytes were sent.
        var isStarted = false
        /// Whether this entry ends the output. It has no bytes.
        var isFinish = false
    }

    private let limits: StreamLimits
    /// The maximum number of bytes in one frame.
    private let dataBytes: Int
    /// The number of bytes that fill four records of TLS together with the frame's head.
    static var maxDataBytes: Int { (64 << 10) - ByteBuffer.dataHeadBytes }
    private let trustEnd: NIODeadline
    private var input = Input.open
    private var output = Output.open
    private var phase = Phase.open
    private var hasPeerClosed = false
    private var writes = CircularBuffer<Write>()
    private var isWritable = true
    /// Whether a read from the network is held back.
    private var isHoldingRead = false
    /// Whether enough was read since the read was held back.
    private var hasSpace = false
    private var keepAlive: KeepAlive
    private var lastPing: NIODeadline
    private var token: UInt64 = 0
    /// The time at which the peer counts as stalled, because it reads nothing.
    private var stallDeadline = NIODeadline.distantFuture
    /// The time at which a stream that is being closed is aborted.
    private var closeDeadline = NIODeadline.distantFuture

    init(
        limits: StreamLimits,
        peerLimit: Int = StreamLimits.frameBytes,
        now: NIODeadline,
        trustEnd: NIODeadline = .distantFuture
    ) {
        self.limits = limits
        self.dataBytes = min(Self.maxDataBytes, ByteBuffer.dataBytes(in: peerLimit))
        self.trustEnd = trustEnd
        self.keepAlive = KeepAlive(deadPeerTime: limits.deadPeerTime, now: now)
        self.lastPing = now
    }

    // MARK: Input from the peer

    /// What to do with a received frame.
    enum OnReceive: Equatable {
        case accept
        /// The stream is being aborted.
        case drop
        case violation(String)
    }

    mutating func heardFromPeer(now: NIODeadline) {
        self.keepAlive.heard(now: now)
    }

    mutating func receivedData() -> OnReceive {
        switch (self.phase, self.input) {
        case (.open, .open): return .accept
        case (.open, _), (.awaitingClose, _): return .violation("bytes came behind the end of the stream")
        case (.aborting, _), (.ended, _): return .drop
        }
    }

    mutating func receivedFin() -> OnReceive {
        switch (self.phase, self.input) {
        case (.open, .open):
            self.input = .finished
            return .accept
        case (.open, _), (.awaitingClose, _): return .violation("the end of the stream came twice")
        case (.aborting, _), (.ended, _): return .drop
        }
    }

    /// The peer confirms that it has received everything.
    mutating func receivedClose() -> OnReceive {
        switch self.phase {
        case .aborting, .ended: return .drop
        case .open, .awaitingClose:
            guard self.input == .finished, self.output == .finished, !self.hasPeerClosed else {
                return .violation("the stream was closed before its end")
            }
            self.hasPeerClosed = true
            return .accept
        }
    }

    /// Whether everything was received, and nothing more is written here. The peer may still be receiving.
    var isDone: Bool { self.input == .finished && self.output != .open }

    // MARK: Reading

    /// Reports that the channel wants to read from the network.
    ///
    /// - Parameter isFull: whether the unread bytes reach their limit. ``inboxHasSpace()`` follows when some were read.
    /// - Returns: whether it may. If not, ``Step/readNetwork`` follows when it may.
    mutating func networkWantsRead(isFull: Bool) -> Bool {
        guard isFull, self.needsSpace else { return true }
        self.isHoldingRead = true
        self.hasSpace = false
        return false
    }

    /// Reports that enough of the unread bytes were read.
    mutating func inboxHasSpace() {
        self.hasSpace = true
    }

    /// Whether more bytes may arrive, for which there must be space.
    private var needsSpace: Bool {
        guard case .open = self.phase else { return false }
        return self.input == .open
    }

    // MARK: Writing

    /// What to do with a write.
    enum OnWrite: Equatable {
        case wait
        case finished
        case ended
    }

    mutating func write(id: UInt64, bytes: Int) -> OnWrite {
        guard case .open = self.phase else { return self.output == .open ? .ended : .finished }
        guard self.output == .open else { return .finished }
        self.writes.append(Write(id: id, bytesLeft: bytes))
        return .wait
    }

    mutating func finish(id: UInt64) -> OnWrite {
        guard case .open = self.phase else { return self.output == .open ? .ended : .finished }
        guard self.output == .open else { return .finished }
        self.output = .finishing
        self.writes.append(Write(id: id, bytesLeft: 0, isFinish: true))
        return .wait
    }

    /// What to do with a write whose caller was cancelled.
    enum OnCancelWrite: Equatable {
        /// The write is complete already.
        case nothing
        /// No byte of the write was sent. The stream continues without it.
        case forget
        /// The write is still performed, but its caller no longer waits.
        case leave
        /// Some bytes were sent. The stream is aborted, because the peer could not locate later bytes.
        case abort
    }

    mutating func cancelWrite(id: UInt64) -> OnCancelWrite {
        guard let index = self.writes.firstIndex(where: { $0.id == id }) else { return .nothing }
        // Nothing can be written after `finish`, so it is performed despite the cancellation.
        guard !self.writes[index].isFinish else { return .leave }
        guard !self.writes[index].isStarted else { return .abort }
        self.writes.remove(at: index)
        return .forget
    }

    /// Reports whether the channel accepts more bytes.
    mutating func writabilityChanged(_ isWritable: Bool, now: NIODeadline) {
        guard isWritable != self.isWritable else { return }
        self.isWritable = isWritable
        self.stallDeadline = isWritable ? .distantFuture : now + self.limits.stallTimeout
    }

    // MARK: Next steps

    /// An action that the driver performs.
    enum Step: Equatable {
        case nothing
        /// Resume reading from the network.
        case readNetwork
        /// Send this many bytes of the oldest write in one frame.
        case send(bytes: Int)
        /// The oldest write is complete: resume its writer.
        case written
        /// Send `fin` and complete the oldest write.
        case sendFin
        /// Send `close`, which confirms that all bytes have arrived.
        case sendClose
        /// Both sides have all bytes: close the connection.
        case finish
    }

    /// The step that the driver performs next. The driver calls this after every event and step until the result is
    /// ``Step/nothing``.
    mutating func nextStep(now: NIODeadline) -> Step {
        if self.isHoldingRead, self.hasSpace || !self.needsSpace {
            self.isHoldingRead = false
            // The peer's bytes were not read meanwhile, so its silence does not count.
            self.keepAlive.heard(now: now)
            return .readNetwork
        }
        switch self.phase {
        case .open:
            if let step = self.nextWriterStep() { return step }
            guard self.output == .finished, self.input == .finished else { return .nothing }
            self.phase = .awaitingClose(until: now + self.limits.stallTimeout)
            return .sendClose
        case .awaitingClose where self.hasPeerClosed:
            self.phase = .ended
            return .finish
        case .awaitingClose, .aborting, .ended:
            return .nothing
        }
    }

    private mutating func nextWriterStep() -> Step? {
        guard var write = self.writes.first else { return nil }
        if write.isFinish {
            self.writes.removeFirst()
            self.output = .finished
            return .sendFin
        }
        if write.bytesLeft == 0 {
            self.writes.removeFirst()
            return .written
        }
        guard self.isWritable else { return nil }
        let bytes = min(write.bytesLeft, self.dataBytes)
        write.bytesLeft -= bytes
        write.isStarted = true
        self.writes[self.writes.startIndex] = write
        return .send(bytes: bytes)
    }

    // MARK: Ending

    /// The effect of the connection's end on the stream.
    enum Ending: Equatable {
        /// Bytes of the peer are missing.
        case truncated
        /// All bytes of the peer have arrived. It is unknown whether the peer received all bytes of this side.
        case unconfirmed
        /// The stream was aborted or had ended before.
        case known
    }

    mutating func connectionEnded() -> Ending {
        defer { self.phase = .ended }
        switch self.phase {
        case .ended, .aborting: return .known
        case .awaitingClose: return .unconfirmed
        case .open:
            guard self.input == .open else { return .unconfirmed }
            self.input = .failed
            return .truncated
        }
    }

    /// Aborts the stream. Unread bytes are dropped.
    ///
    /// - Returns: whether to send the reason to the peer; `false` if the stream has ended already.
    mutating func abort(now: NIODeadline) -> Bool {
        switch self.phase {
        case .aborting, .ended: return false
        case .open, .awaitingClose:
            self.dropInput()
            self.phase = .aborting(until: now + self.limits.drainTime)
            return true
        }
    }

    /// Handles the peer's abort. Unread bytes are dropped.
    ///
    /// - Returns: whether the peer aborted first; `false` if this side had aborted the stream, or the stream had ended.
    mutating func receivedAbort() -> Bool {
        switch self.phase {
        case .ended: return false
        case .aborting:
            self.phase = .ended
            return false
        case .open, .awaitingClose:
            self.dropInput()
            self.phase = .ended
            return true
        }
    }

    private mutating func dropInput() {
        self.input = .failed
        self.writes.removeAll()
    }

    /// Aborts the stream at the deadline unless it ends before.
    mutating func close(until deadline: NIODeadline) {
        self.closeDeadline = min(self.closeDeadline, deadline)
    }

    // MARK: Time

    /// The timeout that has elapsed.
    enum OnTick: Equatable {
        case nothing
        case ping(UInt64)
        /// The peer was silent for longer than the timeout.
        case silent
        /// The peer read nothing for longer than the timeout.
        case stalled
        /// The peer's certificate has expired.
        case trustEnded
        /// The stream did not end before its close deadline.
        case closeNow
        /// The peer did not close after an abort: close the connection.
        case giveUp
    }

    mutating func tick(now: NIODeadline) -> OnTick {
        switch self.phase {
        case .ended: return .nothing
        case .aborting(let until):
            return until <= now ? .giveUp : .nothing
        case .awaitingClose(let until):
            if until <= now { return .stalled }
        case .open:
            break
        }
        if self.trustEnd <= now { return .trustEnded }
        if self.closeDeadline <= now { return .closeNow }
        if self.stallDeadline <= now { return .stalled }
        guard !self.isHoldingRead else {
            // Silence has no meaning while this side does not read. The pings show the peer that this side is alive.
            self.keepAlive.heard(now: now)
            guard self.lastPing + self.interval <= now else { return .nothing }
            return self.ping(now: now)
        }
        switch self.keepAlive.tick(now: now) {
        case .nothing: return .nothing
        case .ping: return self.ping(now: now)
        case .dead: return .silent
        }
    }

    private mutating func ping(now: NIODeadline) -> OnTick {
        self.lastPing = now
        self.token += 1
        return .ping(self.token)
    }

    private var interval: TimeAmount { .nanoseconds(self.limits.deadPeerTime.nanoseconds / 3) }

    /// The time at which ``tick(now:)`` must be called next.
    var nextWakeUp: NIODeadline {
        switch self.phase {
        case .ended: return .distantFuture
        case .aborting(let until): return until
        case .awaitingClose(let until): return min(until, self.openWakeUp)
        case .open: return self.openWakeUp
        }
    }

    private var openWakeUp: NIODeadline {
        let next = self.isHoldingRead ? self.lastPing + self.interval : self.keepAlive.nextWakeUp
        return min(next, self.stallDeadline, self.trustEnd, self.closeDeadline)
    }
}
