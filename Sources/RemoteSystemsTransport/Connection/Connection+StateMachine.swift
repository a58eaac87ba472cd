// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The rules of one open connection: which request may go out, which may be handled, when to ping and when to give up.
///
/// A value without I/O or a clock: the driver (``ConnectionDriver``) tells what happened and when, and does what it is told.
/// `Call` is whatever the driver needs to finish an outgoing request; `Request` whatever it needs to handle an
/// incoming one. Tests use strings for both.
///
/// Two halves share the connection and nothing else: calls that we make live in ``OutgoingCalls``, requests that the
/// peer makes in ``IncomingRequests``. This type adds what concerns both: closing and keep-alive.
struct ConnectionStateMachine<Call, Request>: ~Copyable {
    private(set) var outgoing: OutgoingCalls<Call>
    private(set) var incoming: IncomingRequests<Request>
    private var keepAlive: KeepAlive
    private var closing = Closing.open
    private let trustEnd: NIODeadline

    private enum Closing {
        case open
        /// No new work is taken; what is under way finishes first.
        case draining(status: CloseStatus, until: NIODeadline, sentClose: Bool, peerClosed: Bool)
        case closed(CloseStatus)
    }

    /// - Parameter trustEnd: when the peer's certificate ends.
    init(limits: ConnectionLimits, peer: PeerLimits, now: NIODeadline, trustEnd: NIODeadline = .distantFuture) {
        self.trustEnd = trustEnd
        self.outgoing = OutgoingCalls(window: peer)
        self.incoming = IncomingRequests(
            window: limits.window,
            windowBytes: limits.windowBytes,
            concurrency: limits.concurrentRequests
        )
        self.keepAlive = KeepAlive(deadPeerTime: limits.deadPeerTime, now: now)
    }

    // MARK: Calls that we make

    mutating func reserveID() -> UInt64 {
        self.outgoing.reserveID()
    }

    mutating func submit(id: UInt64, _ call: Call, deadline: NIODeadline) -> OnSubmit<Call> {
        switch self.closing {
        case .open:
            return self.outgoing.submit(id: id, call, deadline: deadline)
        case .draining(let status, _, _, _), .closed(let status):
            return .reject(call, status)
        }
    }

    /// The call's frame has this many bytes. Returns whether it may be written now; otherwise the driver holds the
    /// frame until ``nextStep()`` says ``NextStep/writeHeld``.
    mutating func encoded(id: UInt64, bytes: Int) -> Bool {
        self.outgoing.encoded(id: id, bytes: bytes)
    }

    /// The call's message could not be encoded: it is forgotten, its number stays unused.
    mutating func encodingFailed(id: UInt64) -> Call? {
        self.outgoing.forget(id: id)
    }

    mutating func receivedResponse(id: UInt64) -> OnResponse<Call> {
        self.outgoing.receivedResponse(id: id)
    }

    mutating func cancel(id: UInt64) -> OnCancel<Call> {
        self.outgoing.cancel(id: id)
    }

    // MARK: Requests that the peer makes

    mutating func receivedRequest(
        id: UInt64,
        bytes: Int,
        deadline: NIODeadline,
        request: Request
    ) -> OnRequest<Request> {
        switch self.closing {
        case .open, .draining(_, _, _, peerClosed: false):
            return self.incoming.received(id: id, bytes: bytes, deadline: deadline, request: request)
        case .draining, .closed:
            return .violation("a request came after the peer had said that it would send no more", .requestAfterClose)
        }
    }

    mutating func receivedCancel(id: UInt64) -> OnPeerCancel<Request> {
        self.incoming.receivedCancel(id: id)
    }

    /// A handler came to its end. Returns whether its answer is still wanted.
    mutating func handlerFinished(id: UInt64) -> Bool {
        self.incoming.finished(id: id)
    }

    mutating func writabilityChanged(_ isWritable: Bool) {
        self.incoming.isWritable = isWritable
    }

    // MARK: What is due

    enum NextStep {
        case nothing
        case encode(id: UInt64, Call)
        case writeHeld
        case dispatch(id: UInt64, Request)
        /// Tell the peer that no more requests will come from here.
        case sendClose(CloseStatus)
        /// Both sides are done: close the channel.
        case finish(CloseStatus)
    }

    /// What the driver shall do next; asked again after every event until there is nothing.
    mutating func nextStep() -> NextStep {
        switch self.outgoing.nextStep() {
        case .encode(let id, let call): return .encode(id: id, call)
        case .writeHeld: return .writeHeld
        case .nothing: break
        }
        if let (id, request) = self.incoming.nextRequest() {
            return .dispatch(id: id, request)
        }
        guard case .draining(let status, let until, let sentClose, let peerClosed) = self.closing else {
            return .nothing
        }
        if !sentClose, self.outgoing.allTransmitted {
            self.closing = .draining(status: status, until: until, sentClose: true, peerClosed: peerClosed)
            return .sendClose(status)
        }
        if sentClose, peerClosed, self.isIdle {
            self.closing = .closed(status)
            return .finish(status)
        }
        return .nothing
    }

    private var isIdle: Bool { self.outgoing.isEmpty && self.incoming.isEmpty }

    // MARK: Closing

    /// Finish what is under way, then close. Calls that wait for room are still sent.
    mutating func close(_ status: CloseStatus, until deadline: NIODeadline) {
        guard case .open = self.closing else { return }
        self.closing = .draining(status: status, until: deadline, sentClose: false, peerClosed: false)
    }

    /// The peer sends no more requests. Returns our calls that were never sent: the peer would not take them.
    mutating func receivedClose(_ status: CloseStatus, until deadline: NIODeadline) -> [Call] {
        switch self.closing {
        case .open:
            self.closing = .draining(status: status, until: deadline, sentClose: false, peerClosed: true)
        case .draining(let own, let until, let sentClose, _):
            // Ours came first unless the peer had something worse to say.
            let worse = status == .completed ? own : status
            self.closing = .draining(status: worse, until: until, sentClose: sentClose, peerClosed: true)
        case .closed:
            return []
        }
        return self.outgoing.rejectWaiting()
    }

    struct Lost {
        var status: CloseStatus
        /// Calls whose request may have reached the peer: their outcome is unknown.
        var sent: [Call]
        /// Calls that never left.
        var unsent: [Call]
        /// Handlers whose answer nobody can receive any more.
        var running: [UInt64]
    }

    /// The channel is gone. Everything that was under way is handed back exactly once.
    mutating func lost(_ status: CloseStatus) -> Lost {
        let final: CloseStatus
        switch self.closing {
        case .closed(let closed): final = closed
        // The peer had said that it was done, and how; "completed" it is only if nothing was left to do.
        case .draining(let agreed, _, _, peerClosed: true) where agreed != .completed || self.isIdle: final = agreed
        case .draining, .open: final = status
        }
        self.closing = .closed(final)
        let (sent, unsent) = self.outgoing.removeAll()
        return Lost(status: final, sent: sent, unsent: unsent, running: self.incoming.removeAll())
    }

    // MARK: Time

    mutating func heardFromPeer(now: NIODeadline) {
        self.keepAlive.heard(now: now)
    }

    /// Asks the peer at once whether it is still there: ``tick(now:)`` is due.
    mutating func probe(within time: TimeAmount, now: NIODeadline) {
        self.keepAlive.probe(within: time, now: now)
    }

    /// Changes after how much silence the peer counts as gone: ``tick(now:)`` may be due.
    mutating func update(deadPeerTime: TimeAmount, now: NIODeadline) {
        self.keepAlive.update(deadPeerTime: deadPeerTime, now: now)
    }

    /// After how much silence the peer counts as gone.
    var deadPeerTime: TimeAmount { self.keepAlive.deadPeerTime }

    struct OnTick {
        /// Calls past their deadline, and whether the peer must be told to stop working on them.
        var expired: [(id: UInt64, call: Call, wasSent: Bool)] = []
        /// Handlers whose caller has stopped waiting.
        var overdue: [UInt64] = []
        var ping: UInt64?
        var isPeerDead = false
        var isTrustOver = false
        var isDrainOver = false
    }

    mutating func tick(now: NIODeadline) -> OnTick {
        var result = OnTick()
        result.expired = self.outgoing.expire(now: now)
        result.overdue = self.incoming.expire(now: now)
        switch self.keepAlive.tick(now: now) {
        case .nothing: break
        case .ping(let token): result.ping = token
        case .dead: result.isPeerDead = true
        }
        result.isTrustOver = self.trustEnd <= now
        if case .draining(_, let until, _, _) = self.closing, until <= now {
            result.isDrainOver = true
        }
        return result
    }

    /// When ``tick(now:)`` must be called next.
    var nextWakeUp: NIODeadline {
        var next = min(self.outgoing.earliestDeadline, self.incoming.earliestDeadline, self.keepAlive.nextWakeUp)
        next = min(next, self.trustEnd)
        if case .draining(_, let until, _, _) = self.closing {
            next = min(next, until)
        }
        return next
    }
}
