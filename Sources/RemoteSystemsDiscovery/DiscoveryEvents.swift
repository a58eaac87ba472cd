// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The events of a browse as an asynchronous sequence, for one reader at a time.
///
/// Buffer policy: a slow reader misses intermediate events, but never the final state. An instance that appeared and
/// changed before it was read is reported as appeared, with its latest values. An instance that appeared and vanished
/// before it was read is not reported. The number of waiting events is therefore bounded by the number of known
/// instances, at most ``DiscoveryLimits/hints``.
public struct DiscoveryEvents: AsyncSequence, Sendable {
    /// An event of the browse.
    public typealias Element = DiscoveryEvent
    /// A browse does not fail. Problems are events.
    public typealias Failure = Never

    private let events: CoalescingEvents<DiscoveryEvent>

    /// Creates a sequence and the feed that fills it, for implementations of ``DiscoverySource``.
    ///
    /// - Returns: The sequence, and the feed for its events.
    public static func makeStream() -> (events: DiscoveryEvents, feed: Feed) {
        let (events, feed) = CoalescingEvents<DiscoveryEvent>.make(limit: DiscoveryLimits.hints) {
            .trouble(.tooManyHints)
        }
        return (DiscoveryEvents(events: events), Feed(feed: feed))
    }

    /// Creates an iterator. If a second iterator waits for events, the first one ends.
    public func makeAsyncIterator() -> Iterator { Iterator(iterator: events.makeAsyncIterator()) }

    /// An iterator over the events.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var iterator: CoalescingEvents<DiscoveryEvent>.Iterator

        /// Waits for the next event.
        ///
        /// - Returns: The next event; `nil` if the task is cancelled or the source has ended the browse.
        public mutating func next() async -> DiscoveryEvent? {
            await iterator.next(isolation: nil)
        }

        /// Waits for the next event.
        ///
        /// - Parameter actor: The caller's actor. It has no effect on which event is returned.
        /// - Returns: The next event; `nil` if the task is cancelled or the source has ended the browse.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> DiscoveryEvent? {
            await iterator.next(isolation: actor)
        }
    }

    /// The writing side of a sequence of discovery events.
    public struct Feed: Sendable {
        fileprivate let feed: CoalescingEvents<DiscoveryEvent>.Feed

        /// Emits an event. Never blocks. Has no effect after the end of the sequence.
        public func yield(_ event: DiscoveryEvent) { feed.yield(event) }

        /// Ends the sequence after the waiting events have been read.
        public func finish() { feed.finish() }

        /// Sets an action that is called once when the sequence has no reader any more.
        ///
        /// - Parameter action: Called on any thread. Called at once if the sequence has no reader any more.
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
