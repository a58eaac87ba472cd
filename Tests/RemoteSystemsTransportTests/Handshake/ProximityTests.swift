// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsTransport
import Testing

/// Which addresses can belong to neighbours only.
@Suite struct NearnessTests {
    @Test(arguments: [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.3.4", "::1", "fe80::1",
        "FE80::1%eth0", "fd12:3456::1", "fc00::1", "fdff::1", "fe90::1", "febf::1%lo", "::ffff:192.168.1.1",
    ])
    func `an address that only neighbours can have is near`(_ host: String) {
        #expect(TransportNetwork.sockets.isProximal(Endpoint(host: host, port: 1)))
    }

    @Test(arguments: [
        "8.8.8.8", "172.15.0.1", "172.32.0.1", "192.169.1.1", "2001:db8::1", "::ffff:8.8.8.8", "feb::1", "::", "fc::1",
        "fd::1", "fe7f::1", "fec0::1", "fe00::1", "fb00::1",
        "localhost", "fc.example.com", "fd", "10.0.0", "10.0.0.1.2", "10.0.0.x", "10.0.0.256", "10..0.1", "",
    ])
    func `any other address, and every name, is not`(_ host: String) {
        #expect(!TransportNetwork.sockets.isProximal(Endpoint(host: host, port: 1)))
    }
}
