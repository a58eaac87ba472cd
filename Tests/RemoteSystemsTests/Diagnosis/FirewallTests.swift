// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsDiscovery
import Testing

@testable import RemoteSystems

/// How the rules of a packet filter affect mDNS and connections, without a packet filter.
@Suite struct FirewallTests {
    static let multicast = FirewallPacket.multicast(isIPv6: false, interface: "eth0")
    static let multicast6 = FirewallPacket.multicast(isIPv6: true, interface: "eth0")
    static let connection = FirewallPacket.connection(to: 47_474, isIPv6: false, interface: "eth0")

    enum Fate: Sendable {
        case accepted, dropped, undecided

        init(_ verdict: FirewallVerdict) {
            switch verdict {
            case .accepted: self = .accepted
            case .dropped: self = .dropped
            case .undecided: self = .undecided
            }
        }
    }

    /// A rule set as nft prints it: one table with an input chain, a further chain `more`, and a set `open`.
    static func nftables(policy: String, family: String = "inet", _ rules: [String], more: [String] = []) throws
        -> FirewallRules
    {
        func objects(_ rules: [String], _ chain: String) -> [String] {
            rules.map {
                #"{"rule":{"family":"\#(family)","table":"filter","chain":"\#(chain)","handle":7,"expr":[\#($0)]}}"#
            }
        }
        let place = #""family":"\#(family)","table":"filter""#
        let base = #""type":"filter","hook":"input","prio":0,"policy":"\#(policy)""#
        let list =
            [
                #"{"metainfo":{"version":"1.0.6"}}"#, #"{"table":{"family":"\#(family)","name":"filter"}}"#,
                #"{"set":{\#(place),"name":"open","type":"inet_service","elem":[22,{"range":[5000,6000]}]}}"#,
                #"{"chain":{\#(place),"name":"input",\#(base)}}"#, #"{"chain":{\#(place),"name":"more"}}"#,
            ] + objects(rules, "input") + objects(more, "more")
        let text = #"{"nftables":[\#(list.joined(separator: ","))]}"#
        return try #require(FirewallRules(nftables: Array(text.utf8), leavesOutForeign: false))
    }

    static func match(_ left: String, _ right: String, _ operation: String = "==") -> String {
        #"{"match":{"op":"\#(operation)","left":\#(left),"right":\#(right)}}"#
    }

    static func port(_ transport: String, _ right: String, _ operation: String = "==") -> String {
        match(#"{"payload":{"protocol":"\#(transport)","field":"dport"}}"#, right, operation)
    }

    static let accept = #"{"accept":null}"#
    static let drop = #"{"counter":{"packets":0,"bytes":0}},{"drop":null}"#
    static let jump = #"{"jump":{"target":"more"}}"#
    static let group = match(#"{"payload":{"protocol":"ip","field":"daddr"}}"#, #""224.0.0.251""#)
    static let state = match(#"{"ct":{"key":"state"}}"#, #"["established","related"]"#, "in")
    static let source = match(#"{"payload":{"protocol":"ip","field":"saddr"}}"#, #""10.0.0.9""#)
    static let limit = #"{"limit":{"rate":10,"burst":5,"per":"second"}}"#
    static let loopback = match(#"{"meta":{"key":"iifname"}}"#, #""lo""#)
    static let wired = match(#"{"meta":{"key":"iifname"}}"#, #"{"set":["eth*","wlan0"]}"#)

    @Test(arguments: [
        ("accept", [], Fate.accepted, Fate.accepted),
        ("drop", [], .dropped, .dropped),
        ("accept", ["\(port("udp", "5353")),\(drop)"], .dropped, .accepted),
        ("drop", ["\(port("udp", "5353")),\(accept)"], .accepted, .dropped),
        ("drop", ["\(group),\(port("udp", "5353")),\(accept)"], .accepted, .dropped),
        ("drop", ["\(state),\(accept)", "\(loopback),\(accept)"], .dropped, .dropped),
        ("drop", ["\(wired),\(accept)"], .accepted, .accepted),
        ("accept", [#"\#(port("udp", "5353", "!=")),\#(drop)"#], .accepted, .accepted),
        ("accept", [#"\#(port("udp", #"{"set":[53,5353]}"#)),{"reject":{"type":"icmp"}}"#], .dropped, .accepted),
        ("drop", ["\(port("udp", #""@open""#)),\(accept)"], .accepted, .dropped),
        ("accept", [#"\#(port("tcp", #"{"range":[1024,65535]}"#)),{"reject":null}"#], .accepted, .dropped),
        // Rules that cannot be evaluated, such as source addresses and rates. A warning needs certainty.
        ("drop", ["\(source),\(accept)"], .undecided, .undecided),
        ("accept", ["\(source),\(drop)"], .accepted, .accepted),
        ("drop", ["\(port("udp", "5353")),\(limit),\(accept)"], .undecided, .dropped),
        ("drop", [#"{"xt":{"type":"match","name":"conntrack"}},\#(accept)"#], .undecided, .undecided),
        (
            "accept",
            [#"{"vmap":{"key":{"payload":{"protocol":"udp","field":"dport"}},"data":{"set":[[5353,{"drop":null}]]}}}"#],
            .dropped, .accepted
        ),
    ])
    func `nft's rules are evaluated to their verdict`(policy: String, rules: [String], mdns: Fate, tcp: Fate) throws {
        let rules = try Self.nftables(policy: policy, rules)
        #expect(Fate(rules.verdict(on: Self.multicast)) == mdns)
        #expect(Fate(rules.verdict(on: Self.connection)) == tcp)
    }

    @Test func `a chain that is jumped to decides or returns`() throws {
        let drops = try Self.nftables(policy: "accept", [Self.jump], more: ["\(Self.port("udp", "5353")),\(Self.drop)"])
        #expect(
            drops.verdict(on: Self.multicast) == .dropped(by: "rule 7 of the chain more in nftables' table inet filter")
        )
        #expect(drops.verdict(on: Self.connection) == .accepted)
        let returns = try Self.nftables(
            policy: "drop",
            [Self.jump, "\(Self.port("tcp", "47474")),\(Self.accept)"],
            more: [#"{"return":null}"#, Self.drop]
        )
        #expect(returns.verdict(on: Self.connection) == .accepted)
        #expect(
            returns.verdict(on: Self.multicast)
                == .dropped(by: "the policy of the chain input in nftables' table inet filter")
        )
    }

    @Test func `chains with cycles terminate`() throws {
        let rules = try Self.nftables(policy: "drop", [Self.jump], more: [Self.jump])
        #expect(rules.verdict(on: Self.multicast) == .undecided)
    }

    /// Four ways on each of 16 levels.
    @Test(.timeLimit(.minutes(1))) func `jumps that cannot be evaluated do not multiply without end`() throws {
        let jumps = [String](repeating: "\(Self.limit),\(Self.jump)", count: 4)
        let rules = try Self.nftables(policy: "drop", [Self.jump], more: jumps)
        #expect(rules.verdict(on: Self.multicast) == .undecided)
    }

    @Test func `a table of one family does not affect the other`() throws {
        let rules = try Self.nftables(policy: "drop", family: "ip", [])
        #expect(Fate(rules.verdict(on: Self.multicast)) == .dropped)
        #expect(rules.verdict(on: Self.multicast6) == .accepted)
    }

    @Test func `invalid output and an empty rule set are different`() throws {
        #expect(FirewallRules(nftables: Array("nothing".utf8), leavesOutForeign: false) == nil)
        #expect(FirewallRules(nftables: Array(#"{"nftables":5}"#.utf8), leavesOutForeign: false) == nil)
        let none = try #require(FirewallRules(nftables: Array(#"{"nftables":[]}"#.utf8), leavesOutForeign: false))
        #expect(none.verdict(on: Self.connection) == .accepted)
    }

    // MARK: iptables

    static func iptables(input: String, _ rules: [String]) -> FirewallRules {
        let text = """
            # Generated by iptables-save v1.8.9 (nf_tables) on Sat Nov 21 13:37:16 2026
            *nat
            :PREROUTING ACCEPT [0:0]
            -A PREROUTING -p udp -j DROP
            COMMIT
            *filter
            :INPUT \(input) [0:0]
            :FORWARD DROP [0:0]
            :OUTPUT ACCEPT [0:0]
            :SERVICES - [0:0]
            \(rules.joined(separator: "\n"))
            COMMIT
            """
        return FirewallRules(iptablesSave: text, isIPv6: false)
    }

    @Test(arguments: [
        ("ACCEPT", [], Fate.accepted, Fate.accepted),
        ("DROP", [], .dropped, .dropped),
        (
            "DROP", ["-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", "-A INPUT -i lo -j ACCEPT"],
            .dropped, .dropped
        ),
        ("DROP", ["-A INPUT -d 224.0.0.251/32 -p udp -m udp --dport 5353 -j ACCEPT"], .accepted, .dropped),
        ("DROP", ["-A INPUT -d 224.0.0.0/4 -j ACCEPT"], .accepted, .dropped),
        ("DROP", ["-A INPUT -p tcp -m multiport --dports 80,443,40000:50000 -j ACCEPT"], .dropped, .accepted),
        ("DROP", ["-A INPUT -m addrtype --dst-type MULTICAST -j ACCEPT"], .accepted, .dropped),
        ("ACCEPT", ["-A INPUT -m pkttype --pkt-type multicast -j DROP"], .dropped, .accepted),
        ("ACCEPT", ["-A INPUT ! -i eth+ -j DROP"], .accepted, .accepted),
        ("ACCEPT", ["-A INPUT ! -i wlan+ -j DROP"], .dropped, .dropped),
        ("ACCEPT", ["-A INPUT -s 10.0.0.9/32 -j DROP"], .accepted, .accepted),
        ("DROP", ["-A INPUT -s 10.0.0.0/8 -j ACCEPT"], .undecided, .undecided),
        (
            "ACCEPT",
            [
                #"-A INPUT -m comment --comment "a b -j ACCEPT" -j LOG --log-prefix "x y ""#,
                "-A INPUT -j REJECT --reject-with icmp-port-unreachable",
            ],
            .dropped, .dropped
        ),
        (
            "DROP", ["-A INPUT -j SERVICES", "-A SERVICES -p udp -m udp --sport 5353 --dport 5353 -j ACCEPT"],
            .accepted, .dropped
        ),
        ("DROP", ["-A INPUT -p udp -g SERVICES", "-A INPUT -j ACCEPT"], .dropped, .accepted),
    ])
    func `the rules of iptables are evaluated to their verdict`(policy: String, rules: [String], mdns: Fate, tcp: Fate)
    {
        let rules = Self.iptables(input: policy, rules)
        #expect(Fate(rules.verdict(on: Self.multicast)) == mdns)
        #expect(Fate(rules.verdict(on: Self.connection)) == tcp)
        #expect(rules.verdict(on: Self.multicast6) == .accepted, "these are of IPv4")
    }

    // MARK: Findings

    static let wiredInterface = InterfaceFacts(
        name: "eth0",
        isLoopback: false,
        canMulticast: true,
        addresses: ["192.0.2.1"]
    )

    static func findings(_ facts: FirewallFacts, port: Int = 47_474) -> [DiagnosisFinding] {
        FirewallFindings(facts: facts, interfaces: [wiredInterface], port: port).all
    }

    @Test func `traffic that is certainly dropped is a problem, with the rule and advice`() throws {
        let rules = try Self.nftables(policy: "drop", ["\(Self.port("tcp", "47474")),\(Self.accept)"])
        let finding = try #require(Self.findings(.rules(rules)).first)
        #expect(finding.code == .firewall && finding.status == .problem)
        #expect(finding.what.contains("5353") && finding.what.contains("eth0") && finding.what.contains("inet filter"))
        #expect(finding.advice?.contains("udp dport 5353") == true)
    }

    @Test func `one dropped family alone is a warning`() {
        let rules = Self.iptables(input: "DROP", [])
        #expect(Self.findings(.rules(rules)).map(\.status) == [.warning, .warning])
    }

    @Test func `the advice names the program that manages the rules`() throws {
        var text = "*filter\n:INPUT DROP [0:0]\n:ufw-user-input - [0:0]\n"
        text += "-A INPUT -j ufw-user-input\nCOMMIT"
        let rules = FirewallRules(iptablesSave: text, isIPv6: false)
        #expect(Self.findings(.rules(rules)).first?.advice?.contains("ufw allow 5353/udp") == true)
        #expect(Self.findings(.rules(rules), port: 0).last?.advice?.contains("32768:60999/tcp") == true)
    }

    @Test func `unreadable rules are unknown and no problem`() {
        for facts in [FirewallFacts.needsRoot, .unreadable] {
            let findings = Self.findings(facts)
            #expect(findings.map(\.status) == [.unknown])
            #expect(findings.first?.advice?.contains("sudo nft list ruleset") == true)
        }
        #expect(Self.findings(.noTool).map(\.status) == [.ok])
        #expect(Self.findings(.rules(FirewallRules())).map(\.status) == [.ok])
    }

    @Test func `programs run without a shell, limited in time, and may be missing`() async {
        #expect(
            await ProgramOutput.of(["/nowhere/nft", "/bin/echo"], ["$HOME;", "x"])
                == .finished(status: 0, Array("$HOME; x\n".utf8))
        )
        #expect(await ProgramOutput.of(["/bin/false"], []) == .finished(status: 1, []))
        #expect(await ProgramOutput.of(["/nowhere/nft"], []) == .missing)
        #expect(await ProgramOutput.of(["/usr/bin/yes"], []) == .unbounded)
    }
}
