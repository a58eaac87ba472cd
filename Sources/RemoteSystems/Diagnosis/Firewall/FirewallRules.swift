// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The packet filter's rules, as read from any of its tools.
struct FirewallRules: Sendable, Hashable {
    /// A list of rules. Packets enter at chains with a base.
    struct Chain: Sendable, Hashable {
        var name: String
        var base: Base?
        var rules: [Rule] = []
    }

    /// The packets that enter a chain, and what happens to a packet that matches no rule.
    struct Base: Sendable, Hashable {
        /// The point at which packets enter a base chain.
        enum Hook: String, Sendable, Hashable {
            case prerouting, input, output
        }

        var hook: Hook
        var priority: Int
        /// The address family; `nil` for both.
        var isIPv6: Bool?
        var drops: Bool
    }

    /// A rule of a chain: conditions, and what happens to a packet that satisfies all of them.
    struct Rule: Sendable, Hashable {
        /// The conditions. All must apply.
        var matches: [FirewallMatch]
        var verdict: Verdict
        /// The rule as its tool prints it, for messages.
        var text: String
    }

    /// What happens to a packet that satisfies a rule's conditions.
    enum Verdict: Sendable, Hashable {
        case accept, drop, `return`
        /// The packet continues with the next rule.
        case proceed
        case jump(String)
        case go(to: String)
        /// The decision is made outside of these rules, for example by a program.
        case unknown
    }

    var chains: [String: Chain] = [:]
    /// The tool that manages the rules, if known.
    var keeper = Keeper.unknown

    /// The tool that manages the rules, for advice to the user.
    enum Keeper: Sendable, Hashable {
        case firewalld, ufw, unknown
    }

    /// Combines these rules with others, as the kernel applies them.
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

/// A packet whose fate the rules decide.
struct FirewallPacket: Sendable, Hashable {
    /// The transport protocol of a packet.
    enum Transport: String, Sendable, Hashable {
        case udp, tcp
    }

    var isIPv6: Bool
    var transport: Transport
    /// The destination port; a range where the packet may have any port of it.
    var destinationPorts: ClosedRange<Int>
    /// The interface through which the packet enters or leaves.
    var interface: String
    var isOutgoing = false

    /// Whether the packet is mDNS, which is sent from port 5353 to port 5353 of multicast groups (RFC 6762, section 3).
    /// All other packets are sent from any port to an address of this machine.
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

    /// The first packet of a connection to a port of this machine; 0 stands for a port that the kernel chooses.
    static func connection(to port: Int, isIPv6: Bool, interface: String) -> FirewallPacket {
        // The kernel's default range (ip_local_port_range).
        let ports = port == 0 ? 32_768...60_999 : port...port
        return FirewallPacket(isIPv6: isIPv6, transport: .tcp, destinationPorts: ports, interface: interface)
    }
}
