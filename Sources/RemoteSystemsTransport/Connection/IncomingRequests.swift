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
enum OnPeerCancel<Request> {
    /// The handler is running: cancel it. It still responds, which frees the request's place in the window.
    case cancelHandler
    /// The request was not started: respond that it was cancelled.
    case responseCancelled(Request)
    /// The request has its response already; the two frames crossed.
    case nothing
}

/// The requests of the peer. They start in the order of arrival, up to the agreed number at once. None starts while the
/// responses of earlier ones cannot be written.
struct IncomingRequests<Request> {
    private struct Running {
        var bytes: Int
        var deadline: NIODeadline
    }

    private struct Queued {
        var id: UInt64
        var running: Running
        var request: Request
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
    var isWritable = true
    /// A time that is never later than the earliest deadline. It may be earlier, because finished requests do not
    /// change it.
    private(set) var earliestDeadline = NIODeadline.distantFuture

    init(window: Int, windowBytes: Int, concurrency: Int) {
        self.window = window
        self.windowBytes = windowBytes
        self.concurrency = min(window, concurrency)
    }

    var isEmpty: Bool { self.running.isEmpty && self.queued.isEmpty }
    private var mayStart: Bool { self.isWritable && self.running.count < self.concurrency }

    mutating func received(id: UInt64, bytes: Int, deadline: NIODeadline, request: Request) -> OnRequest<Request> {
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
        self.bytes += bytes
        self.earliestDeadline = min(self.earliestDeadline, deadline)
        let entry = Running(bytes: bytes, deadline: deadline)
        guard self.mayStart, self.queued.isEmpty else {
            self.queued.append(Queued(id: id, running: entry, request: request))
            return .queued
        }
        self.running[id] = entry
        return .dispatch(request)
    }

    mutating func receivedCancel(id: UInt64) -> OnPeerCancel<Request> {
        if self.running[id] != nil { return .cancelHandler }
        // While the peer does not read, a cancelled request keeps its place in the window. Otherwise a peer could
        // create any number of responses with requests and cancels.
        guard self.isWritable, let index = self.queued.firstIndex(where: { $0.id == id }) else { return .nothing }
        let removed = self.queued.remove(at: index)
        self.bytes -= removed.running.bytes
        return .responseCancelled(removed.request)
    }

    mutating func finished(id: UInt64) -> Bool {
        guard let finished = self.running.removeValue(forKey: id) else { return false }
        self.bytes -= finished.bytes
        return true
    }

    mutating func nextRequest() -> (UInt64, Request)? {
        guard !self.queued.isEmpty, self.mayStart, let next = self.queued.popFirst() else { return nil }
        self.running[next.id] = next.running
        // The deadline may have passed in the queue; ``expire(now:)`` reports running requests only.
        self.earliestDeadline = min(self.earliestDeadline, next.running.deadline)
        return (next.id, next.request)
    }

    /// Returns the running requests past their deadline, each of them once.
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
        for entry in self.queued where entry.running.deadline > now {
            earliest = min(earliest, entry.running.deadline)
        }
        self.earliestDeadline = earliest
        return expired.sorted()
    }

    mutating func removeAll() -> [UInt64] {
        defer {
            self.running.removeAll()
            self.queued.removeAll()
            self.bytes = 0
        }
        return self.running.keys.sorted()
    }
}
