// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A condition of a rule. Whether it applies to a packet may be impossible to determine here.
indirect enum FirewallMatch: Sendable, Hashable {
    /// Whether a condition applies to a packet.
    enum Answer: Int, Sendable, Comparable {
        case no, perhaps, yes

        static func < (lhs: Answer, rhs: Answer) -> Bool { lhs.rawValue < rhs.rawValue }

        var inverted: Answer {
            switch self {
            case .no: .yes
            case .perhaps: .perhaps
            case .yes: .no
            }
        }
    }

    case isIPv6(Bool)
    /// The transport protocols, by name or by IANA number.
    case transport([String])
    case sourcePorts([ClosedRange<Int>])
    case destinationPorts([ClosedRange<Int>])
    /// The names of incoming interfaces. A name that ends in `*` stands for all names with that prefix.
    case incomingInterface([String])
    case outgoingInterface([String])
    /// The states of the connection that the packet belongs to.
    case state([String])
    /// Addresses, or networks as `address/length`.
    case destination([String])
    /// The types of the destination address, in the kernel's words: `multicast`, `local`, `broadcast`, …
    case destinationType([String])
    case unknown
    case not(FirewallMatch)

    func applies(to packet: FirewallPacket) -> Answer {
        switch self {
        case .isIPv6(let isIPv6): Self.answer(isIPv6 == packet.isIPv6)
        case .transport(let names):
            Self.answer(names.contains { $0 == packet.transport.rawValue || $0 == packet.transport.number })
        case .sourcePorts(let ports):
            // Connections come from any source port; mDNS packets come from port 5353.
            packet.isMulticast ? Self.covers(ports, packet.destinationPorts) : .perhaps
        case .destinationPorts(let ports): Self.covers(ports, packet.destinationPorts)
        case .incomingInterface(let names): packet.isOutgoing ? .no : Self.answer(Self.name(packet.interface, names))
        case .outgoingInterface(let names): packet.isOutgoing ? Self.answer(Self.name(packet.interface, names)) : .no
        case .state(let states): Self.answer(states.contains { $0.lowercased() == "new" })
        case .destination(let networks): Self.destination(networks, packet)
        case .destinationType(let types):
            Self.answer(types.contains { $0.lowercased() == (packet.isMulticast ? "multicast" : "local") })
        case .unknown: .perhaps
        case .not(let match): match.applies(to: packet).inverted
        }
    }

    private static func answer(_ isSo: Bool) -> Answer { isSo ? .yes : .no }

    private static func name(_ interface: String, _ patterns: [String]) -> Bool {
        patterns.contains { $0.hasSuffix("*") ? interface.hasPrefix($0.dropLast()) : interface == $0 }
    }

    /// Compares the ports of a rule with those of a packet. A rule for less than a tenth of the packet's ports does not
    /// apply; one for more of them may apply.
    private static func covers(_ ranges: [ClosedRange<Int>], _ ports: ClosedRange<Int>) -> Answer {
        let common = ranges.reduce(0) { $0 + ($1.overlaps(ports) ? $1.clamped(to: ports).count : 0) }
        if common >= ports.count { return .yes }
        return common * 10 < ports.count ? .no : .perhaps
    }

    private static func destination(_ networks: [String], _ packet: FirewallPacket) -> Answer {
        guard packet.isMulticast else {
            // The packet is sent to any of this machine's addresses, not to a group.
            return networks.allSatisfy(Self.isGroup) ? .no : .perhaps
        }
        return networks.map { network -> Answer in
            let parts = network.split(separator: "/", omittingEmptySubsequences: false)
            guard let address = parts.first else { return .perhaps }
            if address.contains(":") {
                guard packet.isIPv6 else { return .no }
                if parts.count == 1 || parts[1] == "128" { return Self.answer(address == "ff02::fb") }
                // Only the first 8 bits of the prefix are compared; a longer prefix may or may not match.
                return address.hasPrefix("ff") ? (Int(parts[1]).map { $0 <= 8 } == true ? .yes : .perhaps) : .no
            }
            guard !packet.isIPv6 else { return .no }
            let length = parts.count == 1 ? 32 : Int(parts[1]) ?? 32
            guard let bits = Self.bits(address), (0...32).contains(length) else { return .perhaps }
            let mask = length == 0 ? 0 : UInt32.max << (32 - length)
            return Self.answer(bits & mask == 0xE000_00FB & mask)
        }.max() ?? .no
    }

    private static func isGroup(_ network: String) -> Bool {
        guard !network.contains(":") else { return network.hasPrefix("ff") }
        return network.split(separator: ".").first.flatMap { Int($0) }.map { (224...239).contains($0) } ?? false
    }

    private static func bits(_ address: Substring) -> UInt32? {
        let parts = address.split(separator: ".").compactMap { UInt8($0) }
        return parts.count == 4 ? parts.reduce(0) { $0 << 8 | UInt32($1) } : nil
    }
}

extension FirewallPacket.Transport {
    fileprivate var number: String { self == .udp ? "17" : "6" }
}
