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

    /// The place of one image.
    struct Turn: Sendable {
        fileprivate let id: UInt64
        /// Ends when its turn has come.
        let start: AsyncStream<Void>
    }

    private struct Place {
        let id: UInt64
        let kind: Kind
        let holder: Holder
        let feed: AsyncStream<Void>.Continuation
    }

    private var waiting: [Place] = []
    private var running: [Place] = []
    private var lastID: UInt64 = 0
    /// The last turn of each holder that has an image here, by its number.
    private var lastTurns: [Holder: UInt64] = [:]
    private var turnCount: UInt64 = 0
    private var times = KeyedTokenBuckets<Holder>(capacity: Self.burst, rate: Self.share)
    /// The holders that had no time left the last time.
    private var usedUp: Set<Holder> = []

    /// The number of images that are made or wait.
    var count: Int { self.waiting.count + self.running.count }

    /// Enters the queue for a sender. ``leave(_:after:_:)`` must follow.
    mutating func enter(_ kind: Kind, of holder: Holder) -> Turn {
        let (start, feed) = AsyncStream.makeStream(of: Void.self)
        self.lastID += 1
        self.waiting.append(Place(id: self.lastID, kind: kind, holder: holder, feed: feed))
        self.proceed()
        return Turn(id: self.lastID, start: start)
    }

    /// Whether an image is made now that the wait for its turn has ended.
    mutating func permission(for turn: Turn, _ now: Instant) -> Permission {
        guard let holder = self.running.first(where: { $0.id == turn.id })?.holder else { return .cancelled }
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
        if let holder = self.running.first(where: { $0.id == turn.id })?.holder, !holder.isLocal, time > .zero {
            self.times.take(time / .seconds(1), of: holder, at: now)
        }
        self.waiting.removeAll { $0.id == turn.id }
        self.running.removeAll { $0.id == turn.id }
        self.proceed()
    }

    private mutating func proceed() {
        for kind in Kind.allCases where !self.running.contains(where: { $0.kind == kind }) {
            let candidates = self.waiting.filter { $0.kind == kind }
            // The holder whose last turn was the longest ago.
            let next = candidates.min {
                (self.lastTurns[$0.holder] ?? 0, $0.id) < (self.lastTurns[$1.holder] ?? 0, $1.id)
            }
            guard let next else { continue }
            self.waiting.removeAll { $0.id == next.id }
            self.running.append(next)
            self.turnCount += 1
            self.lastTurns[next.holder] = self.turnCount
            next.feed.finish()
        }
        let holders = Set((self.waiting + self.running).map(\.holder))
        self.lastTurns = self.lastTurns.filter { holders.contains($0.key) }
    }
}
