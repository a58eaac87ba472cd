// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A network interface that is up, with its addresses.
struct NetworkInterface: Sendable, Equatable {
    let index: Int32
    let name: String
    let isLoopback: Bool
    var addresses: [NetworkAddress]

    /// Whether the interface can carry multicast DNS.
    let canMulticast: Bool

    /// The interfaces that are up now, by index.
    static func all() -> [NetworkInterface] {
        var interfaces: [String: NetworkInterface] = [:]
        unsafe Self.forEachAddress { entry, flags in
            guard flags & Int32(IFF_UP) != 0 else { return }
            let name = unsafe String(cString: entry.ifa_name)
            let isLoopback = flags & Int32(IFF_LOOPBACK) != 0
            // Avahi does not use point-to-point interfaces (tunnels).
            let mask = Int32(IFF_MULTICAST) | Int32(IFF_POINTOPOINT)
            var interface =
                interfaces[name]
                ?? NetworkInterface(
                    index: Int32(bitPattern: unsafe if_nametoindex(name)),
                    name: name,
                    isLoopback: isLoopback,
                    addresses: [],
                    canMulticast: isLoopback || flags & mask == Int32(IFF_MULTICAST)
                )
            if let address = unsafe entry.ifa_addr, let address = unsafe NetworkAddress(UnsafePointer(address)) {
                interface.addresses.append(address)
            }
            interfaces[name] = interface
        }
        return interfaces.values.filter { $0.index > 0 }.sorted { $0.index < $1.index }
    }

    /// Calls a closure for each address of the machine's interfaces, with the interface's flags.
    ///
    /// - Returns: whether the addresses could be read.
    @discardableResult
    static func forEachAddress(_ body: (ifaddrs, _ flags: Int32) -> Void) -> Bool {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard unsafe getifaddrs(&list) == 0 else { return false }
        defer { unsafe freeifaddrs(list) }
        var node = unsafe list
        while let current = unsafe node {
            let entry = unsafe current.pointee
            unsafe node = entry.ifa_next
            unsafe body(entry, Int32(bitPattern: entry.ifa_flags))
        }
        return true
    }

    /// The current name of the interface with this index; nil if there is none.
    static func named(index: Int32) -> DiscoveryInterface? {
        let name = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(IF_NAMESIZE)) {
            buffer -> String? in
            guard let start = buffer.baseAddress, unsafe if_indextoname(UInt32(bitPattern: index), start) != nil else {
                return nil
            }
            return unsafe String(cString: start)
        }
        return name.map { DiscoveryInterface(index: Int(index), name: $0) }
    }
}
