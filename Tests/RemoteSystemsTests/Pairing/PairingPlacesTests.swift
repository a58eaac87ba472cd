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
        // Each of the three peer keys has one of the first three places.
        #expect(Set(places.inTurns.prefix(3).map(Self.machine)) == ["192.0.2.66", "2001:db8:", "192.0.2.7"])
        #expect(places.inTurns.contains(Self.place("192.0.2.7", 1)))
    }

    /// The address of a place, or the network of an IPv6 address.
    private static func machine(_ place: PairingPlace) -> String {
        let host = place.hosts.first ?? ""
        return host.hasPrefix("2001") ? String(host.prefix(9)) : host
    }

    @Test func `a stranger with many addresses cannot choose which other machines are hidden`() {
        var shown = 0
        var isFirst = 0
        for salt in 0..<400 as Range<UInt64> {
            var places = PairingPlaces(salt: salt)
            // Announced before the waiting machine, often, and again afterwards.
            for _ in 1...3 { for host in 1...63 { places.add(Self.place("198.51.100.\(host)", 1)) } }
            places.add(Self.place("192.0.2.7", 1))
            for host in 1...63 { places.add(Self.place("198.51.100.\(host)", 2)) }
            let list = places.inTurns
            #expect(list.count == PairingPlaces.maxCount)
            shown += list.contains(Self.place("192.0.2.7", 1)) ? 1 : 0
            isFirst += list.first == Self.place("192.0.2.7", 1) ? 1 : 0
        }
        // Sixteen of 64 addresses: 100 of 400 lists are expected.
        #expect((40...200).contains(shown), "\(shown)")
        #expect(isFirst < 60, "\(isFirst)")
    }

    @Test func `a stranger that announces the address of a waiting machine cannot choose its port`() {
        var shown = 0
        for salt in 0..<400 as Range<UInt64> {
            var places = PairingPlaces(salt: salt)
            for port in 2...64 { places.add(Self.place("192.0.2.7", port)) }
            places.add(Self.place("192.0.2.7", 1))
            shown += places.inTurns.contains(Self.place("192.0.2.7", 1)) ? 1 : 0
        }
        #expect((40...200).contains(shown), "\(shown)")
    }

    @Test func `a place that is announced twice is listed once`() {
        var places = PairingPlaces()
        for _ in 1...3 { places.add(Self.place("192.0.2.7", 1)) }
        #expect(places.inTurns == [Self.place("192.0.2.7", 1)])
    }

    @Test func `the list is bounded, whatever is announced`() {
        var places = PairingPlaces()
        for host in 1...200 { for port in 1...20 { places.add(Self.place("192.0.2.\(host)", port)) } }
        #expect(places.inTurns.count == PairingPlaces.maxCount)
        #expect(Set(places.inTurns.map(Self.machine)).count == PairingPlaces.maxCount)
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

    @Test func `a waiting machine is shown although a stranger with many addresses was first`() async throws {
        try await TwoMachines.with { machines in
            for host in 1...24 { Self.announce("127.0.1.\(host)", 1, on: machines.segment) }
            Self.announce("127.0.0.7", 1, on: machines.segment)
            // Each list has 16 of 25 addresses.
            var isShown = false
            for _ in 1...30 where !isShown {
                let found = try await machines.account("second").pairingsNearby()
                #expect(found.count == PairingPlaces.maxCount)
                isShown = found.contains(Self.place("127.0.0.7", 1))
            }
            #expect(isShown)
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
