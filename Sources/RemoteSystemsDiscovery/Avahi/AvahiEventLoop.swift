// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi
import Dispatch
import Glibc

/// Implements Avahi's event loop interface on a serial dispatch queue. The loop and every object created with it are
/// confined to that queue.
@safe
final class AvahiEventLoop {
    let queue: DispatchQueue
    private let table: UnsafeMutablePointer<AvahiPoll>

    init(queue: DispatchQueue) {
        self.queue = queue
        unsafe table = .allocate(capacity: 1)
        unsafe table.initialize(to: AvahiPoll())
        unsafe table.pointee.userdata = Unmanaged.passUnretained(self).toOpaque()
        unsafe table.pointee.watch_new = { table, descriptor, events, callback, context in
            guard let loop = unsafe table?.pointee.userdata, let callback = unsafe callback else { return nil }
            let queue = unsafe Unmanaged<AvahiEventLoop>.fromOpaque(loop).takeUnretainedValue().queue
            let call = unsafe Watch.Call(callback: callback, context: context)
            guard let watch = Watch(queue: queue, descriptor: descriptor, events: events, call: call) else {
                return nil
            }
            return unsafe OpaquePointer(Unmanaged.passRetained(watch).toOpaque())
        }
        unsafe table.pointee.watch_update = { unsafe Watch.at($0)?.watch($1) }
        unsafe table.pointee.watch_get_events = { unsafe Watch.at($0)?.fired ?? AvahiWatchEvent(0) }
        unsafe table.pointee.watch_free = { watch in
            guard let watch = unsafe watch else { return }
            let reference = unsafe Unmanaged<Watch>.fromOpaque(UnsafeRawPointer(watch))
            unsafe reference.takeUnretainedValue().stop()
            unsafe reference.release()
        }
        unsafe table.pointee.timeout_new = { table, time, callback, context in
            guard let loop = unsafe table?.pointee.userdata, let callback = unsafe callback else { return nil }
            let queue = unsafe Unmanaged<AvahiEventLoop>.fromOpaque(loop).takeUnretainedValue().queue
            let timeout = unsafe Timeout(queue: queue, call: Timeout.Call(callback: callback, context: context))
            unsafe timeout.set(time)
            return unsafe OpaquePointer(Unmanaged.passRetained(timeout).toOpaque())
        }
        unsafe table.pointee.timeout_update = { unsafe Timeout.at($0)?.set($1) }
        unsafe table.pointee.timeout_free = { timeout in
            guard let timeout = unsafe timeout else { return }
            let reference = unsafe Unmanaged<Timeout>.fromOpaque(UnsafeRawPointer(timeout))
            unsafe reference.takeUnretainedValue().stop()
            unsafe reference.release()
        }
    }

    /// The function table for Avahi's constructors. The caller keeps the loop alive.
    var api: UnsafeMutablePointer<AvahiPoll> { unsafe table }

    deinit {
        unsafe table.deinitialize(count: 1)
        unsafe table.deallocate()
    }
}

/// A file descriptor that Avahi watches.
private final class Watch {
    @safe
    struct Call {
        let callback: AvahiWatchCallback
        let context: UnsafeMutableRawPointer?
    }

    private let original: Int32
    private let call: Call
    private var events: AvahiWatchEvent
    private var source: DescriptorSource?
    private(set) var fired = AvahiWatchEvent(0)

    static func at(_ pointer: OpaquePointer?) -> Watch? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe Unmanaged<Watch>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
    }

    init?(queue: DispatchQueue, descriptor: Int32, events: AvahiWatchEvent, call: Call) {
        // A copy, because libdbus has two watches for the descriptor of a connection, and Avahi closes its own.
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return nil }
        self.original = descriptor
        self.call = call
        self.events = events
        source = DescriptorSource(copy, events: Self.watched(events), queue: queue) { [weak self] source in
            self?.fire(source)
        }
        if source == nil { return nil }
    }

    func watch(_ events: AvahiWatchEvent) {
        self.events = events
        source?.watch(Self.watched(events))
    }

    private static func watched(_ events: AvahiWatchEvent) -> DescriptorSource.Events {
        DescriptorSource.Events(rawValue: events.rawValue).intersection([.reading, .writing])
    }

    private func fire(_ source: DescriptorSource) {
        // The events that are wanted, with errors and hang-ups.
        var state = pollfd(fd: source.descriptor, events: Int16(truncatingIfNeeded: events.rawValue), revents: 0)
        guard unsafe poll(&state, 1, 0) > 0 else { return }
        fired = AvahiWatchEvent(UInt32(UInt16(bitPattern: state.revents)))
        unsafe call.callback(OpaquePointer(Unmanaged.passUnretained(self).toOpaque()), original, fired, call.context)
        fired = AvahiWatchEvent(0)
    }

    func stop() {
        source?.cancel()
        source = nil
    }
}

/// A timeout that Avahi has requested.
private final class Timeout {
    @safe
    struct Call {
        let callback: AvahiTimeoutCallback
        let context: UnsafeMutableRawPointer?
    }

    private let call: Call
    private let queue: DispatchQueue
    private lazy var timer = QueueTimer(queue: queue) { [unowned self] in
        unsafe call.callback(OpaquePointer(Unmanaged.passUnretained(self).toOpaque()), call.context)
    }

    static func at(_ pointer: OpaquePointer?) -> Timeout? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe Unmanaged<Timeout>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
    }

    init(queue: DispatchQueue, call: Call) {
        self.queue = queue
        self.call = call
    }

    func set(_ time: UnsafePointer<timeval>?) {
        guard let time = unsafe time?.pointee else { return stop() }
        // Avahi's timeouts use the wall clock.
        var now = timeval()
        unsafe gettimeofday(&now, nil)
        timer.set(after: .seconds(time.tv_sec - now.tv_sec) + .microseconds(time.tv_usec - now.tv_usec))
    }

    func stop() { timer.unset() }
}
