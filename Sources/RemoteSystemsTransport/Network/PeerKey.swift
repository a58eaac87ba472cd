// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Identifies a peer in limits while it is not authenticated.
///
/// Peers with the same key share a limit. The key is opaque.
package struct PeerKey: Sendable, Hashable {
    private let transport: TransportKind
    private let bytes: [UInt8]

    /// Whether the key is the /64 of an IPv6 network, whose machines share it.
    var isNetwork: Bool { self.transport == .ip && self.bytes.count == 8 }

    /// Whether the key was made from the address of a socket.
    var isAddress: Bool { self.transport == .ip }

    /// The IPv4 address, or the /64 of the IPv6 addresses; `nil` for another key.
    var text: String? {
        guard self.transport == .ip else { return nil }
        switch self.bytes.count {
        case 4: return self.bytes.map { "\($0)" }.joined(separator: ".")
        case 8:
            let groups = stride(from: 0, to: 8, by: 2).map { Int(self.bytes[$0]) << 8 | Int(self.bytes[$0 + 1]) }
            return groups.map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
        default: return nil
        }
    }

    /// Creates a key for a transport other than sockets.
    ///
    /// - Parameter bytes: identify a peer of the transport; the peer must not be able to choose them freely. An example
    ///   is the session of a relay.
    package init(transport: TransportKind, _ bytes: some Sequence<UInt8>) {
        self.transport = transport
        self.bytes = Array(bytes)
    }

    /// Creates the key of a socket's peer.
    ///
    /// It is an IPv4 address, also if mapped to IPv6, or the /64 of an IPv6 address, because one machine may have any
    /// number of the addresses in it. For a link-local address it is the whole address and the interface, because all
    /// machines of a link share the /64. Sockets with an unknown peer share one key.
    init(_ address: SocketAddress?) {
        switch address {
        case .v4: self.init(transport: .ip, Self.bytes(of: address).dropFirst(4).prefix(4))
        case .v6: self.init(transport: .ip, Self.significant(Self.bytes(of: address)))
        case .unixDomainSocket, nil: self.init(transport: .ip, [])
        }
    }

    /// The keys of 127.0.0.1 and ::1.
    static let ofThisMachine = Set(
        ["127.0.0.1", "::1"].compactMap { try? SocketAddress(ipAddress: $0, port: 0) }.map { PeerKey($0) }
    )

    /// The bytes of the `sockaddr_in` or `sockaddr_in6` in memory.
    private static func bytes(of address: SocketAddress?) -> [UInt8] {
        unsafe address?.withSockAddr { unsafe Array(UnsafeRawBufferPointer(start: $0, count: $1)) } ?? []
    }

    private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

    /// The part of a `sockaddr_in6` that identifies the peer. The address is at byte 8, the interface at byte 24.
    private static func significant(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        let address = bytes.dropFirst(8).prefix(16)
        if address.starts(with: self.mappedPrefix) { return address.dropFirst(12) }
        let isLinkLocal = address.first == 0xFE && (address.dropFirst().first ?? 0) & 0xC0 == 0x80
        return isLinkLocal ? bytes.dropFirst(8).prefix(20) : address.prefix(8)
    }
}
