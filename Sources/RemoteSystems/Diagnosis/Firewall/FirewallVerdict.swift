// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The fate of a packet.
enum FirewallVerdict: Sendable, Hashable {
    case accepted
    /// Certainly dropped, with the rule or policy that drops it.
    case dropped(by: String)
    /// The fate depends on rules that cannot be evaluated here.
    case undecided
}

extension FirewallRules {
    /// Returns the fate of an incoming or outgoing packet. `dropped` only when that is certain.
    func verdict(on packet: FirewallPacket) -> FirewallVerdict {
        let hooks: [Base.Hook] = packet.isOutgoing ? [.output] : [.prerouting, .input]
        var isUndecided = false
        var steps = Self.maxSteps
        let bases = self.chains.values.compactMap { chain in chain.base.map { (base: $0, chain: chain) } }
            .filter { hooks.contains($0.base.hook) && ($0.base.isIPv6 ?? packet.isIPv6) == packet.isIPv6 }
            .sorted {
                (hooks.firstIndex(of: $0.base.hook) ?? 0, $0.base.priority, $0.chain.name)
                    < (hooks.firstIndex(of: $1.base.hook) ?? 0, $1.base.priority, $1.chain.name)
            }
        // A later base chain may drop what an earlier one has accepted.
        for (base, chain) in bases {
            switch self.outcome(of: chain, packet, depth: 0, &steps) {
            case .accepted: break
            case .dropped(let rule): return isUndecided ? .undecided : .dropped(by: rule)
            case .undecided: isUndecided = true
            case .passed(let isDoubtful):
                guard base.drops else { continue }
                if isDoubtful || isUndecided { return .undecided }
                return .dropped(by: "the policy of the chain \(chain.name)")
            }
        }
        return isUndecided ? .undecided : .accepted
    }

    private enum Outcome {
        case accepted, undecided
        case dropped(by: String)
        /// No rule decided. `isDoubtful` if a rule may have decided.
        case passed(isDoubtful: Bool)
    }

    /// The maximum depth of jumps. The kernel rejects loops, but the list may contain one.
    private static var maxDepth: Int { 16 }
    /// The maximum number of rules that are evaluated for a packet. With jumps that cannot be evaluated, each on every
    /// level, there are otherwise more ways through the chains than any time suffices for.
    private static var maxSteps: Int { 100_000 }

    private func outcome(
        of chain: Chain,
        _ packet: FirewallPacket,
        depth: Int,
        _ steps: inout Int
    ) -> Outcome {
        guard depth < Self.maxDepth else { return .undecided }
        // Whether a rule that cannot be evaluated may have accepted the packet. One that may have dropped it is no
        // reason for a warning.
        var isDoubtful = false
        for rule in chain.rules {
            guard steps > 0 else { return .undecided }
            steps -= 1
            let applies = rule.matches.lazy.map { $0.applies(to: packet) }.min() ?? .yes
            guard applies != .no else { continue }
            let isCertain = applies == .yes
            switch rule.verdict {
            case .proceed: break
            case .accept:
                if isCertain { return .accepted }
                isDoubtful = true
            case .drop:
                if isCertain { return isDoubtful ? .undecided : .dropped(by: rule.text) }
            case .return:
                if isCertain { return .passed(isDoubtful: isDoubtful) }
                isDoubtful = true
            case .unknown:
                if isCertain { return .undecided }
                isDoubtful = true
            case .jump(let name), .go(to: let name):
                guard let target = self.chains[name] else {
                    isDoubtful = true
                    continue
                }
                let outcome = self.outcome(of: target, packet, depth: depth + 1, &steps)
                switch outcome {
                case .accepted, .undecided:
                    if isCertain { return outcome }
                    isDoubtful = true
                case .dropped(let rule):
                    if isCertain { return isDoubtful ? .undecided : .dropped(by: rule) }
                case .passed(let isDoubtfulThere):
                    isDoubtful = isDoubtful || isDoubtfulThere
                    if isCertain, case .go = rule.verdict { return .passed(isDoubtful: isDoubtful) }
                }
            }
        }
        return .passed(isDoubtful: isDoubtful)
    }
}
