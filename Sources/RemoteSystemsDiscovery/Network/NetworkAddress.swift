// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi
import Glibc

/// An IPv4 or IPv6 address.
enum NetworkAddress: Sendable, Hashable {
    /// The bytes of both cases are in network byte order.
    case ipv4([UInt8])
    case ipv6([UInt8])

    var bytes: [UInt8] {
        switch self {
        case .ipv4(let bytes), .ipv6(let bytes): bytes
        }
    }

    var family: ServiceInstance.Family {
        switch self {
        case .ipv4: .ipv4
        case .ipv6: .ipv6
        }
    }

    /// Whether the address is valid only together with an interface (RFC 4291 §2.5.6).
    var isLinkLocalIPv6: Bool {
        guard case .ipv6(let bytes) = self else { return false }
        return bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
    }

    /// The usual text form, with the scope if the address needs one.
    func text(scope: String?) -> String {
        let family = if case .ipv4 = self { AF_INET } else { AF_INET6 }
        let text = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            guard let start = buffer.baseAddress,
                unsafe inet_ntop(family, bytes, start, socklen_t(buffer.count)) != nil
            else { return "" }
            return unsafe String(cString: start)
        }
        guard isLinkLocalIPv6, let scope else { return text }
        return "\(text)%\(scope)"
    }
}

extension NetworkAddress {
    /// Returns nil for other address families.
    init?(_ socketAddress: UnsafePointer<sockaddr>) {
        switch Int32(unsafe socketAddress.pointee.sa_family) {
        case AF_INET:
            self = unsafe socketAddress.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                unsafe .ipv4(withUnsafeBytes(of: address.pointee.sin_addr) { unsafe Array($0) })
            }
        case AF_INET6:
            self = unsafe socketAddress.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                unsafe .ipv6(withUnsafeBytes(of: address.pointee.sin6_addr) { unsafe Array($0) })
            }
        default: return nil
        }
    }

    init?(_ address: AvahiAddress) {
        switch address.proto {
        case Int32(AVAHI_PROTO_INET):
            self = .ipv4(unsafe withUnsafeBytes(of: address.data.ipv4) { unsafe Array($0) })
        case Int32(AVAHI_PROTO_INET6):
            self = .ipv6(unsafe withUnsafeBytes(of: address.data.ipv6) { unsafe Array($0) })
        default: return nil
        }
    }

    var avahiAddress: AvahiAddress {
        var address = AvahiAddress()
        switch self {
        case .ipv4(let bytes):
            address.proto = Int32(AVAHI_PROTO_INET)
            unsafe withUnsafeMutableBytes(of: &address.data) { unsafe $0.copyBytes(from: bytes) }
        case .ipv6(let bytes):
            address.proto = Int32(AVAHI_PROTO_INET6)
            unsafe withUnsafeMutableBytes(of: &address.data) { unsafe $0.copyBytes(from: bytes) }
        }
        return address
    }
}
