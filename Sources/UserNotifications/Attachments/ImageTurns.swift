// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// The order in which small images of attachments are made, and the time that each sender may use for them.
///
/// Senders take turns: one with many images that take long delays those of another by one image.
struct ImageTurns {
    typealias Instant = ContinuousClock.Instant
    typealias Holder = AttachmentTable.Holder

    /// One of each kind is made at a time, because that takes much memory. A thumbnailer that hangs keeps no image
    /// waiting.
    enum Kind: CaseIterable { case image, poster }

    /// Whether a sender may use its turn.
    enum Permission: Equatable {
        case granted
        /// Its time is used up.
        ///
        /// - Parameter isFirst: whether it had time the last time.
        case usedUp(isFirst: Bool)
        /// The task that waited for the turn was cancelled.
        case cancelled
    }

    /// The time that one other system may use at once, in seconds, and the part of the time that it may use after that.
    /// A photo takes about 0.3 s.
    static let (burst, share) = (5.0, 0.05)

    typealias Turn = Turns<Kind, Holder>.Turn

    private var turns = Turns<Kind, Holder>()
    private var times = KeyedTokenBuckets<Holder>(capacity: Self.burst, rate: Self.share)
    /// The holders that had no time left the last time.
    private var usedUp: Set<Holder> = []

    /// The number of images that are made or wait.
    var count: Int { self.turns.count }

    /// Enters the queue for a sender. ``leave(_:after:_:)`` must follow.
    mutating func enter(_ kind: Kind, of holder: Holder) -> Turn { self.turns.enter(kind, of: holder) }

    /// Whether an image is made now that the wait for its turn has ended.
    mutating func permission(for turn: Turn, _ now: Instant) -> Permission {
        guard let holder = turn.holder, self.turns.isRunning(turn) else { return .cancelled }
        // Programs of this system can use its time in any other way.
        guard !holder.isLocal, !self.times.permits(holder, at: now) else {
            self.usedUp.remove(holder)
            return .granted
        }
        return .usedUp(isFirst: self.usedUp.insert(holder).inserted)
    }

    /// The image of a turn was made, or is not made.
    ///
    /// - Parameter time: how long that has taken.
    mutating func leave(_ turn: Turn, after time: Duration, _ now: Instant) {
        if let holder = turn.holder, self.turns.isRunning(turn), !holder.isLocal, time > .zero {
            self.times.take(time / .seconds(1), of: holder, at: now)
        }
        self.turns.leave(turn)
    }
}
