// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// What stands between two systems for the time being.
struct LinkConditions: Sendable, Equatable {
    /// How long everything is under way.
    var latency = Duration.zero
    /// How much arrives in a second; `nil` for as much as is sent.
    var bytesPerSecond: Int?
    /// Nothing arrives.
    var isSilent = false

    /// Both at once: the way leads over this link and the other.
    func joined(with other: LinkConditions) -> LinkConditions {
        LinkConditions(
            latency: self.latency + other.latency,
            bytesPerSecond: [self.bytesPerSecond, other.bytesPerSecond].compactMap(\.self).min(),
            isSilent: self.isSilent || other.isSilent
        )
    }
}

/// One way of a connection in memory: what has been sent and has not arrived.
///
/// A value without I/O or a clock. Like TCP it loses nothing and keeps the order: what is sent while nothing gets through
/// arrives when something does again.
struct Lane {
    enum Piece: Equatable {
        case bytes(ByteBuffer)
        /// The sender has closed the connection.
        case end
        /// The sender is gone.
        case reset
    }

    enum OnPump: Equatable {
        /// Nothing is to arrive, or can.
        case nothing
        /// Look again then.
        case wait(until: Duration)
        case deliver(Piece)
    }

    private var pieces = CircularBuffer<(piece: Piece, sent: Duration)>()
    /// Of what was sent and has not arrived.
    private(set) var bytes = 0
    /// When the slow link is done with what it let through last.
    private var free = Duration.zero
    /// When the first piece, or as much of it as the rate lets through at once, is through.
    private var through: (bytes: Int, at: Duration)?
    private var hasEnded = false

    /// How often a slow link lets something through.
    private static var beatsPerSecond: Int { 10 }

    mutating func send(_ piece: Piece, now: Duration) {
        guard !self.hasEnded else { return }
        if case .bytes(let buffer) = piece {
            self.bytes += buffer.readableBytes
        } else {
            self.hasEnded = true
        }
        self.pieces.append((piece, now))
    }

    /// Whether bytes come next; they wait for a receiver that reads.
    var isDataNext: Bool {
        if case .bytes? = self.pieces.first?.piece { true } else { false }
    }

    /// What arrives now.
    mutating func pump(now: Duration, _ conditions: LinkConditions) -> OnPump {
        guard !conditions.isSilent, let first = self.pieces.first else { return .nothing }
        let arrival = first.sent + conditions.latency
        guard arrival <= now else { return .wait(until: arrival) }
        guard case .bytes(let buffer) = first.piece else {
            self.pieces.removeFirst()
            return .deliver(first.piece)
        }
        guard let rate = conditions.bytesPerSecond else {
            self.through = nil
            return .deliver(.bytes(self.take(buffer.readableBytes)))
        }
        let portion: (bytes: Int, at: Duration)
        if let through = self.through {
            portion = through
        } else {
            let bytes = min(buffer.readableBytes, max(1, rate / Self.beatsPerSecond))
            let time = Duration.nanoseconds(Int64(bytes) * 1_000_000_000 / Int64(max(1, rate)))
            portion = (bytes, max(self.free, arrival) + time)
            self.through = portion
        }
        guard portion.at <= now else { return .wait(until: portion.at) }
        self.through = nil
        self.free = portion.at
        return .deliver(.bytes(self.take(portion.bytes)))
    }

    private mutating func take(_ count: Int) -> ByteBuffer {
        guard case .bytes(var buffer)? = self.pieces.first?.piece, let taken = buffer.readSlice(length: count) else {
            return ByteBuffer()
        }
        self.bytes -= count
        if buffer.readableBytes > 0 {
            self.pieces[self.pieces.startIndex].piece = .bytes(buffer)
        } else {
            self.pieces.removeFirst()
        }
        return taken
    }
}
