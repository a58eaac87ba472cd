// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The current conditions of a link between two systems.
struct LinkConditions: Sendable, Equatable {
    /// The time that each byte takes.
    var latency = Duration.zero
    /// The maximum rate in bytes per second; `nil` for no limit.
    var bytesPerSecond: Int?
    /// Whether nothing arrives.
    var isSilent = false

    /// The conditions of a path over this link and the other.
    func joined(with other: LinkConditions) -> LinkConditions {
        LinkConditions(
            latency: self.latency + other.latency,
            bytesPerSecond: [self.bytesPerSecond, other.bytesPerSecond].compactMap(\.self).min(),
            isSilent: self.isSilent || other.isSilent
        )
    }
}

/// One direction of a connection in memory: what was sent and has not arrived.
///
/// A value type without I/O or a clock. Like TCP, it loses nothing and keeps the order: what is sent while the link is
/// silent arrives when the link works again.
struct Lane {
    /// A unit that is in flight: bytes, or the end of the connection.
    enum Piece: Equatable {
        case bytes(ByteBuffer)
        /// The sender has closed the connection.
        case end
        /// The connection is reset.
        case reset
    }

    /// What arrives now, or when to pump again.
    enum OnPump: Equatable {
        /// Nothing can arrive now.
        case nothing
        /// Pump again at this time.
        case wait(until: Duration)
        case deliver(Piece)
    }

    private var pieces = CircularBuffer<(piece: Piece, sent: Duration)>()
    /// The number of bytes that were sent and have not arrived.
    private(set) var bytes = 0
    /// The time at which the rate-limited link has finished its last portion.
    private var free = Duration.zero
    /// The size and the arrival time of the next portion of a rate-limited link.
    private var through: (bytes: Int, at: Duration)?
    private var hasEnded = false

    /// The number of portions that a rate-limited link delivers in a second.
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

    /// Whether the next piece is bytes. They wait for a receiver that reads.
    var isDataNext: Bool {
        if case .bytes? = self.pieces.first?.piece { true } else { false }
    }

    /// Returns what arrives now.
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
