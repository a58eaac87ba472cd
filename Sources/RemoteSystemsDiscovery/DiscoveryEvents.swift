// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The events of a browse, for one listener at a time.
///
/// A slow listener misses intermediate events, but never the final state. An instance that appeared and changed before
/// the listener asked is reported as appeared, with its latest values. One that appeared and vanished is not reported.
/// So the number of waiting events is bounded by the number of known instances, at most ``DiscoveryLimits/hints``.
public struct DiscoveryEvents: AsyncSequence, Sendable {
    /// One event.
    public typealias Element = DiscoveryEvent
    /// A browse does not fail. Problems are events.
    public typealias Failure = Never

    private let events: CoalescingEvents<DiscoveryEvent>

    /// Creates a sequence and the feed that fills it, for implementations of ``DiscoverySource``.
    public static func makeStream() -> (events: DiscoveryEvents, feed: Feed) {
        let (events, feed) = CoalescingEvents<DiscoveryEvent>.make(limit: DiscoveryLimits.hints) {
            .trouble(.tooManyHints)
        }
        return (DiscoveryEvents(events: events), Feed(feed: feed))
    }

    /// Creates an iterator. If a second iterator waits for events, the first one ends.
    public func makeAsyncIterator() -> Iterator { Iterator(iterator: events.makeAsyncIterator()) }

    /// Iterates over the events.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var iterator: CoalescingEvents<DiscoveryEvent>.Iterator

        /// The next event; nil if the task is cancelled or the source has ended the browse.
        public mutating func next() async -> DiscoveryEvent? {
            await iterator.next(isolation: nil)
        }

        /// The next event; nil if the task is cancelled or the source has ended the browse.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> DiscoveryEvent? {
            await iterator.next(isolation: actor)
        }
    }

    /// The side that fills the sequence.
    public struct Feed: Sendable {
        fileprivate let feed: CoalescingEvents<DiscoveryEvent>.Feed

        /// Emits an event. Never blocks. Does nothing after the end.
        public func yield(_ event: DiscoveryEvent) { feed.yield(event) }

        /// Ends the sequence after the waiting events.
        public func finish() { feed.finish() }

        /// Sets an action to be called once when the sequence has no listener any more. Called at once if that is
        /// already so.
        public func onEnd(_ action: @escaping @Sendable () -> Void) { feed.onEnd(action) }
    }
}

extension DiscoveryEvents {
    /// Waits until one of the instances appears or changes.
    ///
    /// - Returns: Whether one did before the browse ended or the task was cancelled.
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
        message: "More than \(DiscoveryLimits.hints) instances are advertised. Further ones are not reported.",
        advice: "Split the network, or start watching again when there are fewer.",
        recoversByItself: false
    )
}
