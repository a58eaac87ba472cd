// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystems

/// The list of machines that wait for a pairing, which any machine can announce.
@Suite struct PairingPlacesTests {
    private static func place(_ host: String, _ port: Int) -> PairingPlace { PairingPlace(hosts: [host], port: port) }

    @Test func `a machine that announces many places does not hide another one`() {
        var places = PairingPlaces()
        for port in 1...1000 { places.add(Self.place("192.0.2.66", port)) }
        // An address of the same /64 is no other machine.
        for port in 1...1000 { places.add(Self.place("2001:db8::\(port % 10)", port)) }
        places.add(Self.place("192.0.2.7", 1))
        #expect(places.inTurns.count == PairingPlaces.maxCount)
        #expect(
            places.inTurns.prefix(4) == [
                Self.place("192.0.2.66", 1), Self.place("2001:db8::1", 1), Self.place("192.0.2.7", 1),
                Self.place("192.0.2.66", 2),
            ]
        )
    }

    @Test func `a place that is announced twice is listed once`() {
        var places = PairingPlaces()
        for _ in 1...3 { places.add(Self.place("192.0.2.7", 1)) }
        #expect(places.inTurns == [Self.place("192.0.2.7", 1)])
    }

    @Test func `the list is bounded, whatever is announced`() {
        var places = PairingPlaces()
        for host in 1...200 { for port in 1...20 { places.add(Self.place("192.0.2.\(host)", port)) } }
        #expect(places.inTurns == (1...PairingPlaces.maxCount).map { Self.place("192.0.2.\($0)", 1) })
    }

    @Test func `a waiting machine is found among hundreds of announced places of a stranger`() async throws {
        try await TwoMachines.with { machines in
            for port in 1...200 { Self.announce("127.0.0.66", port, on: machines.segment) }
            Self.announce("127.0.0.7", 1, on: machines.segment)
            let found = try await machines.account("second").pairingsNearby()
            #expect(found.contains(Self.place("127.0.0.7", 1)))
            #expect(found.count == PairingPlaces.maxCount)
        }
    }

    private static func announce(_ host: String, _ port: Int, on segment: ScriptedDiscovery) {
        segment.appear(
            DiscoveryHint(
                id: "\(host) \(port)",
                instance: "\(host) \(port)",
                endpoints: [DiscoveryEndpoint(address: host, port: port)],
                properties: [Presence.pairingProperty: Array("1".utf8)]
            )
        )
    }
}
