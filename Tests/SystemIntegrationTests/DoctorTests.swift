// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

/// One line `finding` that the command printed with `--json`.
struct Finding: Decodable, Sendable {
    let event: String
    let code: String
    let status: String
    let what: String
    let advice: String?
}

extension ChildProcess {
    /// The findings of a command that has ended.
    func findings() async throws -> [Finding] {
        _ = try await exit(within: .seconds(60))
        let findings = try await allLines().compactMap { try? JSONDecoder().decode(Finding.self, from: Data($0.utf8)) }
        guard !findings.isEmpty else { throw IntegrationError("no findings: \(lines.joined(separator: " | "))") }
        return findings
    }
}

extension [Finding] {
    /// The status of the first finding with a code.
    func status(_ code: String) -> String? { first { $0.code == code }?.status }

    func what(_ code: String) -> String { first { $0.code == code }?.what ?? "" }
}

extension SystemTests {
    /// Issue 3 §5: why is my list empty? Each cause is produced and must be named.
    @Suite struct Doctor {
        /// Two machines of one account. The second one serves.
        private func withServer(
            _ body: (SimulatedNetwork, _ doctor: Machine, _ server: Machine) async throws -> Void
        ) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                _ = try await machines[1].serve()
                try await body(network, machines[0], machines[1])
            }
        }

        private func findings(_ machine: Machine, _ arguments: String...) async throws -> [Finding] {
            try await machine.command(["doctor"] + arguments).findings()
        }

        @Test func `machines that find each other have no problem, by address and by name`() async throws {
            try await withServer { _, a, b in
                for name in [b.address, "beta"] {
                    let findings = try await findings(a, name)
                    for code in [
                        "firewall", "peer", "peer-version", "peer-clock", "peer-connects-back", "peer-multicast",
                    ] {
                        #expect(findings.status(code) == "ok", "\(code): \(findings.what(code))")
                    }
                    #expect(findings.status("systems") == "ok")
                    #expect(!findings.contains { $0.status == "problem" })
                }
            }
        }

        @Test func `a firewall that drops mDNS is named, with its effect`() async throws {
            try await withServer { _, a, b in
                try await a.host.setFirewall(
                    "table inet filter { chain input { type filter hook input priority 0; udp dport 5353 drop; }; }"
                )
                let findings = try await findings(a, b.address)
                #expect(findings.status("firewall") == "problem")
                #expect(findings.what("firewall").contains("UDP port 5353"))
                #expect(findings.status("peer") == "ok")
                #expect(findings.status("peer-connects-back") == "ok")
                #expect(findings.status("peer-multicast") == "problem")
                #expect(findings.what("peer-multicast").contains("one way only: this system does not see"))
            }
        }

        @Test func `a firewall that blocks the port is named from both sides`() async throws {
            try await withServer { _, a, b in
                try await a.host.setFirewall(
                    """
                    table inet filter {
                      chain input {
                        type filter hook input priority 0; policy drop;
                        iif lo accept
                        ct state established,related accept
                        meta l4proto { icmp, ipv6-icmp } accept
                        udp dport 5353 accept
                      }
                    }
                    """
                )
                let findings = try await findings(a, b.address)
                #expect(findings.status("firewall") == "problem")
                #expect(findings.what("firewall").contains("TCP port 47474"))
                #expect(findings.status("peer-connects-back") == "problem")
                #expect(findings.what("peer-connects-back").contains("no answer"))
                #expect(findings.status("peer-multicast") == "ok")
            }
        }

        @Test func `multicast that the network drops is distinguished from a firewall`() async throws {
            try await withServer { network, a, b in
                try await network.dropMulticast()
                let findings = try await findings(a, b.address)
                #expect(findings.status("firewall") == "ok")
                #expect(findings.status("peer") == "ok")
                #expect(findings.status("peer-multicast") == "problem")
                #expect(findings.what("peer-multicast").contains("Neither"))
                let list = try await a.command(["list"]).findings()
                #expect(list.map(\.code) == ["systems"])
            }
        }

        @Test func `clients that an access point isolates are reported as isolated`() async throws {
            try await withServer { _, a, b in
                try await a.host.setIsolated(true)
                try await b.host.setIsolated(true)
                let doctor = try a.command(["doctor", b.address])
                let findings = try await doctor.findings()
                #expect(findings.status("peer") == "problem")
                #expect(findings.first { $0.code == "peer" }?.advice?.contains("isolation") == true)
                #expect(try await doctor.exit() == 1)
            }
        }

        @Test func `systems of another account are counted, and are the reason of an empty list`() async throws {
            try await SimulatedNetwork.with { network in
                let states = try await Accounts.shared.states(1)
                let a = try await network.addMachine("alpha", state: states[0])
                let b = try await network.addMachine("beta", state: try await Accounts.shared.stranger())
                _ = try await b.serve()
                let findings = try await findings(a)
                #expect(findings.status("other-accounts") == "warning")
                #expect(findings.what("other-accounts").contains("1 program of other accounts"))
                let list = try await a.command(["list"]).findings()
                #expect(list.map(\.code) == ["other-accounts"])
                let asked = try await self.findings(a, b.address)
                #expect(asked.status("peer") == "problem")
            }
        }

        @Test func `filters that exclude every system are the reason of an empty list`() async throws {
            try await withServer { _, a, _ in
                let list = try await a.command(["list", "--filter", "kind=holographic"]).findings()
                #expect(list.map(\.code) == ["filters"])
                #expect(list.what("filters").contains("beta"))
                let watch = try a.command(["watch", "--filter", "kind=holographic"])
                let mark = try await watch.reported("enumeration-completed")
                #expect(mark.systems == 0)
                await watch.stop()
                #expect(try await watch.findings().map(\.code) == ["filters"])
            }
        }

        @Test func `a system that is advertised but does not respond is reported`() async throws {
            try await withServer { _, a, b in
                try await b.host.setFirewall(
                    "table inet filter { chain input { type filter hook input priority 0; tcp dport 47474 drop; }; }"
                )
                let list = try await a.command(["list"]).findings()
                #expect(list.map(\.code) == ["systems"])
                #expect(list.what("systems").contains(":47474"))
            }
        }

        @Test func `disabled features of avahi-daemon are found`() async throws {
            try await SimulatedNetwork.with { network in
                let a = try await network.addMachine("alpha", state: try await Accounts.shared.states(1)[0])
                try await a.host.startDaemon(options: ["deny-interfaces=eth0"])
                let arguments = [try builtProgram("remotesystems"), "doctor", "--json", "--state-directory", a.state]
                let findings = try await a.host.start(a.host.besideDaemon + arguments, readsErrors: true).findings()
                #expect(findings.status("avahi-configuration") == "problem")
                #expect(findings.what("avahi-configuration").contains("eth0"))
                #expect(findings.what("avahi").contains("avahi 0."))
            }
        }

        @Test func `a VPN with the default route is reported`() async throws {
            try await SimulatedNetwork.with { network in
                let a = try await network.addMachine("alpha", state: try await Accounts.shared.states(1)[0])
                try await a.host.ip("tuntap", "add", "dev", "vpn0", "mode", "tun")
                try await a.host.ip("addr", "add", "10.99.0.1/24", "dev", "vpn0")
                try await a.host.ip("link", "set", "vpn0", "up")
                try await a.host.ip("route", "add", "default", "dev", "vpn0")
                let findings = try await findings(a)
                #expect(findings.status("vpn") == "warning")
                #expect(findings.what("vpn").contains("vpn0"))
            }
        }
    }
}
