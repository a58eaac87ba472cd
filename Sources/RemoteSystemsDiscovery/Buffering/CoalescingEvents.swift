// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A sequence of events over a ``CoalescingBuffer``, for one listener at a time.
///
/// It ends when the listener's task is cancelled, when the sequence and its iterators are released, or when the feed
/// finishes it. If a second iterator waits for events, the first one ends.
package struct CoalescingEvents<Event: CoalescingEvent>: AsyncSequence, Sendable {
    package typealias Element = Event
    package typealias Failure = Never

    private let listener: Listener

    /// Creates a sequence and the feed that fills it.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of subjects that are present at a time.
    ///   - onRefused: Makes the event that is emitted, once, when a subject beyond the limit is refused.
    package static func make(
        limit: Int,
        onRefused: @escaping @Sendable () -> Event?
    ) -> (events: CoalescingEvents, feed: Feed) {
        let storage = Storage(limit: limit, onRefused: onRefused)
        return (CoalescingEvents(listener: Listener(storage: storage)), Feed(storage: storage))
    }

    package func makeAsyncIterator() -> Iterator { Iterator(listener: listener) }

    /// An iterator over the events.
    package struct Iterator: AsyncIteratorProtocol {
        fileprivate let listener: Listener

        package mutating func next() async -> Event? {
            await next(isolation: nil)
        }

        package mutating func next(isolation actor: isolated (any Actor)?) async -> Event? {
            let storage = listener.storage
            let event = await withTaskCancellationHandler {
                await withCheckedContinuation(isolation: actor) { storage.wait($0) }
            } onCancel: {
                storage.cancel()
            }
            if event == nil { storage.callOnEnd() }
            return event
        }
    }

    /// The writing side of the sequence.
    package struct Feed: Sendable {
        fileprivate let storage: Storage

        /// Emits an event. Never blocks. Does nothing after the end.
        package func yield(_ event: Event) { storage.put(event) }

        /// Ends the sequence after the waiting events.
        package func finish() { storage.finish() }

        /// Ends the sequence at once, as if its listener were gone: waiting events are dropped, and the action of
        /// ``onEnd(_:)`` is called.
        package func end() { storage.end() }

        /// Sets an action to be called once when the sequence has no listener any more. Called at once if that is
        /// already so. The action may take a lock under which events are emitted.
        package func onEnd(_ action: @escaping @Sendable () -> Void) { storage.setOnEnd(action) }
    }
}

extension CoalescingEvents {
    /// Ends the sequence when the last copy of it and of its iterators is released.
    fileprivate final class Listener: Sendable {
        let storage: Storage
        init(storage: Storage) { self.storage = storage }
        deinit { storage.end() }
    }

    fileprivate final class Storage: Sendable {
        private struct State {
            var buffer: CoalescingBuffer<Event>
            var waiter: CheckedContinuation<Event?, Never>?
            var onEnd: (@Sendable () -> Void)?
            var ended = false
            var finished = false
            var refusalReported = false
        }

        private let state: Mutex<State>
        private let onRefused: @Sendable () -> Event?

        init(limit: Int, onRefused: @escaping @Sendable () -> Event?) {
            state = Mutex(State(buffer: CoalescingBuffer(limit: limit)))
            self.onRefused = onRefused
        }

        func put(_ event: Event) {
            let (waiter, next) = state.withLock { state -> (CheckedContinuation<Event?, Never>?, Event?) in
                guard !state.ended, !state.finished else { return (nil, nil) }
                if !state.buffer.put(event), !state.refusalReported, let refusal = onRefused() {
                    state.refusalReported = true
                    _ = state.buffer.put(refusal)
                }
                guard let waiter = state.waiter, let next = state.buffer.next() else { return (nil, nil) }
                state.waiter = nil
                return (waiter, next)
            }
            waiter?.resume(returning: next)
        }

        func wait(_ continuation: CheckedContinuation<Event?, Never>) {
            let (resumed, next) = state.withLock { state -> ([CheckedContinuation<Event?, Never>], Event?) in
                if state.ended { return ([continuation], nil) }
                if let next = state.buffer.next() { return ([continuation], next) }
                if state.finished { return ([continuation], nil) }
                defer { state.waiter = continuation }
                return (state.waiter.map { [$0] } ?? [], nil)
            }
            for continuation in resumed { continuation.resume(returning: next) }
        }

        func end() {
            cancel()
            callOnEnd()
        }

        /// Ends the sequence without its action, for a cancellation handler. The runtime calls that with a lock of the
        /// task, which resuming the task takes too: the action could wait for a lock under which the task is resumed.
        func cancel() {
            let waiter = state.withLock { state in
                state.ended = true
                state.buffer = CoalescingBuffer(limit: 0)
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(returning: nil)
        }

        /// Calls the action if the sequence has ended and it was not called before.
        func callOnEnd() {
            let action = state.withLock { state in
                guard state.ended else { return nil as (@Sendable () -> Void)? }
                defer { state.onEnd = nil }
                return state.onEnd
            }
            action?()
        }

        func finish() {
            let waiter = state.withLock { state in
                state.finished = true
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(returning: nil)
        }

        func setOnEnd(_ action: @escaping @Sendable () -> Void) {
            let ended = state.withLock { state in
                if !state.ended { state.onEnd = action }
                return state.ended
            }
            if ended { action() }
        }
    }
}
