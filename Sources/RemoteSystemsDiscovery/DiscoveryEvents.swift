// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What a browse sees, for one listener at a time.
///
/// A listener that is slow misses what happened in between, never how it ended: an instance that appeared and changed before the
/// listener asked is told as appeared, with its latest values; one that appeared and vanished is not told at all. So what waits is
/// bounded by the number of instances that are there, at most ``DiscoveryLimits/hints``.
public struct DiscoveryEvents: AsyncSequence, Sendable {
    /// One event.
    public typealias Element = DiscoveryEvent
    /// A browse does not fail: trouble is an event.
    public typealias Failure = Never

    private let events: CoalescingEvents<DiscoveryEvent>

    /// A sequence and the feed that fills it, for those who write a ``DiscoverySource``.
    public static func makeStream() -> (events: DiscoveryEvents, feed: Feed) {
        let (events, feed) = CoalescingEvents<DiscoveryEvent>.make(limit: DiscoveryLimits.hints) {
            .trouble(.tooManyHints)
        }
        return (DiscoveryEvents(events: events), Feed(feed: feed))
    }

    /// An iterator. While a second one waits for events, the first one ends.
    public func makeAsyncIterator() -> Iterator { Iterator(iterator: events.makeAsyncIterator()) }

    /// Iterates over the events.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var iterator: CoalescingEvents<DiscoveryEvent>.Iterator

        /// The next event; nil when the task is cancelled or the source has ended the browse.
        public mutating func next() async -> DiscoveryEvent? {
            await iterator.next(isolation: nil)
        }

        /// The next event; nil when the task is cancelled or the source has ended the browse.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> DiscoveryEvent? {
            await iterator.next(isolation: actor)
        }
    }

    /// The side that fills the sequence.
    public struct Feed: Sendable {
        fileprivate let feed: CoalescingEvents<DiscoveryEvent>.Feed

        /// Tells an event. Never blocks; nothing is told after the end.
        public func yield(_ event: DiscoveryEvent) { feed.yield(event) }

        /// Ends the sequence after what waits has been told.
        public func finish() { feed.finish() }

        /// Sets what is called once when nobody listens any more; called at once if that is so already.
        public func onEnd(_ action: @escaping @Sendable () -> Void) { feed.onEnd(action) }
    }
}

extension DiscoveryEvents {
    /// Waits until one of the instances appears or changes.
    ///
    /// - Returns: whether one did before the browse ended or the task was cancelled.
    func show(anyOf instances: Set<String>) async -> Bool {
        for await event in self {
            switch event {
            case .appeared(let hint), .changed(let hint):
                if instances.contains(hint.instance) { return true }
            case .vanished, .settled, .trouble, .recovered: break
            }
        }
        return false
    }
}

extension DiscoveryProblem {
    static let tooManyHints = DiscoveryProblem(
        code: .tooManyHints,
        message: "more than \(DiscoveryLimits.hints) instances are announced; further ones are not told.",
        advice: "Split the network, or start the watch again when there are fewer.",
        recoversByItself: false
    )
}
