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

    /// A copy of Avahi's descriptor. Dispatch releases a cancelled descriptor later than Avahi closes its own. If the
    /// number were reused in between, a new source for it would never fire.
    private final class Descriptor: Sendable {
        let number: Int32
        init?(copyOf other: Int32) {
            number = fcntl(other, F_DUPFD_CLOEXEC, 0)
            if number < 0 { return nil }
        }
        deinit { close(number) }
    }

    private let queue: DispatchQueue
    private let original: Int32
    private let descriptor: Descriptor
    private let call: Call
    private var reader: (any DispatchSourceRead)?
    private var writer: (any DispatchSourceWrite)?
    private var isStopped = false
    private(set) var fired = AvahiWatchEvent(0)

    static func at(_ pointer: OpaquePointer?) -> Watch? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe Unmanaged<Watch>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
    }

    init?(queue: DispatchQueue, descriptor: Int32, events: AvahiWatchEvent, call: Call) {
        guard let copy = Descriptor(copyOf: descriptor) else { return nil }
        self.queue = queue
        self.original = descriptor
        self.descriptor = copy
        self.call = call
        watch(events)
    }

    func watch(_ events: AvahiWatchEvent) {
        let descriptor = descriptor
        if events.rawValue & AVAHI_WATCH_IN.rawValue == 0 {
            reader?.cancel()
            reader = nil
        } else if reader == nil {
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor.number, queue: queue)
            source.setEventHandler { [weak self] in self?.fire(AVAHI_WATCH_IN) }
            source.setCancelHandler { withExtendedLifetime(descriptor) {} }
            source.resume()
            reader = source
        }
        if events.rawValue & AVAHI_WATCH_OUT.rawValue == 0 {
            writer?.cancel()
            writer = nil
        } else if writer == nil {
            let source = DispatchSource.makeWriteSource(fileDescriptor: descriptor.number, queue: queue)
            source.setEventHandler { [weak self] in self?.fire(AVAHI_WATCH_OUT) }
            source.setCancelHandler { withExtendedLifetime(descriptor) {} }
            source.resume()
            writer = source
        }
    }

    private func fire(_ wanted: AvahiWatchEvent) {
        guard !isStopped else { return }
        // Dispatch does not report errors and hang-ups; poll(2) does.
        var state = pollfd(fd: descriptor.number, events: Int16(truncatingIfNeeded: wanted.rawValue), revents: 0)
        guard unsafe poll(&state, 1, 0) > 0 else { return }
        fired = AvahiWatchEvent(UInt32(UInt16(bitPattern: state.revents)))
        unsafe call.callback(OpaquePointer(Unmanaged.passUnretained(self).toOpaque()), original, fired, call.context)
        fired = AvahiWatchEvent(0)
    }

    func stop() {
        isStopped = true
        reader?.cancel()
        writer?.cancel()
        reader = nil
        writer = nil
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
