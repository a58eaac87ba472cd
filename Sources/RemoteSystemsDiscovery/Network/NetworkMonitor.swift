// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi
import Dispatch
import Glibc

/// Reports changes of this machine's interfaces and addresses. Confined to a queue.
final class NetworkMonitor {
    /// The time to wait for further changes, because changes come in bursts: an interface that comes up causes several
    /// messages.
    private static let quiet: Duration = .milliseconds(50)

    /// The interfaces that are up.
    private(set) var interfaces: [NetworkInterface] = NetworkInterface.all()

    private var source: DescriptorSource?
    private var timer: QueueTimer?
    private let onChange: ([NetworkInterface]) -> Void

    /// Starts to watch. If a sandbox forbids netlink sockets, the interfaces are read only once.
    init(queue: DispatchQueue, onChange: @escaping ([NetworkInterface]) -> Void) {
        self.onChange = onChange
        timer = QueueTimer(queue: queue) { [unowned self] in compare() }
        guard let descriptor = Self.open() else { return }
        source = DescriptorSource(descriptor, queue: queue) { [weak self] _ in
            Self.drain(descriptor)
            self?.timer?.set(after: Self.quiet)
        }
    }

    deinit { source?.cancel() }

    private func compare() {
        let now = NetworkInterface.all()
        guard now != interfaces else { return }
        interfaces = now
        onChange(now)
    }

    /// Opens a netlink socket that receives a message when something changes; `nil` if a sandbox forbids it.
    ///
    /// - Parameter includesRoutes: whether changes of IPv4 routes are reported beside those of interfaces and
    ///   addresses.
    static func open(includesRoutes: Bool = false) -> Int32? {
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_NETLINK, type, NETLINK_ROUTE)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_nl()
        address.nl_family = UInt16(AF_NETLINK)
        address.nl_groups = UInt32(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR)
        if includesRoutes { address.nl_groups |= UInt32(RTMGRP_IPV4_ROUTE) }
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
            }
        }
        guard bound == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Discards the messages. Their content and their loss do not matter, because all interfaces are read again.
    static func drain(_ descriptor: Int32) {
        unsafe withUnsafeTemporaryAllocation(byteCount: 16384, alignment: 8) { buffer in
            for _ in 0..<256 where unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0) <= 0 {
                // ENOBUFS means that messages were lost. The remaining messages follow.
                if errno != ENOBUFS { break }
            }
        }
    }
}
