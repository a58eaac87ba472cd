// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// What to do with a submitted call.
enum OnSubmit<Call> {
    /// The window has room: encode the call, then report its length.
    case encode(Call)
    /// The peer's window is full. The call waits for a later ``OutgoingCalls/nextStep()``.
    case wait
    /// The connection accepts no more calls. Nothing was sent.
    case reject(Call, CloseStatus)
    /// The maximum number of calls wait already.
    case overflow(Call)
}

/// What to do with a response of the peer.
enum OnResponse<Call> {
    case complete(Call)
    /// The call was cancelled or has expired. Its place in the window is free again.
    case ignore
    case violation(String)
}

/// What to do with a call that its caller cancels.
enum OnCancel<Call> {
    /// The request was sent: fail the call and send the peer a `cancel`.
    case sendCancel(Call)
    /// The request was not sent. Its frame is dropped if it is held.
    case drop(Call)
    case nothing
}

/// The calls of this side. They are numbered and sent in the order of submission, within the peer's window.
struct OutgoingCalls<Call> {
    /// The maximum number of calls that wait for the peer's window. The peer decides how fast they are sent, so without
    /// a maximum it would also decide how much memory they use.
    static var maxWaiting: Int { 65_536 }

    private struct Pending {
        /// `nil` if the call no longer waits for its response. Its place in the window stays taken until the response
        /// arrives.
        var call: Call?
        var deadline: NIODeadline
        var bytes: Int
    }

    private struct Waiting {
        var id: UInt64
        var call: Call
        var deadline: NIODeadline
    }

    private let window: PeerLimits
    private var lastID: UInt64 = 0
    /// The calls that were encoded and have no response yet, by id. Entries are added once and removed once, without
    /// `pending[id]?.…` in the path of each message, which costs half a dozen allocations with Swift 6.3.
    private var pending: [UInt64: Pending] = [:]
    private var pendingBytes = 0
    /// The call that is being encoded.
    private var encoding: (id: UInt64, entry: Pending)?
    /// A call whose encoded frame waits for the peer's byte window. At most one: later calls are not encoded before it
    /// is sent.
    private var heldID: UInt64?
    /// The calls that wait for the peer's window. The buffer starts small, because on most connections no call ever
    /// waits.
    private var waiting = CircularBuffer<Waiting>(initialCapacity: 1)
    /// A time that is never later than the earliest deadline. It may be earlier, because completed calls do not change
    /// it.
    private(set) var earliestDeadline = NIODeadline.distantFuture

    init(window: PeerLimits) {
        self.window = window
    }

    var isEmpty: Bool { self.pending.isEmpty && self.waiting.isEmpty && self.encoding == nil }
    var allTransmitted: Bool { self.waiting.isEmpty && self.heldID == nil }
    private var hasCapacity: Bool {
        self.heldID == nil && self.encoding == nil && self.pending.count < self.window.window
    }

    /// Reserves the id of the next call. It is assigned before the call is submitted, so that a cancellation can refer
    /// to it.
    mutating func reserveID() -> UInt64 {
        self.lastID += 1
        return self.lastID
    }

    mutating func submit(id: UInt64, _ call: Call, deadline: NIODeadline) -> OnSubmit<Call> {
        guard self.waiting.count < Self.maxWaiting else { return .overflow(call) }
        self.earliestDeadline = min(self.earliestDeadline, deadline)
        guard self.hasCapacity, self.waiting.isEmpty else {
            self.waiting.append(Waiting(id: id, call: call, deadline: deadline))
            return .wait
        }
        self.encoding = (id, Pending(call: call, deadline: deadline, bytes: 0))
        return .encode(call)
    }

    mutating func encoded(id: UInt64, bytes: Int) -> Bool {
        guard var entry = self.encoding.take()?.entry else { return false }
        entry.bytes = bytes
        self.pending.updateValue(entry, forKey: id)
        // A single message always fits, because a window is never smaller than the message limit.
        if self.pendingBytes > 0, self.pendingBytes + bytes > self.window.windowBytes {
            self.heldID = id
            return false
        }
        self.pendingBytes += bytes
        return true
    }

    mutating func forget(id: UInt64) -> Call? {
        self.encoding.take()?.entry.call
    }

    mutating func receivedResponse(id: UInt64) -> OnResponse<Call> {
        guard id != self.heldID, let answered = self.pending.removeValue(forKey: id) else {
            return .violation("a response came for request \(id), which is not outstanding")
        }
        self.pendingBytes -= answered.bytes
        return answered.call.map { .complete($0) } ?? .ignore
    }

    mutating func cancel(id: UInt64) -> OnCancel<Call> {
        if let index = self.waiting.firstIndex(where: { $0.id == id }) {
            return .drop(self.waiting.remove(at: index).call)
        }
        if id == self.heldID {
            self.heldID = nil
            return self.pending.removeValue(forKey: id)?.call.map { .drop($0) } ?? .nothing
        }
        guard let call = self.pending[id]?.call else { return .nothing }
        self.pending[id]?.call = nil
        return .sendCancel(call)
    }

    /// An action for the calls that wait for the peer's window.
    enum NextStep {
        case nothing
        case writeHeld
        case encode(id: UInt64, Call)
    }

    mutating func nextStep() -> NextStep {
        if let id = self.heldID {
            let bytes = self.pending[id]?.bytes ?? 0
            guard self.pendingBytes == 0 || self.pendingBytes + bytes <= self.window.windowBytes else {
                return .nothing
            }
            self.heldID = nil
            self.pendingBytes += bytes
            return .writeHeld
        }
        guard !self.waiting.isEmpty, self.hasCapacity, let next = self.waiting.popFirst() else { return .nothing }
        self.encoding = (next.id, Pending(call: next.call, deadline: next.deadline, bytes: 0))
        return .encode(id: next.id, next.call)
    }

    mutating func rejectWaiting() -> [Call] {
        defer { self.waiting.removeAll() }
        return self.waiting.map(\.call)
    }

    mutating func removeAll() -> (sent: [Call], unsent: [Call]) {
        var unsent = self.rejectWaiting()
        if let heldID = self.heldID, let held = self.pending.removeValue(forKey: heldID)?.call {
            unsent.append(held)
        }
        let sent = self.pending.values.compactMap(\.call)
        self.pending.removeAll()
        self.pendingBytes = 0
        self.heldID = nil
        return (sent, unsent)
    }

    mutating func expire(now: NIODeadline) -> [(id: UInt64, call: Call, wasSent: Bool)] {
        guard self.earliestDeadline <= now else { return [] }
        var expired: [(id: UInt64, call: Call, wasSent: Bool)] = []
        var earliest = NIODeadline.distantFuture
        for (id, entry) in self.pending {
            guard let call = entry.call else { continue }
            if entry.deadline <= now {
                let isHeld = id == self.heldID
                if isHeld {
                    self.heldID = nil
                    self.pending.removeValue(forKey: id)
                } else {
                    self.pending[id]?.call = nil
                }
                expired.append((id, call, wasSent: !isHeld))
            } else {
                earliest = min(earliest, entry.deadline)
            }
        }
        self.waiting.removeAll { entry in
            guard entry.deadline <= now else {
                earliest = min(earliest, entry.deadline)
                return false
            }
            expired.append((entry.id, entry.call, wasSent: false))
            return true
        }
        self.earliestDeadline = earliest
        return expired.sorted { $0.id < $1.id }
    }
}
