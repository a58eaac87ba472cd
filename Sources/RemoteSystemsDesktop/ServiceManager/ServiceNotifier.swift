// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// In some builds the compiler attributes the members of `timespec` to this module, which includes the same header.
internal import CRemoteSystemsGIO

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Sends messages to the service manager that started this process, if there is one.
///
/// It uses `$NOTIFY_SOCKET` and `$WATCHDOG_USEC` (sd_notify(3), sd_watchdog_enabled(3)). Sending one datagram does not
/// justify linking libsystemd, which musl systems do not have.
package struct ServiceNotifier: Sendable {
    private let socketName: String?
    /// The maximum time between watchdog notifications; `nil` if the manager has no watchdog for this process.
    package let watchdogTimeout: Duration?

    package init(environment: [String: String], pid: Int32) {
        self.socketName = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        let isOurs = environment["WATCHDOG_PID"].map { $0 == "\(pid)" } ?? true
        self.watchdogTimeout =
            isOurs
            ? environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { $0 > 0 ? .microseconds($0) : nil } : nil
    }

    /// Sends messages in one datagram.
    ///
    /// Does nothing without a manager, and ignores errors: the service works without notifications. If the manager does
    /// not read, the call waits up to 1 s, or 30 s for ``ServiceMessage/ready``, because the manager ends a service
    /// that does not report readiness.
    package func send(_ messages: ServiceMessage...) {
        guard let socketName, var address = Self.address(socketName) else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var patience = timeval(tv_sec: messages.contains(.ready) ? 30 : 1, tv_usec: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let text = Array(messages.map(\.lines).joined(separator: "\n").utf8)
        let length = socklen_t(MemoryLayout<sa_family_t>.size + socketName.utf8.count)
        _ = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), address, length)
            }
        }
    }

    /// The address of a path, or of a name in the abstract namespace, which begins with `@`.
    private static func address(_ name: String) -> sockaddr_un? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
        let fits = unsafe withUnsafeMutableBytes(of: &address.sun_path) { path in
            guard bytes.count <= path.count else { return false }
            unsafe path.copyBytes(from: bytes)
            return true
        }
        return fits ? address : nil
    }

    /// The current time for ``ServiceMessage/reloading(monotonic:)``.
    package static func monotonicMicroseconds() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
    }
}
