// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The order in which something is done for notifications, such as running service extensions: for one holder one after
/// the other, and a few at a time.
///
/// Each turn belongs to a notification that waits for the user, so their number is limited.
struct Turns {
    /// The maximum number that runs at a time.
    static let maxRunning = 4

    /// The place of one notification.
    struct Turn: Sendable {
        fileprivate let id: UInt64
        /// Ends when its turn has come.
        let start: AsyncStream<Void>
    }

    private struct Place {
        let id: UInt64
        let holder: String
        let feed: AsyncStream<Void>.Continuation
    }

    private var waiting: [Place] = []
    private var running: [Place] = []
    private var next: UInt64 = 0

    var isEmpty: Bool { self.waiting.isEmpty && self.running.isEmpty }

    /// Enters the queue for a holder, such as a sender. ``leave(_:)`` must follow.
    mutating func enter(_ holder: String) -> Turn {
        let (start, feed) = AsyncStream.makeStream(of: Void.self)
        let place = Place(id: self.next, holder: holder, feed: feed)
        self.next += 1
        self.waiting.append(place)
        self.proceed()
        return Turn(id: place.id, start: start)
    }

    func isRunning(_ turn: Turn) -> Bool { self.running.contains { $0.id == turn.id } }

    /// What a turn was for has ended, or does not wait any longer.
    mutating func leave(_ turn: Turn) {
        self.waiting.removeAll { $0.id == turn.id }
        self.running.removeAll { $0.id == turn.id }
        self.proceed()
    }

    private mutating func proceed() {
        while self.running.count < Self.maxRunning {
            let busy = Set(self.running.map(\.holder))
            guard let index = self.waiting.firstIndex(where: { !busy.contains($0.holder) }) else { return }
            let place = self.waiting.remove(at: index)
            self.running.append(place)
            place.feed.finish()
        }
    }
}
