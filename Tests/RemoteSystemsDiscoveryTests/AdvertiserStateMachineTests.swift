// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDiscovery

@Suite struct AdvertiserStateMachineTests {
    private let loopback = NetworkInterface(
        index: 1,
        name: "lo",
        isLoopback: true,
        addresses: [.ipv4([127, 0, 0, 1]), .ipv6(Array(repeating: 0, count: 15) + [1])],
        canMulticast: true
    )
    private let ethernet = NetworkInterface(
        index: 2,
        name: "eth0",
        isLoopback: false,
        addresses: [.ipv4([10, 0, 0, 1]), .ipv6([0xFE, 0x80] + Array(repeating: 0, count: 13) + [1])],
        canMulticast: true
    )

    private func machine(instance: String = "i") -> AvahiAdvertiser.StateMachine {
        AvahiAdvertiser.StateMachine(DiscoveryAdvertisement(instance: instance, port: 7), host: "h")
    }

    @Test func `each address is advertised on its own interface, loopback by IPv4 only`() {
        let publications = machine().publications(on: [loopback, ethernet], scopes: [nil])
        #expect(publications.count == 3)
        #expect(publications[0].addresses == [.init(host: "h", address: .ipv4([127, 0, 0, 1]), interface: 1)])
        #expect(publications[1].addresses.map(\.interface) == [2, 2])
        #expect(publications[2].interface == nil)
        #expect(publications[2].records.count == 4)
    }

    @Test func `restricted to interfaces, the service is advertised on each`() {
        let publications = machine().publications(on: [ethernet], scopes: [2])
        #expect(publications.map(\.interface) == [nil, 2])
    }

    @Test func `without an address nothing is advertised`() {
        let bare = NetworkInterface(index: 3, name: "eth1", isLoopback: false, addresses: [], canMulticast: true)
        let mute = NetworkInterface(
            index: 4,
            name: "tun0",
            isLoopback: false,
            addresses: [.ipv4([10, 9, 0, 1])],
            canMulticast: false
        )
        #expect(machine().publications(on: [bare, mute], scopes: [nil]).isEmpty)
    }

    @Test func `a change of one interface does not change the publications on others`() {
        var moved = ethernet
        moved.addresses = [.ipv4([10, 0, 0, 9])]
        let before = Set(machine().publications(on: [loopback, ethernet], scopes: [nil]))
        let after = Set(machine().publications(on: [loopback, moved], scopes: [nil]))
        #expect(before.intersection(after).count == 2)
    }

    @Test func `the number of advertised addresses per interface is bounded`() {
        var crowded = ethernet
        crowded.addresses = (0..<200).map { .ipv4([10, 0, 1, $0]) }
        #expect(machine().publications(on: [crowded], scopes: [nil])[0].addresses.count == 16)
    }

    @Test func `each name collision changes the name and doubles the delay`() {
        var machine = machine()
        #expect(machine.collided(newHost: "abcdefgh") == .milliseconds(200))
        #expect(machine.instance == "i-abcdef")
        #expect(machine.host == "abcdefgh")
        #expect(machine.collided(newHost: "zyxwvuts") == .milliseconds(400))
        #expect(machine.instance == "i-zyxwvu")
        #expect(machine.established() == [.nameCollision])
        #expect(machine.established().isEmpty)
    }

    @Test func `the problems of an advertisement last until it is published`() {
        var machine = machine()
        _ = machine.refused()
        _ = machine.collided(newHost: "abcdefgh")
        #expect(machine.troubles == [.advertiseRefused, .nameCollision])
        _ = machine.established()
        #expect(machine.troubles.isEmpty)
    }

    @Test func `an advertisement is in effect while the service is published on any interface (X-38)`() {
        var machine = machine()
        let services = machine.publications(on: [loopback, ethernet], scopes: [1, 2]).filter { !$0.records.isEmpty }
        #expect(services.count == 2)
        #expect(machine.published(services[0]) == true)
        #expect(machine.published(services[1]) == nil)
        #expect(machine.published(services[1]) == nil)
        #expect(machine.unpublished(services[0]) == nil)
        #expect(machine.kept(services) == nil)
        #expect(machine.unpublished(services[1]) == false)
        #expect(machine.unpublished(services[1]) == nil)
        #expect(machine.published(services[0]) == true)
        #expect(machine.kept([]) == false)
        #expect(machine.kept([]) == nil)
    }

    @Test func `the replacement of a long name is still a valid name`() throws {
        var machine = machine(instance: String(repeating: "é", count: 31))
        _ = machine.collided(newHost: "abcdefgh")
        #expect(machine.instance.utf8.count <= 63)
        try DiscoveryAdvertisement(instance: machine.instance, port: 7).validate()
    }

    @Test func `retries after refusals back off exponentially, up to a limit`() {
        var backoff = Backoff(first: .milliseconds(50), longest: .seconds(5))
        let delays = (0..<100).map { _ in backoff.next() }
        #expect(delays[..<3] == [.milliseconds(50), .milliseconds(100), .milliseconds(200)])
        #expect(delays[7...].allSatisfy { $0 == .seconds(5) })
        backoff.reset()
        #expect(backoff.next() == .milliseconds(50))
    }
}
