// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import Synchronization

/// The events of a watcher as an asynchronous sequence.
///
/// Buffer policy: events of one system that have not been read are merged, so a slow reader misses intermediate
/// changes, never the final state. A system that was added and then changed is reported once, as added, in its latest
/// form. A system that was added and removed is not reported. The number of systems therefore bounds the buffer.
///
/// The sequence can be read once. It ends when its loop ends (by `break`, `return` or a thrown error) or its task is
/// cancelled. Reading it a second time yields nothing. A second iterator that is created while the first one is in use
/// replaces it, and the first one ends. For a second reader, get another sequence from the watcher.
///
/// When the last sequence of a watcher ends, the watcher stops: see ``RemoteSystemWatcher/events``.
public struct RemoteSystemEvents: AsyncSequence, Sendable {
    /// An event of the watcher.
    public typealias Element = RemoteSystemEvent
    /// The sequence does not fail; errors are events.
    public typealias Failure = Never

    let events: CoalescingEvents<RemoteSystemEvent>
    let reading: Reading

    /// Returns an iterator over the events. Creating a second one ends the first.
    public func makeAsyncIterator() -> Iterator {
        Iterator(iterator: self.events.makeAsyncIterator(), reader: Reader(self.reading))
    }

    /// An iterator over the events.
    public struct Iterator: AsyncIteratorProtocol {
        var iterator: CoalescingEvents<RemoteSystemEvent>.Iterator
        /// The reader, which ends the sequence when the last copy of the iterator is released, as happens when the loop
        /// over it ends.
        let reader: Reader

        /// Waits for the next event.
        ///
        /// - Returns: the next event; `nil` when the watcher has stopped or the task is cancelled.
        public mutating func next() async -> RemoteSystemEvent? {
            await self.next(isolation: nil)
        }

        /// Waits for the next event.
        ///
        /// - Parameter actor: the caller's actor. It has no effect on which event is returned.
        /// - Returns: the next event; `nil` when the watcher has stopped or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> RemoteSystemEvent? {
            let event = await self.iterator.next(isolation: actor)
            // The loop has ended: an iterator that is still referenced must not keep the watcher running.
            if event == nil { self.reader.end() }
            return event
        }
    }
}

extension RemoteSystemEvents {
    /// The readers of one sequence.
    final class Reading: Sendable {
        private struct State {
            var readers = 0
            var wasRead = false
        }

        private let state = Mutex(State())
        private let end: @Sendable () -> Void

        /// Creates the record of a sequence without readers.
        ///
        /// - Parameter end: ends the sequence. May be called more than once.
        init(end: @escaping @Sendable () -> Void) {
            self.end = end
        }

        /// Whether an iterator was ever created.
        var wasRead: Bool { self.state.withLock { $0.wasRead } }

        fileprivate func enter() {
            self.state.withLock { state in
                state.readers += 1
                state.wasRead = true
            }
        }

        fileprivate func leave() {
            let isLast = self.state.withLock { state in
                state.readers -= 1
                return state.readers == 0
            }
            if isLast { self.end() }
        }
    }

    /// One reader of a sequence, from the creation of its iterator until the iterator is released or returns `nil`.
    final class Reader: Sendable {
        private let reading: Reading
        private let hasEnded = Mutex(false)

        init(_ reading: Reading) {
            self.reading = reading
            reading.enter()
        }

        deinit { self.end() }

        func end() {
            let isFirst = self.hasEnded.withLock { hasEnded in
                defer { hasEnded = true }
                return !hasEnded
            }
            if isFirst { self.reading.leave() }
        }
    }
}
