// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// What limits count a peer by that is not authenticated yet.
///
/// Peers with the same key share a limit. Nothing can be read from it.
package struct PeerKey: Sendable, Hashable {
    private let transport: TransportKind
    private let bytes: [UInt8]

    /// A key of a transport's own.
    ///
    /// - Parameter bytes: what distinguishes the transport's peers, and a peer cannot choose freely: a relay's session.
    package init(transport: TransportKind, _ bytes: some Sequence<UInt8>) {
        self.transport = transport
        self.bytes = Array(bytes)
    }

    /// The key of a socket's peer: an IPv4 address, also if it is written as IPv6, or the /64 of an IPv6 address, since
    /// one machine may have any number of the addresses in it. A link-local address counts whole, with its interface: the
    /// /64 of those is the same for all machines of a link. Sockets whose other end is not known share a key.
    init(_ address: SocketAddress?) {
        switch address {
        case .v4: self.init(transport: .ip, Self.bytes(of: address).dropFirst(4).prefix(4))
        case .v6: self.init(transport: .ip, Self.significant(Self.bytes(of: address)))
        case .unixDomainSocket, nil: self.init(transport: .ip, [])
        }
    }

    /// The `sockaddr_in` or `sockaddr_in6` as it is in memory.
    private static func bytes(of address: SocketAddress?) -> [UInt8] {
        unsafe address?.withSockAddr { unsafe Array(UnsafeRawBufferPointer(start: $0, count: $1)) } ?? []
    }

    private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

    /// What counts of a `sockaddr_in6`, which has the address at byte 8 and the interface at byte 24.
    private static func significant(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        let address = bytes.dropFirst(8).prefix(16)
        if address.starts(with: self.mappedPrefix) { return address.dropFirst(12) }
        let isLinkLocal = address.first == 0xFE && (address.dropFirst().first ?? 0) & 0xC0 == 0x80
        return isLinkLocal ? bytes.dropFirst(8).prefix(20) : address.prefix(8)
    }
}
