// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery

/// Findings about this machine's packet filter.
struct FirewallFindings: Sendable {
    var facts: FirewallFacts
    /// The interfaces that may be used, without loopback.
    var interfaces: [InterfaceFacts]
    /// The port that a host listens on; 0 for any free port.
    var port: Int

    private static let why =
        "Systems find each other by multicast DNS (UDP port 5353) and connect to each other's TCP ports."

    var all: [DiagnosisFinding] {
        switch self.facts {
        case .rules(let rules): return self.judge(rules)
        case .noTool:
            return [
                DiagnosisFinding(
                    .firewall,
                    .ok,
                    "Neither nft nor iptables is installed on this machine, so it most likely has no rules.",
                    why: Self.why
                )
            ]
        case .needsRoot:
            return [self.unread("Only root may read the packet filter's rules.")]
        case .unreadable:
            return [self.unread("The packet filter's rules could not be read.")]
        }
    }

    private func unread(_ what: String) -> DiagnosisFinding {
        DiagnosisFinding(
            .firewall,
            .unknown,
            what,
            why: Self.why,
            advice: "Check the rules with 'sudo nft list ruleset'. Chains with 'hook input' must accept udp dport 5353"
                + "\(self.port == 0 ? " and the ports that hosts listen on" : " and tcp dport \(self.port)")."
        )
    }

    private func judge(_ rules: FirewallRules) -> [DiagnosisFinding] {
        var findings: [DiagnosisFinding] = []
        var isUndecided = false
        let questions: [(what: String, effect: String, needed: String, packet: (String, Bool) -> FirewallPacket)] = [
            (
                "incoming mDNS (UDP port 5353)", "This machine sees no other system.", "udp dport 5353",
                { .multicast(isIPv6: $1, interface: $0) }
            ),
            (
                "outgoing mDNS (UDP port 5353)", "This machine sees no other system, and no other system sees it.",
                "udp dport 5353",
                { .multicast(isIPv6: $1, interface: $0, isOutgoing: true) }
            ),
            (
                "incoming connections (TCP \(self.port == 0 ? "ports that hosts choose" : "port \(self.port)"))",
                "Other systems find this machine but cannot connect to it, so they do not list it.",
                self.port == 0 ? "tcp dport 32768-60999" : "tcp dport \(self.port)",
                { .connection(to: self.port, isIPv6: $1, interface: $0) }
            ),
        ]
        for question in questions {
            var dropped: [String] = []
            var rule: String?
            var isPartial = false
            for interface in self.interfaces {
                let verdicts = [false, true].map { rules.verdict(on: question.packet(interface.name, $0)) }
                isUndecided = isUndecided || verdicts.contains(.undecided)
                let reasons = verdicts.compactMap { if case .dropped(let by) = $0 { by } else { nil } }
                guard let first = reasons.first else { continue }
                dropped.append(interface.name)
                rule = rule ?? first
                // The other address family may work.
                if reasons.count == 1 { isPartial = true }
            }
            guard let rule else { continue }
            findings.append(
                DiagnosisFinding(
                    .firewall,
                    isPartial ? .warning : .problem,
                    "The packet filter drops \(question.what) on \(dropped.joined(separator: ", "))"
                        + "\(isPartial ? ", for only one of IPv4 and IPv6" : ""): \(rule).",
                    why: question.effect,
                    advice: self.advice(rules.keeper, question.needed, isOutgoing: question.what.hasPrefix("outgoing"))
                )
            )
        }
        if !findings.isEmpty { return findings }
        if isUndecided {
            return [self.unread("The packet filter has rules for mDNS or connections that cannot be evaluated here.")]
        }
        return [
            DiagnosisFinding(.firewall, .ok, "The packet filter accepts mDNS and connections.", why: Self.why)
        ]
    }

    private func advice(_ keeper: FirewallRules.Keeper, _ needed: String, isOutgoing: Bool) -> String {
        let isMulticast = needed.hasPrefix("udp")
        let ports = self.port == 0 ? "32768-60999" : "\(self.port)"
        switch keeper {
        case .firewalld:
            let what = isMulticast ? "--add-service=mdns" : "--add-port=\(ports)/tcp"
            return "Run 'firewall-cmd --permanent \(what)', then 'firewall-cmd --reload'."
        case .ufw:
            let direction = isOutgoing ? "allow out" : "allow"
            return isMulticast
                ? "Run 'ufw \(direction) 5353/udp'." : "Run 'ufw allow \(ports.replacing("-", with: ":"))/tcp'."
        case .unknown:
            return
                "Accept '\(needed)' in that chain, before the rule that drops it, for the networks that you trust. "
                + "'nft -a list ruleset' shows the rule."
        }
    }
}
