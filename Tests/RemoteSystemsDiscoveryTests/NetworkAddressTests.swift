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

    @Test func `addresses of private networks, tunnels and translators are not public`() {
        let publicIPv4: [[UInt8]] = [
            [1, 1, 1, 1], [9, 9, 9, 9], [172, 32, 0, 1], [100, 128, 0, 1], [223, 255, 255, 254],
        ]
        let otherIPv4: [[UInt8]] = [
            [0, 0, 0, 0], [10, 0, 0, 1], [100, 64, 0, 1], [127, 0, 0, 1], [127, 255, 0, 1], [169, 254, 169, 254],
            [172, 16, 0, 1], [172, 31, 255, 255], [192, 0, 0, 8], [192, 0, 2, 1], [192, 168, 1, 1], [198, 18, 0, 1],
            [198, 51, 100, 1], [203, 0, 113, 1], [224, 0, 0, 251], [255, 255, 255, 255],
        ]
        for bytes in publicIPv4 { #expect(NetworkAddress.ipv4(bytes).isPublic, "\(bytes)") }
        for bytes in otherIPv4 { #expect(!NetworkAddress.ipv4(bytes).isPublic, "\(bytes)") }

        func ipv6(_ start: [UInt8], _ end: [UInt8] = [1]) -> NetworkAddress {
            .ipv6(start + Array(repeating: 0, count: 16 - start.count - end.count) + end)
        }
        #expect(ipv6([0x26, 0x06, 0x47]).isPublic && ipv6([0x20, 0x01, 0x04, 0x70]).isPublic)
        let translator: [UInt8] = [0, 0x64, 0xFF, 0x9B]
        #expect(ipv6(translator, [1, 1, 1, 1]).isPublic && !ipv6(translator, [10, 0, 0, 1]).isPublic)
        for other in [
            ipv6([]), ipv6([], [0]), self.linkLocal, ipv6([0xFD, 0]), ipv6([0xFF, 0x02]),
            ipv6([0x20, 0x02, 10, 0, 0, 1]),
            ipv6([0x20, 0x01, 0x0D, 0xB8]), ipv6([0x20, 0x01, 0, 0]), ipv6([0x3F, 0xFF, 0x0F]),
            // ::ffff:10.0.0.1 and ::ffff:1.1.1.1
            ipv6([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], [10, 0, 0, 1]),
            ipv6([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], [1, 1, 1, 1]),
        ] {
            #expect(!other.isPublic, "\(other)")
        }
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
