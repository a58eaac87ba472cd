// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDiscovery

/// The addresses of announcements that a machine on the same link can have (issue 10 §1.3).
@Suite struct OnLinkTests {
    private func isOnLink(_ address: String, on interface: String? = nil) -> Bool {
        let interface = interface.map { DiscoveryInterface(index: 1, name: $0) }
        return DiscoveryEndpoint(address: address, port: 4000, interface: interface).isOnLink
    }

    @Test func `addresses of other networks, groups and names are not on the link`() {
        // No interface has an address of the reserved block (RFC 1112) or of the one for documentation.
        for address in [
            "240.0.0.1", "2001:db8::1", "::ffff:240.0.0.1", "0.0.0.0", "::", "224.0.0.251",
            "255.255.255.255", "ff02::fb", "example.org", "localhost", "",
        ] {
            #expect(!isOnLink(address), "\(address)")
        }
    }

    @Test func `a loopback address must have been seen on a loopback interface`() throws {
        let loopback = try #require(NetworkInterface.all().first(where: \.isLoopback)?.name)
        for address in ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"] {
            #expect(isOnLink(address) && isOnLink(address, on: loopback), "\(address)")
            #expect(!isOnLink(address, on: "eth9"), "\(address)")
        }
    }

    @Test func `a link-local address must be of the interface on which it was seen`() {
        #expect(isOnLink("fe80::1%eth9") && isOnLink("fe80::1%eth9", on: "eth9"))
        #expect(!isOnLink("fe80::1%eth8", on: "eth9") && !isOnLink("fe80::1"))
    }

    @Test func `other transports decide themselves`() {
        #expect(DiscoveryEndpoint(address: "anything", port: 0, transport: "relay").isOnLink)
    }
}

/// The detection of floods of announcements (issue 10 §1.4).
@Suite struct ChurnMeterTests {
    static let start = ContinuousClock.now

    @Test func `a thousand systems that appear at once are no flood, and neither is a restart of one in a second`() {
        var meter = ChurnMeter(now: Self.start)
        var changes = [meter.count(1400, now: Self.start)]
        for second in 1..<2000 { changes.append(meter.count(2, now: Self.start + .seconds(second))) }
        #expect(!changes.contains(true) && !meter.isFlooded && meter.end == nil)
    }

    @Test func `five hundred changes a second are a flood within four seconds, and its end is noticed`() throws {
        var meter = ChurnMeter(now: Self.start)
        var detected: Duration?
        for number in 0..<5000 where meter.count(now: Self.start + .milliseconds(2 * number)) {
            detected = .milliseconds(2 * number)
        }
        #expect(try #require(detected) < .seconds(4))
        let end = try #require(meter.end)
        #expect(end < Self.start + .seconds(10 + 60))
        let isReported = meter.count(0, now: end)
        #expect(isReported && !meter.isFlooded)
    }
}
