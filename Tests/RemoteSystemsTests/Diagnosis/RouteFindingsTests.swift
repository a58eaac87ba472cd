// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsDiscovery
import Testing

@testable import RemoteSystems

/// What a diagnosis knows about tunnels and the networks of this machine.
@Suite struct RouteFindingsTests {
    @Test(
        arguments: [
            ("eth0", 1, false, false), ("tun0", 65_534, true, true), ("wg0", 65_534, false, true),
            ("ppp0", 512, false, true),
            ("tap0", 1, true, true), ("wg0", nil, false, true), ("eth0", nil, false, false),
        ] as [(String, Int?, Bool, Bool)]
    )
    func `a tunnel is recognised by the kernel's information`(name: String, type: Int?, flags: Bool, isTunnel: Bool) {
        #expect(RouteFacts.isTunnel(name, hardwareType: type, hasTunnelFlags: flags) == isTunnel)
        let finding = NetworkFindings.vpn(RouteFacts(defaultInterface: name, isTunnel: isTunnel))
        #expect(finding.status == (isTunnel ? .warning : .ok))
    }

    @Test(
        arguments: [
            ("127.0.0.1", true), ("127.4.5.6", true), ("::ffff:127.0.0.1", true), ("fe80::1%7", true),
            ("203.0.113.9", false), ("name", nil),
        ] as [(String, Bool?)]
    )
    func `neighbours are distinguished from addresses beyond a router`(address: String, isNeighbour: Bool?) {
        #expect(LocalNetworks.contains(address) == isNeighbour)
    }
}
