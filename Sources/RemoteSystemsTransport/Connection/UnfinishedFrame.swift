// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// A frame that has arrived in part: how long the peer has for the rest, and what the frame uses of the
/// ``MemoryBudget``. A value type without I/O.
struct UnfinishedFrame {
    /// The minimum rate for long frames, in bytes a second: a frame has the time it takes at this rate in addition.
    static var bytesEachSecond: Int { 16 << 10 }
    /// The maximum time for which a frame waits for the budget.
    static var maxWait: TimeAmount { .seconds(10) }

    /// Reserved of the budget.
    private(set) var reserved = 0
    /// Counted as waiting in the budget.
    private(set) var waiting = 0
    private(set) var deadline: HandshakeDeadline
    private let allowance: Int
    private var length: Int?
    private var waitingSince: NIODeadline?

    /// - Parameters:
    ///   - time: the time that every frame has, whatever its length (``ConnectionLimits/frameTime``).
    ///   - allowance: the maximum length of a frame that is not counted, with its length field.
    init(time: TimeAmount, allowance: Int = MemoryBudget.allowance, now: NIODeadline) {
        self.allowance = allowance
        self.deadline = HandshakeDeadline(now + time, now: now)
    }

    /// Whether the frame waits for the budget, so that its connection must not be read.
    var isWaiting: Bool { self.waitingSince != nil }

    /// What to do after a read.
    enum OnRead: Equatable {
        case nothing
        /// Reserve so many bytes. The result is passed to ``reserved(_:arrived:now:)``.
        case reserve(Int)
        /// The frame waits. Count so many bytes more.
        case wait(Int)
    }

    /// Records that bytes of the frame arrived.
    ///
    /// - Parameters:
    ///   - length: the frame's announced length with its length field, if it has arrived.
    ///   - arrived: the bytes that have arrived.
    mutating func read(length: Int?, arrived: Int) -> OnRead {
        if self.length == nil, let length {
            self.length = length
            self.deadline.extend(by: .seconds(Int64(length / Self.bytesEachSecond)))
        }
        guard let length, length > self.allowance, self.reserved == 0 else { return .nothing }
        return self.isWaiting ? .wait(arrived - self.waiting) : .reserve(length)
    }

    /// What to do after an attempt to reserve the frame's length.
    enum OnReserve: Equatable {
        case read
        /// Stop reading, and count so many bytes as waiting.
        case wait(Int)
        /// The frame has waited too long.
        case giveUp
    }

    /// Records the result of an attempt to reserve the frame's length.
    mutating func reserved(_ isReserved: Bool, arrived: Int, now: NIODeadline) -> OnReserve {
        if isReserved {
            self.reserved = self.length ?? 0
            if let since = self.waitingSince { self.deadline.extend(by: now - since) }
            self.waitingSince = nil
            return .read
        }
        let since = self.waitingSince ?? now
        self.waitingSince = since
        return now - since >= Self.maxWait ? .giveUp : .wait(arrived - self.waiting)
    }

    /// The length to reserve for a waiting frame.
    var missing: Int? { self.isWaiting ? self.length : nil }

    /// Records that bytes are counted as waiting.
    mutating func counted(_ bytes: Int) {
        self.waiting += bytes
    }

    /// Records that the waiting bytes are no longer counted, because the frame has a reservation.
    mutating func uncounted() {
        self.waiting = 0
    }

    /// What to do when the timer fires.
    mutating func timerWentOff(now: NIODeadline) -> HandshakeDeadline.OnTimer {
        self.isWaiting ? .wait : self.deadline.timerWentOff(now: now)
    }
}
