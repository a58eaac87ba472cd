// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems

/// Which URIs a machine opens for other systems of its account, by their scheme.
///
/// What is not named is not opened. `file`, `javascript`, `data`, `vbscript` and `about` are not opened either unless
/// ``rules`` names them, whatever ``otherSchemes`` says. Reasons: `Docs/decisions/0011-opening-uris-for-others.md`.
public struct URISchemePolicy: Sendable {
    /// What is done with URIs of a scheme.
    public enum Rule: String, Sendable, Hashable, Codable {
        /// They are opened.
        case allow
        /// Somebody is asked each time; they are not opened if nobody can be.
        case ask
        /// They are not opened.
        case deny
    }

    /// Asks whether a URI may be opened now. The task is cancelled when the launcher stops waiting.
    public typealias Ask = @Sendable (LaunchURIRequest) async -> Bool

    /// What is done with the schemes that are named, in lower case.
    public var rules: [String: Rule]
    /// What is done with all others.
    public var otherSchemes: Rule
    /// Asks somebody; without it whatever is to be asked about is denied.
    public var ask: Ask?

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - rules: what is done with the schemes that are named; their case does not matter.
    ///   - otherSchemes: what is done with all others.
    ///   - ask: asks somebody.
    public init(rules: [String: Rule], otherSchemes: Rule = .deny, ask: Ask? = nil) {
        self.rules = Dictionary(rules.map { ($0.key.lowercased(), $0.value) }) { Self.stricter($0, $1) }
        self.otherSchemes = otherSchemes
        self.ask = ask
    }

    /// Opens `http`, `https`, `mailto`, `tel`, `sms` and `geo`: what any page on the web may have opened too, with handlers
    /// that are made for the URIs of strangers.
    public static let standard = URISchemePolicy(
        rules: ["http": .allow, "https": .allow, "mailto": .allow, "tel": .allow, "sms": .allow, "geo": .allow]
    )

    /// What is done with URIs of a scheme.
    public func rule(for scheme: String) -> Rule {
        let scheme = scheme.lowercased()
        return self.rules[scheme] ?? (Self.dangerous.contains(scheme) ? .deny : self.otherSchemes)
    }

    /// Those that make a handler read local files, or run what the URI holds.
    static let dangerous: Set<String> = ["file", "javascript", "data", "vbscript", "about"]

    /// The schemes that may be opened, if something here opens them.
    var offeredSchemes: [String] {
        self.rules.filter { $0.value == .allow || $0.value == .ask && self.ask != nil }.keys.sorted()
    }

    private static func stricter(_ one: Rule, _ other: Rule) -> Rule {
        let strict: [Rule] = [.deny, .ask, .allow]
        return strict.first { $0 == one || $0 == other } ?? .deny
    }
}
