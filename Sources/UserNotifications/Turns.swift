// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A queue for work of notifications, such as running service extensions: one at a time in each lane, and a few at a
/// time in all.
///
/// The holder whose last turn was the longest ago is next, so that one with much work delays others by one turn. Of one
/// holder, and of work without holders, the first that came is next.
struct Turns<Lane: Hashable & Sendable, Holder: Hashable & Sendable> {
    /// The maximum number that runs at a time. Notifications wait for their turns, and the user for them.
    static var maxRunning: Int { 4 }

    /// A place in the queue.
    struct Turn: Sendable {
        fileprivate let id: UInt64
        fileprivate let lane: Lane
        let holder: Holder?
        /// Ends when its turn has come.
        let start: AsyncStream<Void>
        fileprivate let feed: AsyncStream<Void>.Continuation
    }

    private var waiting: [Turn] = []
    private var running: [Turn] = []
    private var lastID: UInt64 = 0
    /// The last turn of each holder that has work here, by its number. Work without holders has one key.
    private var lastTurns: [Holder?: UInt64] = [:]
    private var turnCount: UInt64 = 0

    /// The number of turns that run or wait.
    var count: Int { self.waiting.count + self.running.count }

    /// Enters the queue. ``leave(_:)`` must follow.
    mutating func enter(_ lane: Lane, of holder: Holder? = nil) -> Turn {
        let (start, feed) = AsyncStream.makeStream(of: Void.self)
        self.lastID += 1
        let turn = Turn(id: self.lastID, lane: lane, holder: holder, start: start, feed: feed)
        self.waiting.append(turn)
        self.proceed()
        return turn
    }

    func isRunning(_ turn: Turn) -> Bool { self.running.contains { $0.id == turn.id } }

    /// The work of a turn has ended, or does not wait any longer.
    mutating func leave(_ turn: Turn) {
        self.waiting.removeAll { $0.id == turn.id }
        self.running.removeAll { $0.id == turn.id }
        self.proceed()
    }

    private mutating func proceed() {
        while self.running.count < Self.maxRunning, let turn = self.next() {
            self.waiting.removeAll { $0.id == turn.id }
            self.running.append(turn)
            self.turnCount += 1
            self.lastTurns[turn.holder] = self.turnCount
            turn.feed.finish()
        }
        let holders = Set((self.waiting + self.running).map(\.holder))
        self.lastTurns = self.lastTurns.filter { holders.contains($0.key) }
    }

    private func next() -> Turn? {
        let busy = Set(self.running.map(\.lane))
        return self.waiting.filter { !busy.contains($0.lane) }.min {
            (self.lastTurns[$0.holder] ?? 0, $0.id) < (self.lastTurns[$1.holder] ?? 0, $1.id)
        }
    }
}
