// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import Synchronization

/// The readers of a value's changes, or of events.
///
/// The table is part of its owner's state. The owner yields under its lock, so that all readers receive the values in
/// their order.
///
/// The termination handler of an `AsyncStream` may be called with a lock of the reading task, which resuming that task
/// takes too. It must not wait for the owner's lock, under which the task is resumed. So it only notes the end, and the
/// owner's next call removes the reader.
package struct StreamReaders<Element: Sendable>: Sendable {
    private final class Ended: Sendable {
        let ids = Mutex<[ListenerID]>([])
    }

    private var readers = ListenerTable<AsyncStream<Element>.Continuation>()
    private let ended = Ended()
    private let buffering: AsyncStream<Element>.Continuation.BufferingPolicy

    /// - Parameter buffering: the elements that wait for each reader. Defaults to the newest one only.
    package init(buffering: AsyncStream<Element>.Continuation.BufferingPolicy = .bufferingNewest(1)) {
        self.buffering = buffering
    }

    package var isEmpty: Bool { self.readers.isEmpty }
    package var count: Int { self.readers.count }

    /// Adds a reader.
    ///
    /// - Parameter element: the first element that the reader receives. Defaults to `nil`: none before the next
    ///   ``yield(_:)``.
    package mutating func add(_ element: Element? = nil) -> (stream: AsyncStream<Element>, id: ListenerID) {
        self.removeEnded()
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: self.buffering)
        let id = self.readers.add(continuation)
        if let element { continuation.yield(element) }
        continuation.onTermination = { [ended] _ in ended.ids.withLock { $0.append(id) } }
        return (stream, id)
    }

    /// Yields a value to all readers.
    package mutating func yield(_ element: Element) {
        self.removeEnded()
        for reader in self.readers.all { reader.yield(element) }
    }

    /// Ends the sequences of all readers after their last values.
    package mutating func finish() {
        for reader in self.readers.removeAll() { reader.finish() }
    }

    /// Ends the sequence of one reader.
    package mutating func finish(_ id: ListenerID) {
        self.readers.remove(id)?.finish()
    }

    private mutating func removeEnded() {
        let ended = self.ended.ids.withLock { ids in
            defer { ids = [] }
            return ids
        }
        for id in ended { _ = self.readers.remove(id) }
    }
}
