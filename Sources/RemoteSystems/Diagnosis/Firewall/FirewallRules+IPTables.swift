// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Reading of the output of iptables-save and ip6tables-save.

extension FirewallRules {
    /// Reads the rules of one address family.
    init(iptablesSave text: String, isIPv6: Bool) {
        var table = ""
        for line in text.split(whereSeparator: \.isNewline) {
            switch line.first {
            case "*": table = String(line.dropFirst())
            case ":" where table != "nat":
                let parts = line.dropFirst().split(separator: " ")
                guard parts.count >= 2 else { continue }
                let name = Self.name(parts[0], table, isIPv6)
                self.chains[name] = Chain(
                    name: name,
                    base: Self.base(parts[0], table, isIPv6, drops: parts[1] == "DROP")
                )
                self.noteKeeper(table: table, chain: String(parts[0]))
            case "-" where table != "nat":
                let words = Self.words(line)
                guard words.count > 2, words[0] == "-A" else { continue }
                let rule = Self.rule(words.dropFirst(2), text: "'\(line)'") { Self.name($0, table, isIPv6) }
                self.chains[Self.name(words[1], table, isIPv6)]?.rules.append(rule)
            default: break
            }
        }
    }

    private static func name(_ chain: some StringProtocol, _ table: String, _ isIPv6: Bool) -> String {
        "\(chain) of \(isIPv6 ? "ip6tables" : "iptables")' table \(table)"
    }

    private static func base(_ chain: Substring, _ table: String, _ isIPv6: Bool, drops: Bool) -> Base? {
        let priority = ["raw": -300, "mangle": -150, "filter": 0, "security": 50][table] ?? 0
        let hooks: [Substring: Base.Hook] = ["PREROUTING": .prerouting, "INPUT": .input, "OUTPUT": .output]
        return hooks[chain].map { Base(hook: $0, priority: priority, isIPv6: isIPv6, drops: drops) }
    }

    /// Splits a line into words. Words in quotation marks are kept together.
    private static func words(_ line: Substring) -> [String] {
        var words: [String] = []
        var word = ""
        var isQuoted = false
        for character in line {
            switch character {
            case "\"": isQuoted.toggle()
            case " " where !isQuoted:
                if !word.isEmpty { words.append(word) }
                word = ""
            default: word.append(character)
            }
        }
        return word.isEmpty ? words : words + [word]
    }

    private static func rule(_ words: ArraySlice<String>, text: String, chain: (String) -> String) -> Rule {
        var rule = Rule(matches: [], verdict: .proceed, text: text)
        var rest = words
        var isInverted = false
        while let option = rest.popFirst() {
            if option == "!" {
                isInverted = true
                continue
            }
            if option == "-j" || option == "-g" {
                // The rest of the line belongs to the target.
                let target = rest.popFirst() ?? ""
                rule.verdict = Self.verdict(target, isGoto: option == "-g", chain: chain(target))
                break
            }
            var match = FirewallMatch.unknown
            if Self.silent.contains(option) {
                _ = rest.popFirst()
                continue
            }
            if let known = Self.match(option, rest.first ?? "") {
                _ = rest.popFirst()
                match = known
            }
            rule.matches.append(isInverted ? .not(match) : match)
            isInverted = false
        }
        return rule
    }

    /// The options that are no condition by themselves: a module's conditions are in the options after its name.
    private static let silent: Set<String> = ["-m", "--comment", "--limit-burst"]

    private static func match(_ option: String, _ value: String) -> FirewallMatch? {
        let list = value.split(separator: ",").map(String.init)
        switch option {
        case "-p": return value == "all" ? .not(.transport([])) : .transport([value])
        case "--dport", "--dports": return .destinationPorts(list.compactMap(Self.ports))
        case "--sport", "--sports": return .sourcePorts(list.compactMap(Self.ports))
        case "--ports": return .sourcePorts(list.compactMap(Self.ports))
        case "-i": return .incomingInterface([Self.pattern(value)])
        case "-o": return .outgoingInterface([Self.pattern(value)])
        case "-d": return .destination([value])
        case "--ctstate", "--state": return .state(list)
        case "--dst-type": return .destinationType(list)
        case "--pkt-type": return .destinationType([value == "unicast" ? "local" : value])
        default: return nil
        }
    }

    private static func ports(_ text: String) -> ClosedRange<Int>? {
        let ends = text.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        switch ends.count {
        case 1: return ends[0].map { $0...$0 }
        case 2:
            let (low, high) = (ends[0] ?? 0, ends[1] ?? 65_535)
            return low <= high ? low...high : nil
        default: return nil
        }
    }

    private static func pattern(_ interface: String) -> String {
        interface.hasSuffix("+") ? interface.dropLast() + "*" : interface
    }

    private static func verdict(_ target: String, isGoto: Bool, chain: String) -> Verdict {
        switch target {
        case "ACCEPT": .accept
        case "DROP", "REJECT", "TARPIT": .drop
        case "RETURN": .return
        case "LOG", "NFLOG", "ULOG", "MARK", "CONNMARK", "CT", "NOTRACK", "TRACE", "TCPMSS", "DSCP", "TOS", "TTL", "HL",
            "SET", "AUDIT", "CLASSIFY", "CHECKSUM", "TEE":
            .proceed
        case "NFQUEUE", "QUEUE", "SYNPROXY": .unknown
        default: isGoto ? .go(to: chain) : .jump(chain)
        }
    }
}
