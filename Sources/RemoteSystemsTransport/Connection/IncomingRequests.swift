// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// What to do with a request of the peer.
enum OnRequest<Request> {
    case dispatch(Request)
    case queued
    case violation(String, FailureCode)
    /// The peer exceeded an agreed limit.
    case excess(String, FailureCode)
}

/// What to do when the peer cancels a request.
enum OnPeerCancel {
    /// The handler is running: cancel it. It still responds, which frees the request's place in the window.
    case cancelHandler
    /// The request was not started: respond that it was cancelled.
    case responseCancelled
    /// The request has its response already (the two frames crossed), or gets it when its turn comes.
    case nothing
}

/// The requests of the peer. They start in the order of arrival, up to the agreed number at once. None starts while the
/// responses of earlier ones cannot be written. A request that has not started when its requester stops waiting keeps
/// its place, but not its message.
struct IncomingRequests<Request> {
    private struct Running {
        var bytes: Int
        /// The bytes of the message, if it is held.
        var heldBytes: Int
        var deadline: NIODeadline
    }

    private struct Queued {
        var id: UInt64
        var running: Running
        /// `nil` after the requester has stopped waiting.
        var request: Request?
    }

    private let window: Int
    private let windowBytes: Int
    private let concurrency: Int
    private var lastID: UInt64 = 0
    private var running: [UInt64: Running] = [:]
    /// The requests that wait for a handler. The buffer starts small, because on most connections no request is ever
    /// queued.
    private var queued = CircularBuffer<Queued>(initialCapacity: 1)
    private var bytes = 0
    /// The bytes of the messages that are held, of running and of waiting requests.
    private(set) var heldBytes = 0
    var isWritable = true
    /// The number of requests that the host permits to run at once. Others of the peer's connections count, too.
    var permitted = Int.max
    /// A time that is never later than the earliest deadline. It may be earlier, because finished requests do not
    /// change it.
    private(set) var earliestDeadline = NIODeadline.distantFuture

    init(window: Int, windowBytes: Int, concurrency: Int) {
        self.window = window
        self.windowBytes = windowBytes
        self.concurrency = min(window, concurrency)
    }

    var isEmpty: Bool { self.running.isEmpty && self.queued.isEmpty }
    var hasQueued: Bool { !self.queued.isEmpty }
    /// The number of requests whose handlers run.
    var runningCount: Int { self.running.count }
    /// Whether a further request has to wait only because the host does not permit more.
    var isHeldBack: Bool { self.running.count >= self.permitted && self.running.count < self.concurrency }
    private var mayStart: Bool { self.isWritable && self.running.count < min(self.concurrency, self.permitted) }

    /// Records a request.
    ///
    /// - Parameter isHeld: whether `request` contains the message. Otherwise the request only takes its turn.
    mutating func received(
        id: UInt64,
        bytes: Int,
        isHeld: Bool = true,
        deadline: NIODeadline,
        request: Request
    ) -> OnRequest<Request> {
        guard id > self.lastID else {
            return .violation("request \(id) does not follow request \(self.lastID)", .requestOutOfOrder)
        }
        self.lastID = id
        guard self.running.count + self.queued.count < self.window else {
            return .excess("more than \(self.window) requests at once", .windowExceeded)
        }
        guard self.bytes == 0 || self.bytes + bytes <= self.windowBytes else {
            return .excess("more than \(self.windowBytes) bytes of requests at once", .windowBytesExceeded)
        }
        let entry = Running(bytes: bytes, heldBytes: isHeld ? bytes : 0, deadline: deadline)
        self.bytes += bytes
        self.heldBytes += entry.heldBytes
        self.earliestDeadline = min(self.earliestDeadline, deadline)
        guard self.mayStart, self.queued.isEmpty else {
            self.queued.append(Queued(id: id, running: entry, request: request))
            return .queued
        }
        self.running[id] = entry
        return .dispatch(request)
    }

    mutating func receivedCancel(id: UInt64) -> OnPeerCancel {
        if self.running[id] != nil { return .cancelHandler }
        guard let index = self.queued.firstIndex(where: { $0.id == id }) else { return .nothing }
        self.drop(at: index)
        // While the peer does not read, a cancelled request keeps its place in the window. Otherwise a peer could
        // create any number of responses with requests and cancels.
        guard self.isWritable else { return .nothing }
        self.bytes -= self.queued.remove(at: index).running.bytes
        return .responseCancelled
    }

    mutating func finished(id: UInt64) -> Bool {
        guard let finished = self.running.removeValue(forKey: id) else { return false }
        self.bytes -= finished.bytes
        self.heldBytes -= finished.heldBytes
        return true
    }

    /// Removes the next request from the queue, if it may start. The request is `nil` if it was dropped: the response
    /// is that it was cancelled.
    mutating func nextRequest() -> (id: UInt64, request: Request?)? {
        guard !self.queued.isEmpty, self.mayStart, let next = self.queued.popFirst() else { return nil }
        if next.request == nil {
            self.bytes -= next.running.bytes
        } else {
            self.running[next.id] = next.running
        }
        return (next.id, next.request)
    }

    /// Drops the message of a request that waits. The request keeps its place.
    private mutating func drop(at index: CircularBuffer<Queued>.Index) {
        self.heldBytes -= self.queued[index].running.heldBytes
        self.queued[index].running.heldBytes = 0
        self.queued[index].request = nil
    }

    /// Returns the running requests past their deadline, each of them once, and drops those that wait.
    mutating func expire(now: NIODeadline) -> [UInt64] {
        guard self.earliestDeadline <= now else { return [] }
        var expired: [UInt64] = []
        var earliest = NIODeadline.distantFuture
        for (id, entry) in self.running {
            if entry.deadline <= now {
                self.running[id]?.deadline = .distantFuture
                expired.append(id)
            } else {
                earliest = min(earliest, entry.deadline)
            }
        }
        var index = self.queued.startIndex
        while index < self.queued.endIndex {
            let deadline = self.queued[index].running.deadline
            if deadline <= now { self.drop(at: index) } else { earliest = min(earliest, deadline) }
            index = self.queued.index(after: index)
        }
        self.earliestDeadline = earliest
        return expired.sorted()
    }

    /// Drops the requests that wait, because no response can be sent any more. Returns those that run, which stay.
    mutating func dropQueued() -> [UInt64] {
        for entry in self.queued {
            self.bytes -= entry.running.bytes
            self.heldBytes -= entry.running.heldBytes
        }
        self.queued.removeAll()
        return self.running.keys.sorted()
    }
}
