// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The multicast DNS group on an interface (RFC 6762 §3).
struct MulticastGroup {
    static let port = UInt16(5353)
    static let ipv4 = "224.0.0.251"
    static let ipv6 = "ff02::fb"
    private var storage = sockaddr_storage()
    private let size: socklen_t

    init(_ family: ServiceInstance.Family, interface: Int32) {
        switch family {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = Self.port.bigEndian
            _ = unsafe inet_pton(AF_INET, Self.ipv4, &address.sin_addr)
            size = socklen_t(MemoryLayout<sockaddr_in>.size)
            unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: address, as: sockaddr_in.self) }
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = Self.port.bigEndian
            address.sin6_scope_id = UInt32(bitPattern: interface)
            _ = unsafe inet_pton(AF_INET6, Self.ipv6, &address.sin6_addr)
            size = socklen_t(MemoryLayout<sockaddr_in6>.size)
            unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: address, as: sockaddr_in6.self) }
        }
    }

    /// Reads a packet from a socket of an address family of the group. Returns nil if there is nothing to read. The
    /// sender is nil if the packet is not from the port of multicast DNS.
    static func receive(_ descriptor: Int32) -> (packet: [UInt8], sender: NetworkAddress?)? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        // An Ethernet frame is smaller.
        var packet = [UInt8](repeating: 0, count: 2048)
        let count = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe recvfrom(descriptor, &packet, packet.count, 0, address, &size)
            }
        }
        guard count >= 0 else { return nil }
        let sender = unsafe withUnsafePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe Self.port(address) == Self.port ? NetworkAddress(address) : nil
            }
        }
        return (Array(packet.prefix(count)), sender)
    }

    func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Void) {
        unsafe withUnsafePointer(to: storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, size) }
        }
    }

    /// The port is at the same offset in both kinds of address.
    private static func port(_ address: UnsafePointer<sockaddr>) -> UInt16 {
        unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
            unsafe UInt16(bigEndian: $0.pointee.sin_port)
        }
    }
}
