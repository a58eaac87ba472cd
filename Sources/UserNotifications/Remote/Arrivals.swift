// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The tasks that wait for an event, such as the arrival of a notification. Part of the state of its owner.
struct Arrivals<Event: Sendable & Equatable> {
    private var waiting: [UUID: AsyncStream<Event>.Continuation] = [:]

    var isEmpty: Bool { self.waiting.isEmpty }
    var count: Int { self.waiting.count }

    /// Reports every event from now on, until the end.
    mutating func begin() -> (id: UUID, events: AsyncStream<Event>) {
        let (events, feed) = AsyncStream.makeStream(of: Event.self)
        let id = UUID()
        self.waiting[id] = feed
        return (id, events)
    }

    mutating func end(_ id: UUID) { self.waiting.removeValue(forKey: id)?.finish() }

    func report(_ event: Event) {
        for feed in self.waiting.values { feed.yield(event) }
    }
}
