// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// The default route of this machine's traffic.
package struct RouteFacts: Sendable, Hashable {
    /// The interface of the default route; nil if there is none.
    package var defaultInterface: String?
    /// Whether that interface is a tunnel, such as a VPN's.
    package var isTunnel: Bool

    package init(defaultInterface: String?, isTunnel: Bool) {
        self.defaultInterface = defaultInterface
        self.isTunnel = isTunnel
    }

    /// Returns the default route that the kernel chooses, which includes policy routing. Sends nothing.
    package static func current() -> RouteFacts {
        // Addresses for documentation (RFC 5737, RFC 3849), to which there is no specific route.
        for target in ["203.0.113.1", "2001:db8::1"] {
            guard let source = SourceAddress.towards(target), let interface = SourceAddress.interface(of: source) else {
                continue
            }
            return RouteFacts(defaultInterface: interface, isTunnel: Self.isTunnel(interface))
        }
        return RouteFacts(defaultInterface: nil, isTunnel: false)
    }

    private static func isTunnel(_ interface: String) -> Bool {
        let directory = "/sys/class/net/\(interface)/"
        return Self.isTunnel(
            interface,
            hardwareType: SystemFile.text(of: directory + "type").flatMap { Int($0.filter(\.isNumber)) },
            hasTunnelFlags: FileManager.default.fileExists(atPath: directory + "tun_flags")
        )
    }

    /// Whether an interface is a tunnel: by the kernel's hardware type (ARPHRD_ in `linux/if_arp.h`), by being a tun or
    /// tap device, or by its name if neither can be read.
    package static func isTunnel(_ interface: String, hardwareType: Int?, hasTunnelFlags: Bool) -> Bool {
        if hasTunnelFlags { return true }
        guard let hardwareType else {
            return ["tun", "tap", "wg", "ppp", "tailscale", "zt", "nordlynx", "proton"].contains {
                interface.hasPrefix($0)
            }
        }
        // PPP, IP in IP, IPv6 in IPv6, SIT, GRE, GRE over IPv6, and interfaces without link-layer addresses: tun and
        // WireGuard.
        return [512, 768, 769, 776, 778, 823, 65_534].contains(hardwareType)
    }
}

/// The source address for traffic to another address.
package enum SourceAddress {
    /// The text of the source address; nil if there is no route. Sends nothing: connecting a datagram socket is enough.
    package static func towards(_ address: String) -> String? {
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = AI_NUMERICHOST
        unsafe hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(address, "9", &hints, &list) == 0, let first = unsafe list else { return nil }
        defer { unsafe freeaddrinfo(list) }
        let descriptor = unsafe socket(
            first.pointee.ai_family,
            Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
            0
        )
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard unsafe connect(descriptor, first.pointee.ai_addr, first.pointee.ai_addrlen) == 0 else { return nil }
        var storage = sockaddr_storage()
        return unsafe withUnsafeMutablePointer(to: &storage) { storage in
            unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
                guard unsafe getsockname(descriptor, pointer, &length) == 0 else { return nil }
                return unsafe NetworkAddress(UnsafePointer(pointer))?.text(scope: nil)
            }
        }
    }

    /// The interface that has this address.
    package static func interface(of address: String) -> String? {
        NetworkInterface.all().first { interface in
            interface.addresses.contains { $0.text(scope: nil) == address }
        }?.name
    }
}
