// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems

/// Decides by scheme which URIs a machine opens for other systems of its account.
///
/// By default, only schemes in ``rules`` are opened. `file`, `javascript`, `data`, `vbscript` and `about` are opened
/// only if ``rules`` names them, whatever the value of ``otherSchemes``.
/// `Docs/decisions/0011-opening-uris-for-others.md` explains the reasons.
public struct URISchemePolicy: Sendable {
    /// The treatment of the URIs of a scheme.
    public enum Rule: String, Sendable, Hashable, Codable {
        /// URIs of the scheme are opened.
        case allow
        /// The closure ``URISchemePolicy/ask`` decides about each URI. Without the closure, URIs are not opened.
        case ask
        /// URIs of the scheme are not opened.
        case deny
    }

    /// A closure that asks the user whether a URI may be opened, and returns `true` to open it.
    ///
    /// Runs in the task of the launch, which is cancelled when the launcher stops waiting. If the user cannot be asked
    /// now, it throws any error: the URI is then not opened, and the launcher may try again.
    public typealias Ask = @Sendable (LaunchURIRequest) async throws -> Bool

    /// The rules, by scheme in lower case. A key with an upper-case letter matches no scheme.
    public var rules: [String: Rule]
    /// The rule for schemes that are not in ``rules``, except `file`, `javascript`, `data`, `vbscript` and `about`,
    /// which are then denied.
    public var otherSchemes: Rule
    /// The closure that decides about URIs with the rule ``Rule/ask``. If `nil`, these URIs are denied.
    public var ask: Ask?

    /// Creates a policy from rules.
    ///
    /// - Parameters:
    ///   - rules: The rules by scheme. Case is ignored. If a scheme appears several times in different case, the
    ///     strictest rule applies.
    ///   - otherSchemes: The rule for schemes that are not in `rules`, except those that are always denied
    ///     (``otherSchemes``). Defaults to ``Rule/deny``.
    ///   - ask: Decides about URIs with the rule ``Rule/ask``. Defaults to `nil`: these URIs are denied.
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

    /// Returns the rule for a scheme.
    ///
    /// - Parameter scheme: A URI scheme without colon. Case is ignored.
    public func rule(for scheme: String) -> Rule {
        let scheme = scheme.lowercased()
        return self.rules[scheme] ?? (Self.dangerous.contains(scheme) ? .deny : self.otherSchemes)
    }

    /// The schemes whose handlers read local files or run code in the URI.
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
