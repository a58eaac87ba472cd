// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

// Reading of the output of 'nft -j list ruleset' (libnftables-json(5)).

extension FirewallRules {
    /// Reads the rules; `nil` when the text is not such a list.
    ///
    /// - Parameter leavesOutForeign: whether to skip tables with rules that only iptables can print, because
    ///   iptables-save has printed them.
    init?(nftables text: [UInt8], leavesOutForeign: Bool) {
        guard let list = try? JSONDecoder().decode(JSONNode.self, from: Data(text))["nftables"]?.array else {
            return nil
        }
        let rules = list.compactMap { $0["rule"] }
        var foreign: Set<String> = []
        if leavesOutForeign {
            for rule in rules where rule["expr"]?.array?.contains(where: { $0["xt"] != nil }) == true {
                foreign.insert(Self.table(rule))
            }
        }
        var sets: [String: [JSONNode]] = [:]
        for set in list.compactMap({ $0["set"] }) {
            sets["\(Self.table(set))/\(set["name"]?.string ?? "")"] = set["elem"]?.array ?? []
        }
        for chain in list.compactMap({ $0["chain"] }) where !foreign.contains(Self.table(chain)) {
            guard let family = chain["family"]?.string, ["inet", "ip", "ip6"].contains(family),
                let own = chain["name"]?.string
            else { continue }
            let name = Self.name(own, chain)
            self.chains[name] = Chain(name: name, base: Self.base(chain, family))
            self.noteKeeper(table: chain["table"]?.string ?? "", chain: own)
        }
        for rule in rules {
            guard let chain = rule["chain"]?.string else { continue }
            let table = Self.table(rule)
            let reader = NFTablesRule(
                text: "rule \(rule["handle"]?.int ?? 0) of the chain \(Self.name(chain, rule))",
                chain: { Self.name($0, rule) },
                elements: { sets["\(table)/\($0)"] }
            )
            self.chains[Self.name(chain, rule)]?.rules += reader.rules(rule["expr"]?.array ?? [])
        }
    }

    private static func table(_ object: JSONNode) -> String {
        "\(object["family"]?.string ?? "") \(object["table"]?.string ?? "")"
    }

    private static func name(_ chain: String, _ object: JSONNode) -> String {
        "\(chain) in nftables' table \(Self.table(object))"
    }

    private static func base(_ chain: JSONNode, _ family: String) -> Base? {
        guard chain["type"]?.string == "filter", let hook = chain["hook"]?.string.flatMap({ Base.Hook(rawValue: $0) })
        else { return nil }
        return Base(
            hook: hook,
            priority: chain["prio"]?.int ?? 0,
            isIPv6: family == "inet" ? nil : family == "ip6",
            drops: chain["policy"]?.string == "drop"
        )
    }
}

/// Reads one rule. A verdict map results in several rules, one for each key.
private struct NFTablesRule {
    let text: String
    let chain: (String) -> String
    let elements: (String) -> [JSONNode]?

    func rules(_ statements: [JSONNode]) -> [FirewallRules.Rule] {
        var matches: [FirewallMatch] = []
        for statement in statements {
            if let verdict = self.verdict(statement) {
                return [FirewallRules.Rule(matches: matches, verdict: verdict, text: self.text)]
            }
            guard let (key, value) = statement.only else { continue }
            switch key {
            case "match": matches += self.matches(value)
            case "vmap": return self.rules(value, after: matches)
            // Statements that only count, log or mark.
            case "counter", "log", "mangle", "notrack", "comment", "meter": break
            case "xt" where value["type"]?.string == "target" && value["name"]?.string != "REJECT": break
            default: matches.append(.unknown)
            }
        }
        return []
    }

    private func verdict(_ statement: JSONNode) -> FirewallRules.Verdict? {
        guard let (key, value) = statement.only else {
            return switch statement.string {
            case "accept": .accept
            case "drop", "reject": .drop
            case "return": .return
            default: nil
            }
        }
        switch key {
        case "accept": return .accept
        case "drop", "reject": return .drop
        case "return": return .return
        case "continue": return .proceed
        case "queue", "synproxy": return .unknown
        case "jump": return .jump(self.chain(value["target"]?.string ?? ""))
        case "goto": return .go(to: self.chain(value["target"]?.string ?? ""))
        case "xt" where value["type"]?.string == "target" && value["name"]?.string == "REJECT": return .drop
        default: return nil
        }
    }

    private func rules(_ map: JSONNode, after matches: [FirewallMatch]) -> [FirewallRules.Rule] {
        let unknown = [FirewallRules.Rule(matches: matches + [.unknown], verdict: .unknown, text: self.text)]
        guard let key = map["key"], let pairs = map["data"]?["set"]?.array else { return unknown }
        return pairs.flatMap { pair -> [FirewallRules.Rule] in
            guard let parts = pair.array, parts.count == 2, let verdict = self.verdict(parts[1]) else { return unknown }
            let match = self.matches(key, [parts[0]]) ?? [.unknown]
            return [FirewallRules.Rule(matches: matches + match, verdict: verdict, text: self.text)]
        }
    }

    private func matches(_ match: JSONNode) -> [FirewallMatch] {
        guard let left = match["left"], let right = match["right"], let values = self.values(right),
            let found = self.matches(left, values), let operation = match["op"]?.string
        else { return [.unknown] }
        switch operation {
        case "==", "in": return found
        // The last condition compares the value; those before it require the header that contains the value.
        case "!=": return found.dropLast() + found.suffix(1).map { .not($0) }
        default: return [.unknown]
        }
    }

    /// The values of the comparison; `nil` for an unknown set.
    private func values(_ right: JSONNode) -> [JSONNode]? {
        if let name = right.string, name.hasPrefix("@") { return self.elements(String(name.dropFirst())) }
        return right["set"]?.array ?? right.array ?? [right]
    }

    private func matches(_ left: JSONNode, _ values: [JSONNode]) -> [FirewallMatch]? {
        guard let (kind, what) = left.only else { return nil }
        let values = values.map { $0["elem"]?["val"] ?? $0 }
        switch (kind, what["protocol"]?.string, what["field"]?.string ?? what["key"]?.string) {
        case ("payload", let name?, "dport"?):
            return self.transport(name) + [self.ports(values) { .destinationPorts($0) }]
        case ("payload", let name?, "sport"?): return self.transport(name) + [self.ports(values) { .sourcePorts($0) }]
        case ("payload", "ip"?, "daddr"?): return [.isIPv6(false), self.destination(values)]
        case ("payload", "ip6"?, "daddr"?): return [.isIPv6(true), self.destination(values)]
        case ("payload", "ip"?, "protocol"?): return [.isIPv6(false), self.words(values) { .transport($0) }]
        case ("payload", "ip6"?, "nexthdr"?): return [.isIPv6(true), self.words(values) { .transport($0) }]
        case ("payload", "ip"?, _): return [.isIPv6(false), .unknown]
        case ("payload", "ip6"?, _): return [.isIPv6(true), .unknown]
        case ("payload", "tcp"?, _), ("payload", "udp"?, _), ("payload", "icmp"?, _), ("payload", "icmpv6"?, _),
            ("payload", "sctp"?, _), ("payload", "igmp"?, _):
            return self.transport(what["protocol"]?.string ?? "") + [.unknown]
        case ("meta", _, "l4proto"?): return [self.words(values) { .transport($0) }]
        case ("meta", _, "nfproto"?), ("meta", _, "protocol"?):
            return [self.words(values) { .isIPv6($0.contains { $0 == "ipv6" || $0 == "ip6" }) }]
        case ("meta", _, "iifname"?), ("meta", _, "iif"?): return [self.words(values) { .incomingInterface($0) }]
        case ("meta", _, "oifname"?), ("meta", _, "oif"?): return [self.words(values) { .outgoingInterface($0) }]
        case ("meta", _, "pkttype"?):
            return [self.words(values) { .destinationType($0.map { $0 == "host" || $0 == "unicast" ? "local" : $0 }) }]
        case ("ct", _, "state"?): return [self.words(values) { .state($0) }]
        case ("fib", _, _) where what["result"]?.string == "type" && what["flags"]?.array == [.string("daddr")]:
            return [self.words(values) { .destinationType($0) }]
        default: return nil
        }
    }

    private func transport(_ name: String) -> [FirewallMatch] { name == "th" ? [] : [.transport([name])] }

    private func words(_ values: [JSONNode], _ match: ([String]) -> FirewallMatch) -> FirewallMatch {
        let words = values.compactMap { $0.string ?? $0.int.map(String.init) }
        return words.count == values.count ? match(words) : .unknown
    }

    private func ports(_ values: [JSONNode], _ match: ([ClosedRange<Int>]) -> FirewallMatch) -> FirewallMatch {
        let ports = values.compactMap { value -> ClosedRange<Int>? in
            if let port = value.int { return port...port }
            guard let ends = value["range"]?.array, ends.count == 2, let low = ends[0].int, let high = ends[1].int,
                low <= high
            else { return nil }
            return low...high
        }
        return ports.count == values.count ? match(ports) : .unknown
    }

    private func destination(_ values: [JSONNode]) -> FirewallMatch {
        let networks = values.compactMap { value -> String? in
            if let address = value.string { return address }
            guard let prefix = value["prefix"], let address = prefix["addr"]?.string, let length = prefix["len"]?.int
            else { return nil }
            return "\(address)/\(length)"
        }
        return networks.count == values.count ? .destination(networks) : .unknown
    }
}
