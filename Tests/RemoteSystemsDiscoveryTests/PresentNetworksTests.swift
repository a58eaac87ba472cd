// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDiscovery

/// By what a network is recognised.
@Suite struct PresentNetworksTests {
    typealias Attachment = PresentNetworks.Attachment
    typealias Gateway = PresentNetworks.Gateway

    static let home = Attachment(interface: "wlan0", address: [192, 168, 1, 20], prefixLength: 24)
    static let router = Gateway(interface: "wlan0", address: [192, 168, 1, 1], metric: 600, hardwareAddress: "02:01")

    static func identities(_ networks: PresentNetworks, _ host: String) -> [String] {
        networks.networks(of: host).map(\.identity)
    }

    @Test func `a network with the same prefix and another gateway is another network`() {
        let home = PresentNetworks([Self.home], gateways: [Self.router])
        var other = Self.router
        other.hardwareAddress = "02:02"
        let café = PresentNetworks([Self.home], gateways: [other])
        let isolated = PresentNetworks([Self.home], gateways: [])
        let identities = [home, café, isolated].map { Self.identities($0, "192.168.1.30") }
        #expect(identities.map(\.count) == [1, 1, 1])
        #expect(Set(identities).count == 3)
        #expect(home.networks(of: "192.168.1.30").first?.interface == "wlan0")
        // The machine's own address there may differ.
        var moved = Self.home
        moved.address = [192, 168, 1, 77]
        #expect(
            Self.identities(PresentNetworks([moved], gateways: [Self.router]), "192.168.1.30") == identities[0]
        )
    }

    @Test func `the network is unknown until the gateway's hardware address is known`() {
        var unresolved = Self.router
        unresolved.hardwareAddress = nil
        let networks = PresentNetworks([Self.home], gateways: [unresolved])
        #expect(networks.isIncomplete)
        #expect(networks.networks(of: "192.168.1.30").isEmpty)
        #expect(!PresentNetworks([Self.home], gateways: [Self.router]).isIncomplete)
    }

    @Test func `an address behind the router is known by the default gateway with the lowest metric`() {
        let cable = Attachment(interface: "eth0", address: [10, 0, 0, 2], prefixLength: 8)
        let other = Gateway(interface: "eth0", address: [10, 0, 0, 1], metric: 100, hardwareAddress: "02:09")
        let both = PresentNetworks([Self.home, cable], gateways: [Self.router, other])
        #expect(both.networks(of: "172.20.0.5").map(\.interface) == ["eth0"])
        #expect(Self.identities(both, "172.20.0.5") != Self.identities(both, "10.0.0.5"))
        #expect(PresentNetworks([Self.home], gateways: []).networks(of: "172.20.0.5").isEmpty)
    }

    @Test func `a link-local address belongs to the identified networks of its interface`() {
        let address: [UInt8] = [0xFE, 0x80] + Array(repeating: 1, count: 14)
        let v6 = Attachment(interface: "wlan0", address: address, prefixLength: 64)
        let networks = PresentNetworks([Self.home, v6], gateways: [Self.router])
        #expect(networks.networks(of: "fe80::7%wlan0").map(\.interface) == ["wlan0"])
        #expect(networks.networks(of: "fe80::7%eth0").isEmpty)
        #expect(networks.networks(of: "fe80::7").isEmpty)
        // Two such networks differ in nothing else.
        #expect(PresentNetworks([v6], gateways: []).networks(of: "fe80::7%wlan0").isEmpty)
        let v4 = Attachment(interface: "eth0", address: [169, 254, 3, 4], prefixLength: 16)
        #expect(PresentNetworks([v4], gateways: []).networks(of: "169.254.9.9").isEmpty)
    }

    @Test func `an IPv6 prefix is sufficient, and an address outside of it is unknown`() {
        let address: [UInt8] = [0xFD, 0x12, 0x34] + Array(repeating: 0, count: 12) + [9]
        let networks = PresentNetworks(
            [Attachment(interface: "eth0", address: address, prefixLength: 64)],
            gateways: []
        )
        #expect(networks.networks(of: "fd12:3400::5").count == 1)
        #expect(networks.networks(of: "fd12:3500::5").isEmpty)
    }

    @Test func `loopback is a network of its own, and a name is on none`() {
        let networks = PresentNetworks([], gateways: [])
        for host in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            #expect(networks.networks(of: host).map(\.isLoopback) == [true], "\(host)")
        }
        for host in ["localhost", "", "10.0.0.1 ", "%lo"] { #expect(networks.networks(of: host).isEmpty, "\(host)") }
    }

    @Test func `the kernel's tables are read`() {
        let routes = """
            Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
            eth0\t00000000\t010200C0\t0003\t0\t0\t7\t00000000\t0\t0\t0
            tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0
            eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
            wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
            wlan0 garbage
            """
        let neighbours = """
            IP address       HW type     Flags       HW address            Mask     Device
            192.0.2.1        0x1         0x2         02:FC:00:00:00:05     *        eth0
            192.168.1.1      0x1         0x0         00:00:00:00:00:00     *        wlan0
            192.168.1.1      0x1         0x2         02:fc:00:00:00:06     *        eth0
            """
        #expect(
            PresentNetworks.gateways(routes: routes, neighbours: neighbours) == [
                Gateway(interface: "eth0", address: [192, 0, 2, 1], metric: 7, hardwareAddress: "02:fc:00:00:00:05"),
                Gateway(interface: "wlan0", address: [192, 168, 1, 1], metric: 600, hardwareAddress: nil),
            ]
        )
        #expect(PresentNetworks.gateways(routes: "", neighbours: "").isEmpty)
        // Whatever networks this machine has.
        #expect(PresentNetworks.current().networks(of: "127.0.0.1").count == 1)
    }

    @Test func `the present networks are reported at once`() async {
        var iterator = PresentNetworks.changes().makeAsyncIterator()
        #expect(await iterator.next() != nil)
    }
}
