// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystemsIdentity
import Testing

@testable import RemoteSystemsTransport

/// Which peers share a limit before they are authenticated.
@Suite struct PeerKeyTests {
    private static func key(_ address: String, port: Int = 1) throws -> PeerKey {
        PeerKey(try SocketAddress(ipAddress: address, port: port))
    }

    /// The key of an IPv6 address on the interface with this number.
    private static func key(_ address: String, interface: UInt32) throws -> PeerKey {
        PeerKey(try SocketAddress.makeAddressResolvingHost("\(address)%\(interface)", port: 1))
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("192.0.2.1", "::ffff:192.0.2.1"), ("::ffff:192.0.2.1", "::ffff:c000:201"),
        ("2001:db8::1", "2001:db8::2"), ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff"),
        ("2001:db8:1:2::", "2001:db8:1:2:ffff::"), ("fd00:1::1", "fd00:1::2"), ("::1", "::1"),
        ("fe80::1", "fe80::1"),
    ])
    func `these addresses share a key, at any port`(one: String, other: String) throws {
        #expect(try Self.key(one) == Self.key(other, port: 2))
        #expect(try Self.key(one).hashValue == Self.key(other, port: 2).hashValue)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.2"), ("192.0.2.1", "::ffff:192.0.2.2"), ("2001:db8::1", "2001:db8:0:1::1"),
        ("2001:db8::1", "2001:db9::1"), ("fe80::1", "fe80::2"), ("febf::1", "febf::2"), ("fe80::1", "fec0::1"),
        ("127.0.0.1", "::1"), ("0.0.0.0", "::"), ("::fffe:c000:201", "::ffff:192.0.2.1"),
        ("::192.0.2.1", "192.0.2.1"), ("64:ff9b::c000:201", "192.0.2.1"),
    ])
    func `these addresses do not`(one: String, other: String) throws {
        #expect(try Self.key(one) != Self.key(other))
    }

    @Test func `a link-local address counts with its interface, others without`() throws {
        #expect(try Self.key("fe80::1", interface: 2) == Self.key("fe80::1", interface: 2))
        #expect(try Self.key("fe80::1", interface: 2) != Self.key("fe80::1", interface: 3))
        #expect(try Self.key("2001:db8::1", interface: 2) == Self.key("2001:db8::1", interface: 3))
    }

    @Test func `sockets with an unknown peer share a key of their own`() throws {
        #expect(PeerKey(nil) == PeerKey(nil))
        let unix = try ["/a", "/b"].map { PeerKey(try SocketAddress(unixDomainSocketPath: $0)) }
        #expect(unix[0] == unix[1])
        #expect(try PeerKey(nil) != Self.key("::"))
        #expect(try PeerKey(nil) != Self.key("0.0.0.0"))
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("::1", true), ("10.1.2.3", true), ("172.16.0.1", true), ("172.31.255.255", true),
        ("192.168.1.20", true), ("169.254.7.7", true), ("fe80::1", true), ("fd00::1", true), ("fc00::1", true),
        ("::ffff:192.168.1.20", true), ("192.0.2.1", false), ("172.32.0.1", false), ("11.0.0.1", false),
        ("2001:db8::1", false), ("fec0::1", false), ("::ffff:192.0.2.1", false), ("::", false),
    ])
    func `anonymous systems are accepted from loopback, link-local and private addresses only`(
        address: String,
        isNearby: Bool
    ) throws {
        let endpoint = Endpoint(host: address, port: 1)
        #expect(SocketTransport().isProximal(endpoint) == isNearby)
        let peer = TransportPeer(endpoint, isProximal: SocketTransport().isProximal(endpoint))
        let expected: Set<Standing.Kind> = isNearby ? [.sameAccount, .anonymous] : [.sameAccount]
        #expect(peer.standings(of: [.sameAccount, .anonymous]) == expected)
        #expect(peer.standings(of: [.sameAccount]) == [.sameAccount])
    }

    @Test func `a transport's keys are its own`() throws {
        let relay = TransportKind(rawValue: "relay")
        #expect(PeerKey(transport: relay, [192, 0, 2, 1]) == PeerKey(transport: relay, [192, 0, 2, 1]))
        #expect(PeerKey(transport: relay, [192, 0, 2, 1]) != PeerKey(transport: relay, [192, 0, 2, 2]))
        #expect(try PeerKey(transport: relay, [192, 0, 2, 1]) != Self.key("192.0.2.1"))
        let endpoint = Endpoint(transport: relay, host: "7f3a", port: 1)
        #expect(TransportPeer(endpoint, isProximal: false).key == PeerKey(transport: relay, "7f3a".utf8))
        let session = PeerKey(transport: relay, [1])
        #expect(TransportPeer(endpoint, isProximal: false, key: session).key == session)
    }
}
