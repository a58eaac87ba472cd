// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDiscovery

@Suite struct NetworkAddressTests {
    private let linkLocal = NetworkAddress.ipv6([0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])

    @Test func `addresses have their usual text, link-local ones with their scope`() {
        #expect(NetworkAddress.ipv4([10, 77, 0, 1]).text(scope: "eth0") == "10.77.0.1")
        #expect(linkLocal.text(scope: "eth0") == "fe80::1%eth0")
        #expect(
            NetworkAddress.ipv6([0x20, 0x01] + Array(repeating: 0, count: 13) + [1]).text(scope: "eth0") == "2001::1"
        )
    }

    @Test func `addresses survive the conversion to Avahi's form and back`() {
        #expect(NetworkAddress(linkLocal.avahiAddress) == linkLocal)
        #expect(NetworkAddress(NetworkAddress.ipv4([1, 2, 3, 4]).avahiAddress) == .ipv4([1, 2, 3, 4]))
    }

    @Test func `endpoints are written as in a URI`() {
        #expect(DiscoveryEndpoint(address: "10.0.0.1", port: 5).description == "10.0.0.1:5")
        #expect(DiscoveryEndpoint(address: "fe80::1%eth0", port: 5).description == "[fe80::1%eth0]:5")
        #expect(DiscoveryEndpoint(address: "7f3a", port: 0, transport: "relay").description == "relay:7f3a")
        #expect(DiscoveryEndpoint(address: "7f3a", port: 5, transport: "relay").description == "relay:7f3a:5")
    }

    @Test func `the loopback interface is found`() {
        let loopback = NetworkInterface.all().first { $0.isLoopback }
        #expect(loopback?.addresses.contains(.ipv4([127, 0, 0, 1])) == true)
        #expect(loopback.flatMap { NetworkInterface.named(index: $0.index)?.name } == loopback?.name)
    }
}
