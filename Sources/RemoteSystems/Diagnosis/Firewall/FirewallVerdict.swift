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
        var evaluation = Evaluation(chains: self.chains, packet: packet)
        let bases = self.chains.values.compactMap { chain in chain.base.map { (base: $0, chain: chain) } }
            .filter { hooks.contains($0.base.hook) && ($0.base.isIPv6 ?? packet.isIPv6) == packet.isIPv6 }
            .sorted {
                (hooks.firstIndex(of: $0.base.hook) ?? 0, $0.base.priority, $0.chain.name)
                    < (hooks.firstIndex(of: $1.base.hook) ?? 0, $1.base.priority, $1.chain.name)
            }
        // A later base chain may drop what an earlier one has accepted.
        for (base, chain) in bases {
            switch evaluation.outcome(of: chain, depth: 0) {
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
}

/// The evaluation of chains for one packet.
private struct Evaluation {
    enum Outcome {
        case accepted, undecided
        case dropped(by: String)
        /// No rule decided. `isDoubtful` if a rule may have decided.
        case passed(isDoubtful: Bool)
    }

    /// The maximum depth of jumps. The kernel rejects loops, but the list may contain one.
    private static let maxDepth = 16

    let chains: [String: FirewallRules.Chain]
    let packet: FirewallPacket
    /// The outcomes of the chains that rules jump to. Without them, rules that may apply, each with a jump, would
    /// double the work on every level.
    private var outcomes: [String: Outcome] = [:]

    init(chains: [String: FirewallRules.Chain], packet: FirewallPacket) {
        self.chains = chains
        self.packet = packet
    }

    mutating func outcome(of chain: FirewallRules.Chain, depth: Int) -> Outcome {
        // Whether a rule that cannot be evaluated may have accepted the packet. One that may have dropped it is no
        // reason for a warning.
        var isDoubtful = false
        for rule in chain.rules {
            let applies = rule.matches.lazy.map { [packet] in $0.applies(to: packet) }.min() ?? .yes
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
                let outcome = self.outcome(ofJumpTo: name, depth: depth)
                switch outcome {
                case nil: isDoubtful = true
                case .accepted, .undecided:
                    if isCertain, let outcome { return outcome }
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

    /// Returns the outcome of a chain that a rule jumps to; `nil` if there is no such chain.
    private mutating func outcome(ofJumpTo name: String, depth: Int) -> Outcome? {
        if let known = self.outcomes[name] { return known }
        guard let chain = self.chains[name] else { return nil }
        guard depth + 1 < Self.maxDepth else { return .undecided }
        // What a loop jumps to again is undecided.
        self.outcomes[name] = .undecided
        let outcome = self.outcome(of: chain, depth: depth + 1)
        self.outcomes[name] = outcome
        return outcome
    }
}
