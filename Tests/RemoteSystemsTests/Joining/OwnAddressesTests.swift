// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsDiscovery
import Testing

@testable import RemoteSystems

@Suite struct OwnAddressesTests {
    private static let interfaces = [
        InterfaceFacts(name: "lo", isLoopback: true, canMulticast: true, addresses: ["127.0.0.1", "::1"]),
        InterfaceFacts(name: "docker0", isLoopback: false, canMulticast: true, addresses: ["172.17.0.1"]),
        InterfaceFacts(name: "eth0", isLoopback: false, canMulticast: true, addresses: ["192.0.2.7", "2001:db8::7"]),
    ]

    @Test(arguments: [
        (RemoteSystemsConfiguration.Network.all, ["192.0.2.7", "172.17.0.1", "2001:db8::7"]),
        (.loopback, ["127.0.0.1"]),
        (.interfaces(["docker0"]), ["172.17.0.1"]),
        (.interfaces(["wlan0"]), []),
    ])
    func `an invitation names the most promising addresses first`(
        network: RemoteSystemsConfiguration.Network,
        addresses: [String]
    ) {
        #expect(RemoteSystemsAccount.ownAddresses(Self.interfaces, network) == addresses)
    }
}
