// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The rules of one open stream: what may be sent, what is read, when the peer is probed and when the stream is over.
///
/// A value without I/O or a clock. The driver (``ByteStreamDriver``) reports what happened and when, then performs the steps that
/// ``nextStep()`` names until there is none. The bytes stay with the driver; this type counts them.
struct ByteStreamStateMachine {
    private enum Input {
        /// The peer may send more.
        case open
        /// The peer has sent its last byte.
        case finished
        /// No more can come: what was read is not all.
        case failed
    }

    private enum Output {
        case open
        /// The last bytes wait to be sent.
        case finishing
        case finished
    }

    private enum Phase {
        case open
        /// Both sides have finished, and this one has said that it has everything: the peer says so, too.
        case awaitingClose(until: NIODeadline)
        /// An abort was sent: the peer closes, and what it sends until then is dropped.
        case aborting(until: NIODeadline)
        case ended
    }

    private struct Write {
        var id: UInt64
        var bytesLeft: Int
        /// Whether some of its bytes have left.
        var isStarted = false
        /// Ends the output; has no bytes.
        var isFinish = false
    }

    private let limits: StreamLimits
    /// The most bytes in one frame.
    private let dataBytes: Int
    private let trustEnd: NIODeadline
    private var input = Input.open
    private var output = Output.open
    private var phase = Phase.open
    private var hasPeerClosed = false
    private var writes = CircularBuffer<Write>()
    private var chunks = CircularBuffer<Int>()
    private(set) var bufferedBytes = 0
    private var isReaderWaiting = false
    private var isWritable = true
    /// The network has something to read, and is not asked for it.
    private var isHoldingRead = false
    private var keepAlive: KeepAlive
    private var lastPing: NIODeadline
    private var token: UInt64 = 0
    /// When the peer, which takes nothing, counts as stalled.
    private var stallDeadline = NIODeadline.distantFuture
    /// When a stream that is to end is aborted.
    private var closeDeadline = NIODeadline.distantFuture

    init(
        limits: StreamLimits,
        peerLimit: Int = StreamLimits.frameBytes,
        now: NIODeadline,
        trustEnd: NIODeadline = .distantFuture
    ) {
        self.limits = limits
        self.dataBytes = ByteBuffer.dataBytes(in: peerLimit)
        self.trustEnd = trustEnd
        self.keepAlive = KeepAlive(deadPeerTime: limits.deadPeerTime, now: now)
        self.lastPing = now
    }

    // MARK: What comes from the peer

    enum OnReceive: Equatable {
        case accept
        /// The stream is being given up.
        case drop
        case violation(String)
    }

    mutating func heardFromPeer(now: NIODeadline) {
        self.keepAlive.heard(now: now)
    }

    mutating func receivedData(bytes: Int) -> OnReceive {
        switch (self.phase, self.input) {
        case (.open, .open):
            self.chunks.append(bytes)
            self.bufferedBytes += bytes
            return .accept
        case (.open, _), (.awaitingClose, _): return .violation("bytes came behind the end of the stream")
        case (.aborting, _), (.ended, _): return .drop
        }
    }

    /// The bytes just received were added to the chunk before them.
    mutating func joinLastChunks() {
        guard self.chunks.count > 1, let last = self.chunks.popLast() else { return }
        self.chunks[self.chunks.index(before: self.chunks.endIndex)] += last
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

    /// The peer has everything.
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

    // MARK: Reading

    enum OnRead: Equatable {
        case wait
        case alreadyReading
    }

    mutating func read() -> OnRead {
        guard !self.isReaderWaiting else { return .alreadyReading }
        self.isReaderWaiting = true
        return .wait
    }

    mutating func cancelRead() {
        self.isReaderWaiting = false
    }

    /// The network could be read now.
    ///
    /// - Returns: whether it shall be. If not, ``Step/readNetwork`` comes when it shall.
    mutating func networkWantsRead() -> Bool {
        guard case .open = self.phase, self.input == .open, self.bufferedBytes >= self.limits.bufferedBytes else {
            return true
        }
        self.isHoldingRead = true
        return false
    }

    // MARK: Writing

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

    enum OnCancelWrite: Equatable {
        /// It is over already.
        case nothing
        /// Nothing of it was sent: the stream goes on.
        case forget
        /// It goes on, and is not waited for.
        case leave
        /// Some of it was sent, so that the peer could not know where it is in the stream.
        case abort
    }

    mutating func cancelWrite(id: UInt64) -> OnCancelWrite {
        guard let index = self.writes.firstIndex(where: { $0.id == id }) else { return .nothing }
        // No more can be written once the end was asked for, so it is sent.
        guard !self.writes[index].isFinish else { return .leave }
        guard !self.writes[index].isStarted else { return .abort }
        self.writes.remove(at: index)
        return .forget
    }

    /// The network takes bytes, or holds as many as it does.
    mutating func writabilityChanged(_ isWritable: Bool, now: NIODeadline) {
        guard isWritable != self.isWritable else { return }
        self.isWritable = isWritable
        self.stallDeadline = isWritable ? .distantFuture : now + self.limits.stallTimeout
    }

    // MARK: What is due

    enum Step: Equatable {
        case nothing
        /// Hand the oldest chunk to the waiting reader.
        case deliver
        /// The waiting reader has read everything.
        case deliverEnd
        /// The waiting reader gets the error of the stream.
        case failReader
        /// Read from the network again.
        case readNetwork
        /// Send so many bytes of the oldest write in one frame.
        case send(bytes: Int)
        /// The oldest write is done: its writer goes on.
        case written
        /// Send the end of the stream. It is the oldest write, which is done.
        case sendFin
        /// Confirm to the peer that everything has arrived.
        case sendClose
        /// Both sides have everything: close the connection.
        case finish
    }

    /// What the driver shall do next; asked again after every event and step until there is nothing.
    mutating func nextStep(now: NIODeadline) -> Step {
        if self.isReaderWaiting, let step = self.nextReaderStep() { return step }
        if self.isHoldingRead, self.canReadAgain {
            self.isHoldingRead = false
            // What the peer said meanwhile was not listened to.
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

    private var canReadAgain: Bool {
        guard case .open = self.phase, self.input == .open else { return true }
        return self.bufferedBytes <= self.limits.bufferedBytes / 2
    }

    private mutating func nextReaderStep() -> Step? {
        if let bytes = self.chunks.popFirst() {
            self.bufferedBytes -= bytes
            self.isReaderWaiting = false
            return .deliver
        }
        switch self.input {
        case .open: return nil
        case .finished:
            self.isReaderWaiting = false
            return .deliverEnd
        case .failed:
            self.isReaderWaiting = false
            return .failReader
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

    /// How a stream is over whose connection ended.
    enum Ending: Equatable {
        /// The peer's last bytes are missing.
        case truncated
        /// The peer had sent everything; whether it has everything is not known.
        case unconfirmed
        /// It had been given up, or had ended, before.
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

    /// This side gives the stream up. What was not read is dropped.
    ///
    /// - Returns: whether the peer is to get the reason; if not, the stream is over already.
    mutating func abort(now: NIODeadline) -> Bool {
        switch self.phase {
        case .aborting, .ended: return false
        case .open, .awaitingClose:
            self.dropInput()
            self.phase = .aborting(until: now + self.limits.drainTime)
            return true
        }
    }

    /// The peer gives the stream up. What was not read is dropped.
    ///
    /// - Returns: whether that is news; if not, the stream had been given up here, too.
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
        self.chunks.removeAll()
        self.bufferedBytes = 0
        self.writes.removeAll()
    }

    /// The stream is to end within this time; what is under way may go on until then.
    mutating func close(until deadline: NIODeadline) {
        self.closeDeadline = min(self.closeDeadline, deadline)
    }

    // MARK: Time

    enum OnTick: Equatable {
        case nothing
        case ping(UInt64)
        /// The peer has been silent too long.
        case silent
        /// The peer has taken nothing for too long.
        case stalled
        /// The peer's certificate has ended.
        case trustEnded
        /// The stream was to end by now.
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
            // This side does not listen, so silence says nothing; the peer must hear that this side is alive.
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

    /// When ``tick(now:)`` must be called next.
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
