// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems

/// Decides by scheme which URIs a machine opens for other systems of its account.
///
/// By default, only schemes in ``rules`` are opened. `file`, `javascript`, `data`, `vbscript` and `about` are opened
/// only if ``rules`` names them, whatever the value of ``otherSchemes``.
/// `Docs/decisions/0011-opening-uris-for-others.md` explains the reasons.
public struct URISchemePolicy: Sendable {
    /// The treatment of URIs of a scheme.
    public enum Rule: String, Sendable, Hashable, Codable {
        /// URIs are opened.
        case allow
        /// ``URISchemePolicy/ask`` decides about each URI. Without it, URIs are not opened.
        case ask
        /// URIs are not opened.
        case deny
    }

    /// Asks the user whether a URI may be opened.
    ///
    /// The task is cancelled when the launcher stops waiting.
    public typealias Ask = @Sendable (LaunchURIRequest) async -> Bool

    /// The rules, by scheme in lower case. A key with an upper-case letter matches no scheme.
    public var rules: [String: Rule]
    /// The rule for schemes that are not in ``rules``, except `file`, `javascript`, `data`, `vbscript` and `about`,
    /// which are then denied.
    public var otherSchemes: Rule
    /// Decides about URIs with the rule ``Rule/ask``. If `nil`, they are denied.
    public var ask: Ask?

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - rules: The rules by scheme. Case is ignored. If a scheme appears in several cases, the strictest rule
    ///     applies.
    ///   - otherSchemes: The rule for other schemes; see ``otherSchemes``. Defaults to ``Rule/deny``.
    ///   - ask: Decides about URIs with the rule ``Rule/ask``. Defaults to `nil`: they are denied.
    public init(rules: [String: Rule], otherSchemes: Rule = .deny, ask: Ask? = nil) {
        self.rules = Dictionary(rules.map { ($0.key.lowercased(), $0.value) }) { Self.stricter($0, $1) }
        self.otherSchemes = otherSchemes
        self.ask = ask
    }

    /// The policy that opens `http`, `https`, `mailto`, `tel`, `sms` and `geo`.
    ///
    /// Any web page can open these schemes too, so their handlers are made for untrusted URIs.
    public static let standard = URISchemePolicy(
        rules: ["http": .allow, "https": .allow, "mailto": .allow, "tel": .allow, "sms": .allow, "geo": .allow]
    )

    /// Returns the rule for a scheme. Case is ignored.
    public func rule(for scheme: String) -> Rule {
        let scheme = scheme.lowercased()
        return self.rules[scheme] ?? (Self.dangerous.contains(scheme) ? .deny : self.otherSchemes)
    }

    /// Schemes whose handlers read local files or run code in the URI.
    static let dangerous: Set<String> = ["file", "javascript", "data", "vbscript", "about"]

    /// The schemes that the policy can open, in ascending order.
    var offeredSchemes: [String] {
        self.rules.filter { $0.value == .allow || $0.value == .ask && self.ask != nil }.keys.sorted()
    }

    private static func stricter(_ one: Rule, _ other: Rule) -> Rule {
        let strict: [Rule] = [.deny, .ask, .allow]
        return strict.first { $0 == one || $0 == other } ?? .deny
    }
}
