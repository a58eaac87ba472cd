// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The rules of an open connection: which request may be sent, which may be handled, when to ping and when to give up.
///
/// A value type without I/O or a clock. The driver (``ConnectionDriver``) reports events with their time and performs
/// the returned actions. `Call` is what the driver needs to complete an outgoing request, and `Request` what it needs
/// to handle an incoming one. Tests use strings for both.
///
/// The two directions are independent: ``OutgoingCalls`` holds the calls of this side, ``IncomingRequests`` the
/// requests of the peer. This type adds closing and keep-alive, which concern both.
struct ConnectionStateMachine<Call, Request>: ~Copyable {
    private(set) var outgoing: OutgoingCalls<Call>
    private(set) var incoming: IncomingRequests<Request>
    private var keepAlive: KeepAlive
    private var closing = Closing.open
    private let trustEnd: NIODeadline

    private enum Closing {
        case open
        /// No new work is accepted. Outstanding work finishes first.
        case draining(status: CloseStatus, until: NIODeadline, sentClose: Bool, peerClosed: Bool)
        case closed(CloseStatus)
    }

    /// Creates the state of a connection that has just opened.
    ///
    /// - Parameter trustEnd: when the peer's certificate expires. Defaults to never.
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

    // MARK: Outgoing calls

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

    /// Reports the length of the call's frame, in bytes. Returns whether the frame may be written now; otherwise the
    /// driver holds it until ``nextStep()`` returns ``NextStep/writeHeld``.
    mutating func encoded(id: UInt64, bytes: Int) -> Bool {
        self.outgoing.encoded(id: id, bytes: bytes)
    }

    /// Reports that the call's message could not be encoded. The call is removed and its id stays unused.
    mutating func encodingFailed(id: UInt64) -> Call? {
        self.outgoing.forget(id: id)
    }

    mutating func receivedResponse(id: UInt64) -> OnResponse<Call> {
        self.outgoing.receivedResponse(id: id)
    }

    mutating func cancel(id: UInt64) -> OnCancel<Call> {
        self.outgoing.cancel(id: id)
    }

    // MARK: Incoming requests

    mutating func receivedRequest(
        id: UInt64,
        bytes: Int,
        isHeld: Bool = true,
        deadline: NIODeadline,
        request: Request
    ) -> OnRequest<Request> {
        switch self.closing {
        case .open, .draining(_, _, _, peerClosed: false):
            return self.incoming.received(
                id: id,
                bytes: bytes,
                isHeld: isHeld,
                deadline: deadline,
                request: request
            )
        case .draining, .closed:
            return .violation("a request came after the peer's close", .requestAfterClose)
        }
    }

    mutating func receivedCancel(id: UInt64) -> OnPeerCancel {
        self.incoming.receivedCancel(id: id)
    }

    /// Reports that a handler has finished. Returns whether its response is still to be sent.
    mutating func handlerFinished(id: UInt64) -> Bool {
        guard self.incoming.finished(id: id) else { return false }
        if case .closed = self.closing { return false }
        return true
    }

    /// Sets the number of requests that the host permits to run at once.
    mutating func permit(_ count: Int) {
        self.incoming.permitted = count
    }

    mutating func writabilityChanged(_ isWritable: Bool) {
        self.incoming.isWritable = isWritable
    }

    // MARK: Next steps

    /// An action that the driver performs.
    enum NextStep {
        case nothing
        case encode(id: UInt64, Call)
        case writeHeld
        case dispatch(id: UInt64, Request)
        /// Respond that the request was cancelled: its requester stopped waiting before its turn came.
        case respondCancelled(id: UInt64)
        /// Send the peer a `close`: this side sends no more requests.
        case sendClose(CloseStatus)
        /// Both sides are finished: close the channel.
        case finish(CloseStatus)
    }

    /// The action that the driver performs next. The driver calls this after every event until the result is
    /// ``NextStep/nothing``.
    mutating func nextStep() -> NextStep {
        switch self.outgoing.nextStep() {
        case .encode(let id, let call): return .encode(id: id, call)
        case .writeHeld: return .writeHeld
        case .nothing: break
        }
        if let (id, request) = self.incoming.nextRequest() {
            guard let request else { return .respondCancelled(id: id) }
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

    /// Finishes outstanding work, then closes. Calls that wait for the peer's window are still sent.
    mutating func close(_ status: CloseStatus, until deadline: NIODeadline) {
        guard case .open = self.closing else { return }
        self.closing = .draining(status: status, until: deadline, sentClose: false, peerClosed: false)
    }

    /// The peer sends no more requests, and accepts none. Returns the calls that were never sent.
    mutating func receivedClose(_ status: CloseStatus, until deadline: NIODeadline) -> [Call] {
        switch self.closing {
        case .open:
            self.closing = .draining(status: status, until: deadline, sentClose: false, peerClosed: true)
        case .draining(let own, let until, let sentClose, _):
            // This side's status stays, unless the peer's status reports a failure.
            let worse = status == .completed ? own : status
            self.closing = .draining(status: worse, until: until, sentClose: sentClose, peerClosed: true)
        case .closed:
            return []
        }
        return self.outgoing.rejectWaiting()
    }

    /// The work that is outstanding when the channel is lost.
    struct Lost {
        var status: CloseStatus
        /// The calls whose request may have reached the peer. Their outcome is unknown.
        var sent: [Call]
        /// The calls that were never sent.
        var unsent: [Call]
        /// The handlers whose response can no longer be delivered.
        var running: [UInt64]
    }

    /// Reports that the channel is gone. Returns all outstanding work, exactly once. Handlers that run hold their
    /// messages until ``handlerFinished(id:)``.
    mutating func lost(_ status: CloseStatus) -> Lost {
        let final: CloseStatus
        switch self.closing {
        case .closed(let closed): final = closed
        // The status of the peer's close applies. It is `completed` only if no work was outstanding.
        case .draining(let agreed, _, _, peerClosed: true) where agreed != .completed || self.isIdle: final = agreed
        case .draining, .open: final = status
        }
        self.closing = .closed(final)
        let (sent, unsent) = self.outgoing.removeAll()
        return Lost(status: final, sent: sent, unsent: unsent, running: self.incoming.dropQueued())
    }

    // MARK: Time

    mutating func heardFromPeer(now: NIODeadline) {
        self.keepAlive.heard(now: now)
    }

    /// Probes the peer at once: ``tick(now:)`` is due.
    mutating func probe(within time: TimeAmount, now: NIODeadline) {
        self.keepAlive.probe(within: time, now: now)
    }

    /// Changes the timeout of a silent peer. ``tick(now:)`` may be due afterwards.
    mutating func update(deadPeerTime: TimeAmount, now: NIODeadline) {
        self.keepAlive.update(deadPeerTime: deadPeerTime, now: now)
    }

    /// The timeout after which a silent peer counts as lost.
    var deadPeerTime: TimeAmount { self.keepAlive.deadPeerTime }

    /// What is due at a point in time.
    struct OnTick {
        /// The calls past their deadline. A call that was sent must be cancelled at the peer.
        var expired: [(id: UInt64, call: Call, wasSent: Bool)] = []
        /// The handlers of requests past their deadline.
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

    /// The time at which ``tick(now:)`` must be called next.
    var nextWakeUp: NIODeadline {
        var next = min(self.outgoing.earliestDeadline, self.incoming.earliestDeadline, self.keepAlive.nextWakeUp)
        next = min(next, self.trustEnd)
        if case .draining(_, let until, _, _) = self.closing {
            next = min(next, until)
        }
        return next
    }
}
