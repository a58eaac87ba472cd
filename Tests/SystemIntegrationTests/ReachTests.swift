// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// Restricting the network to an interface, on machines with two cables: what is sent and accepted where.
    @Suite struct Reach {
        @Test
        func `a host restricted to one interface is reached over that one and loopback alone, without privileges`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                // As an unprivileged user: binding to an interface requires no privileges.
                let a = try await network.addMachineOfNobody("alpha")
                let b = try await network.addMachineOfNobody("beta")
                try await a.invite(b)
                let second = try await a.host.connectToSecondEthernet()
                _ = try await b.host.connectToSecondEthernet()
                let serving = try a.command(["serve", "--interface", "eth0", "--port", "47474"])
                try await serving.reported("ready", within: .seconds(15))

                #expect(try await b.ping(a.address).answered == 3)
                #expect(try await a.ping("127.0.0.1").answered == 3)
                #expect(try await a.ping(a.address).answered == 3)
                #expect(try await b.attempt("ping", second) == 2)
                // This machine's kernel accepts packets for all of its addresses on every cable. The host must not.
                #expect(try await b.attempt("ping", a.address, "--interface", "eth1") == 2)

                // Another address, and then another interface with the same name.
                try await a.host.ip("addr", "add", "10.77.0.99/24", "dev", "eth0")
                #expect(try await b.ping("10.77.0.99").answered == 3)
                try await a.host.replaceInterface()
                // Its hardware address is new.
                try await b.host.ip("neigh", "flush", "all")
                // The host notices it within about a second.
                _ = try await eventually("an answer by the new interface", every: .milliseconds(200)) {
                    try await b.attempt("ping", a.address, "--count", "1") == 0 ? true : nil
                }
                #expect(try await b.ping(a.address).answered == 3)
                #expect(try await b.attempt("ping", second) == 2)
            }
        }

        @Test func `an invitation restricted to one interface is accepted over that one alone`() async throws {
            try await SimulatedNetwork.with { network in
                let a = try await network.addMachineOfNobody("alpha")
                let b = try await network.addMachineOfNobody("beta")
                let second = try await a.host.connectToSecondEthernet()
                _ = try await b.host.connectToSecondEthernet()
                let inviting = try a.command(["account", "invite", "--interface", "eth0"])
                let uri = try #require(try await inviting.reported("invitation", within: .seconds(15)).uri)
                #expect(uri.contains(a.address))
                #expect(!uri.contains(second))
                let wrong = uri.replacingOccurrences(of: a.address, with: second)
                #expect(try await b.join(wrong).exit(within: .seconds(30)) == 2)
                #expect(try await b.join(uri).exit(within: .seconds(30)) == 0)
                try await inviting.reported("joined")
            }
        }

        @Test func `restricted to this machine or to one interface, nothing is sent elsewhere`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let second = try await a.host.connectToSecondEthernet()
                _ = try await b.host.connectToSecondEthernet()
                _ = try await a.serve()
                try await b.host.countWhatLeaves()
                for command in [
                    ["ping", a.address], ["info", a.address], ["apps", a.address], ["doctor", a.address],
                    ["call", a.address, "x"], ["launch", a.address, "https://example.com"], ["ping", "nowhere:47474"],
                ] {
                    #expect(try await b.attempt(command + ["--loopback"]) == 64, "\(command)")
                }
                #expect(try await b.host.whatLeft() == ["eth0": 0, "eth1": 0])
                // The routes name eth1, but the packets go by eth0, where the other machine accepts this address, too.
                #expect(try await b.attempt("ping", second, "--interface", "eth0", "--count", "1") == 0)
                #expect(try await b.host.whatLeft()["eth1"] == 0)
                #expect(try await b.attempt("ping", second, "--interface", "eth1", "--count", "1") == 0)
                #expect(try await b.host.whatLeft()["eth1"] ?? 0 > 0)
            }
        }
    }
}

extension Machine {
    /// Runs the command to its end and returns its status.
    func attempt(_ arguments: String...) async throws -> Int32 { try await self.attempt(arguments) }

    func attempt(_ arguments: [String]) async throws -> Int32 {
        try await self.command(arguments).exit(within: .seconds(30))
    }
}

extension SimulatedHost {
    /// Counts the packets that leave by each Ethernet from now on, except those that maintain an IPv6 network.
    fileprivate func countWhatLeaves() async throws {
        try await self.setFirewall(
            """
            table inet watch {
              counter eth0 {}
              counter eth1 {}
              chain output {
                type filter hook output priority 0; policy accept;
                meta l4proto ipv6-icmp accept
                ip protocol igmp accept
                oifname "eth0" counter name "eth0"
                oifname "eth1" counter name "eth1"
              }
            }
            """
        )
    }

    fileprivate func whatLeft() async throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for name in ["eth0", "eth1"] {
            let words = try await self.output(of: ["nft", "list", "counter", "inet", "watch", name])
                .split(whereSeparator: \.isWhitespace)
            guard let place = words.firstIndex(of: "packets") else { continue }
            counts[name] = Int(words[place + 1])
        }
        return counts
    }
}
