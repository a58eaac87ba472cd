// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc

/// The known facts about this machine's packet filter.
enum FirewallFacts: Sendable, Hashable {
    case rules(FirewallRules)
    /// No tool is installed that could have set any rules.
    case noTool
    /// There may be rules, but this user may not read them.
    case needsRoot
    /// The rules could not be read for another reason.
    case unreadable

    private static let directories = ["/usr/sbin/", "/sbin/", "/usr/bin/"]

    static func read() async -> FirewallFacts {
        var rules: FirewallRules?
        var isUnreadable = false
        for (tool, isIPv6) in [("iptables-save", false), ("ip6tables-save", true)] {
            switch await ProgramOutput.of(Self.directories.map { $0 + tool }, []) {
            case .finished(0, let text):
                let read = FirewallRules(iptablesSave: String(decoding: text, as: UTF8.self), isIPv6: isIPv6)
                rules = rules?.merged(with: read) ?? read
            case .finished, .unbounded: isUnreadable = true
            case .missing: break
            }
        }
        switch await ProgramOutput.of(Self.directories.map { $0 + "nft" }, ["-j", "list", "ruleset"]) {
        case .finished(0, let text):
            if let read = FirewallRules(nftables: text, leavesOutForeign: rules != nil) {
                return .rules(rules?.merged(with: read) ?? read)
            }
            isUnreadable = true
        case .finished, .unbounded: isUnreadable = true
        case .missing: break
        }
        if let rules, !isUnreadable { return .rules(rules) }
        guard isUnreadable else { return .noTool }
        return geteuid() == 0 ? .unreadable : .needsRoot
    }
}
