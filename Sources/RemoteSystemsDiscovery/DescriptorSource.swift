// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// The constants of poll(2) come from one module or the other, depending on the order of the build.
import CRemoteSystemsAvahi
package import Dispatch
import Glibc
import Synchronization

/// Calls a handler on a serial queue when a descriptor is ready, again and again while it is.
///
/// Used in place of Dispatch's own sources for descriptors: on Linux, these access their record of a descriptor after
/// they have freed it, when several threads close descriptors and their numbers are used again
/// (swift-corelibs-libdispatch issue 949). All sources of the process share one thread and one epoll(7) descriptor.
///
/// A source exists until it is cancelled.
package final class DescriptorSource: Sendable {
    package struct Events: OptionSet, Sendable {
        /// Bits of poll(2), which are those of epoll(7), too.
        package let rawValue: UInt32

        package init(rawValue: UInt32) { self.rawValue = rawValue }

        package static let reading = Self(rawValue: UInt32(POLLIN))
        package static let writing = Self(rawValue: UInt32(POLLOUT))
    }

    /// The `Sendable` conformance is unchecked because handlers refer to objects that are confined to the queue. The
    /// handler runs and is released there only.
    @safe private struct Handler: @unchecked Sendable {
        let run: (DescriptorSource) -> Void
    }

    private struct State {
        var events: Events
        /// `nil` after ``cancel()``.
        var handler: Handler?
    }

    private static let lastID = Atomic<UInt64>(0)

    /// Open until ``cancel()``, and in a handler until that has returned.
    package let descriptor: Int32
    /// Never used again, unlike the descriptor's number: a late event of a cancelled source reaches no other source.
    fileprivate let id: UInt64
    private let queue: DispatchQueue
    private let state: Mutex<State>

    /// Takes over a descriptor and closes it, also when it fails.
    ///
    /// - Parameters:
    ///   - descriptor: not that of a regular file, and not of another source.
    ///   - queue: a serial queue.
    ///   - handler: must not block. It may be called when the descriptor is not ready any more. An error or a hang-up
    ///     of the descriptor is an event of any kind.
    /// - Returns: `nil` if the kernel refuses, such as without a free descriptor.
    package init?(
        _ descriptor: Int32,
        events: Events = .reading,
        queue: DispatchQueue,
        handler: @escaping (DescriptorSource) -> Void
    ) {
        self.descriptor = descriptor
        self.id = Self.lastID.wrappingAdd(1, ordering: .relaxed).newValue
        self.queue = queue
        self.state = Mutex(State(events: events, handler: Handler(run: handler)))
        guard DescriptorLoop.add(self, events) else {
            close(descriptor)
            return nil
        }
    }

    package var isCancelled: Bool { self.state.withLock { $0.handler == nil } }

    /// Waits for these events from now on; for none if `events` is empty.
    package func watch(_ events: Events) {
        self.state.withLock { state in
            guard state.handler != nil, state.events != events else { return }
            state.events = events
            DescriptorLoop.watch(self, events)
        }
    }

    /// Calls the handler no more, and closes the descriptor after a call that is in progress. Further calls have no
    /// effect.
    package func cancel() {
        guard let handler = self.state.withLock({ $0.handler.take() }) else { return }
        DescriptorLoop.remove(self)
        self.queue.async { [descriptor] in
            withExtendedLifetime(handler) {}
            close(descriptor)
        }
    }

    fileprivate func fire() {
        self.queue.async {
            guard let handler = self.state.withLock({ $0.events.isEmpty ? nil : $0.handler }) else { return }
            handler.run(self)
            self.state.withLock { state in
                guard state.handler != nil, !state.events.isEmpty else { return }
                DescriptorLoop.watch(self, state.events)
            }
        }
    }
}

/// The thread that waits for the events of all sources. It waits for one event of a source, and for the next only when
/// the handler has returned.
private enum DescriptorLoop {
    private struct State {
        /// The epoll(7) descriptor; `nil` before the first source.
        var epoll: Int32?
        var sources: [UInt64: DescriptorSource] = [:]
    }

    private static let state = Mutex(State())
    /// Has a thread of its own, as serial queues do: a thread that always waits takes no place in a pool.
    private static let queue = DispatchQueue(label: "remote-systems.descriptors")

    static func add(_ source: DescriptorSource, _ events: DescriptorSource.Events) -> Bool {
        Self.state.withLock { state in
            guard let epoll = state.epoll ?? Self.start() else { return false }
            state.epoll = epoll
            let result = remote_systems_epoll_add(epoll, source.descriptor, source.id, events.rawValue)
            guard result == 0 else { return false }
            state.sources[source.id] = source
            return true
        }
    }

    static func watch(_ source: DescriptorSource, _ events: DescriptorSource.Events) {
        guard let epoll = Self.state.withLock({ $0.epoll }) else { return }
        _ = remote_systems_epoll_modify(epoll, source.descriptor, source.id, events.rawValue)
    }

    /// Must be called before the descriptor is closed.
    static func remove(_ source: DescriptorSource) {
        Self.state.withLock { state in
            state.sources[source.id] = nil
            if let epoll = state.epoll { _ = remote_systems_epoll_remove(epoll, source.descriptor) }
        }
    }

    private static func start() -> Int32? {
        let epoll = remote_systems_epoll_create()
        guard epoll >= 0 else { return nil }
        Self.queue.async { Self.run(epoll) }
        return epoll
    }

    private static func run(_ epoll: Int32) {
        while true {
            var id: UInt64 = 0
            // It fails only if a signal interrupts it.
            guard unsafe remote_systems_epoll_wait(epoll, &id) == 1 else { continue }
            Self.state.withLock { $0.sources[id] }?.fire()
        }
    }
}
