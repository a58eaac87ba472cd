// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import Synchronization

/// The events of a watcher as an asynchronous sequence.
///
/// Buffer policy: a slow reader misses what happened in between, never how it ended. A system that was added and then
/// changed before the reader asked is reported as added, in its latest form; one that was added and removed is not
/// reported at all. The buffer is therefore bounded by the number of systems.
///
/// The sequence is read once. It ends when its loop ends: by `break`, `return` or a thrown error, or because the task
/// is cancelled. Reading it a second time yields nothing. A second iterator that is made while the first one is in use
/// takes over from it, and the first one ends. For a second reader ask the watcher for another sequence.
///
/// When the last sequence of a watcher ends, the watcher stops: see ``RemoteSystemWatcher/events``.
public struct RemoteSystemEvents: AsyncSequence, Sendable {
    /// One event.
    public typealias Element = RemoteSystemEvent
    /// Errors are events; the sequence itself does not fail.
    public typealias Failure = Never

    let events: CoalescingEvents<RemoteSystemEvent>
    let reading: Reading

    /// Begins to read the events.
    public func makeAsyncIterator() -> Iterator {
        Iterator(iterator: self.events.makeAsyncIterator(), reader: Reader(self.reading))
    }

    /// Reads the events.
    public struct Iterator: AsyncIteratorProtocol {
        var iterator: CoalescingEvents<RemoteSystemEvent>.Iterator
        /// Ends the sequence when the last copy of the iterator is gone, which is when the loop over it has ended.
        let reader: Reader

        /// The next event; `nil` when the watcher has stopped or the task is cancelled.
        public mutating func next() async -> RemoteSystemEvent? {
            await self.next(isolation: nil)
        }

        /// The next event; `nil` when the watcher has stopped or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> RemoteSystemEvent? {
            let event = await self.iterator.next(isolation: actor)
            // The loop is over; whoever keeps the iterator must not keep the watcher running.
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

        /// - Parameter end: ends the sequence; may be called more than once.
        init(end: @escaping @Sendable () -> Void) {
            self.end = end
        }

        /// Whether anything has begun to read it.
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

    /// One reader of a sequence, from when its iterator is made until the iterator is gone or has returned `nil`.
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
