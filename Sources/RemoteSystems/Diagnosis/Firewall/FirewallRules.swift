// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The rules that decide on packets for this machine, whichever tool has listed them.
struct FirewallRules: Sendable, Hashable {
    /// A list of rules; one with a base is where packets begin.
    struct Chain: Sendable, Hashable {
        var name: String
        var base: Base?
        var rules: [Rule] = []
    }

    /// Which packets come to a chain, and what happens to those on which no rule decides.
    struct Base: Sendable, Hashable {
        enum Hook: String, Sendable, Hashable {
            case prerouting, input, output
        }

        var hook: Hook
        var priority: Int
        /// Both families where it is nil.
        var isIPv6: Bool?
        var drops: Bool
    }

    struct Rule: Sendable, Hashable {
        /// All must apply.
        var matches: [FirewallMatch]
        var verdict: Verdict
        /// The rule as its tool shows it, for people.
        var text: String
    }

    enum Verdict: Sendable, Hashable {
        case accept, drop, `return`
        /// The next rule decides.
        case proceed
        case jump(String)
        case go(to: String)
        /// Somebody decides whom these rules do not tell, such as a program.
        case unknown
    }

    var chains: [String: Chain] = [:]
    /// Who keeps the rules, where that can be told.
    var keeper = Keeper.unknown

    enum Keeper: Sendable, Hashable {
        case firewalld, ufw, unknown
    }

    /// These rules and others together, as the kernel applies them.
    func merged(with other: FirewallRules) -> FirewallRules {
        FirewallRules(
            chains: self.chains.merging(other.chains) { own, _ in own },
            keeper: self.keeper == .unknown ? other.keeper : self.keeper
        )
    }

    mutating func noteKeeper(table: String, chain: String) {
        if table == "firewalld" { self.keeper = .firewalld }
        if chain.hasPrefix("ufw-") || chain.hasPrefix("ufw6-") { self.keeper = .ufw }
    }
}

/// A packet of which it is asked what would become of it.
struct FirewallPacket: Sendable, Hashable {
    enum Transport: String, Sendable, Hashable {
        case udp, tcp
    }

    var isIPv6: Bool
    var transport: Transport
    /// The port that it is sent to; several where any one of them may be meant.
    var destinationPorts: ClosedRange<Int>
    /// Where it comes in, or goes out.
    var interface: String
    var isOutgoing = false

    /// mDNS goes from its port to its port, to groups of its own (RFC 6762 §3); all else we ask of comes from anywhere to this machine.
    var isMulticast: Bool { self.transport == .udp && self.destinationPorts == Self.multicastPort...Self.multicastPort }

    static let multicastPort = 5353

    static func multicast(isIPv6: Bool, interface: String, isOutgoing: Bool = false) -> FirewallPacket {
        FirewallPacket(
            isIPv6: isIPv6,
            transport: .udp,
            destinationPorts: Self.multicastPort...Self.multicastPort,
            interface: interface,
            isOutgoing: isOutgoing
        )
    }

    /// The first packet of a connection to a port of this machine; 0 for one that the kernel chooses.
    static func connection(to port: Int, isIPv6: Bool, interface: String) -> FirewallPacket {
        // The kernel's usual choice (ip_local_port_range).
        let ports = port == 0 ? 32_768...60_999 : port...port
        return FirewallPacket(isIPv6: isIPv6, transport: .tcp, destinationPorts: ports, interface: interface)
    }
}
