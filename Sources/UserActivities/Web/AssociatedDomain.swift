// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A domain whose pages an application claims, as its manifest names it: `activitycontinuation:example.com`, or
/// `activitycontinuation:*.example.com` for the hosts below it.
package struct AssociatedDomain: Sendable, Hashable, CustomStringConvertible {
    /// The maximum number of claims of one application.
    package static let maxClaims = 64
    /// The only service.
    package static let service = "activitycontinuation"

    /// The host, in lower case; of a wildcard the part after `*.`.
    package let host: String
    /// Whether the claim is for the hosts below ``host``, and not for the host itself.
    package let isWildcard: Bool

    package var description: String { "\(Self.service):\(self.isWildcard ? "*." : "")\(self.host)" }

    /// Why a text is not a claim, as a phrase after the key's name.
    package struct Flaw: Error, Hashable {
        package let text: String
    }

    package init(_ text: String) throws(Flaw) {
        let shown = "'\(text.prefix(80))'"
        guard let colon = text.firstIndex(of: ":"), text[..<colon] == Self.service else {
            throw Flaw(text: "takes entries such as \"\(Self.service):example.com\"; \(shown) is none")
        }
        var host = text[text.index(after: colon)...]
        self.isWildcard = host.hasPrefix("*.")
        if self.isWildcard { host = host.dropFirst(2) }
        if let flaw = Self.flaw(ofHost: host) { throw Flaw(text: "has \(shown): \(flaw)") }
        self.host = String(host)
    }

    /// Whether the application claims the pages of a host.
    ///
    /// - Parameter host: a host of the form that ``isHost(_:)`` accepts.
    package func claims(_ host: String) -> Bool {
        self.isWildcard
            ? host.utf8.count > self.host.utf8.count + 1 && host.hasSuffix(".\(self.host)") : host == self.host
    }

    /// Whether a text is a host that can be claimed: a name of the DNS in lower case, with at least one dot.
    package static func isHost(_ text: String) -> Bool { Self.flaw(ofHost: text[...]) == nil }

    /// The reason why a text is no host that can be claimed; `nil` if it is one.
    private static func flaw(ofHost text: Substring) -> String? {
        if text.contains(where: { "/:@?#[]".contains($0) }) {
            return "a claim is a host only, without a scheme, port or path"
        }
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else {
            return "write an international name in its ASCII form, with 'xn--'"
        }
        guard !text.utf8.contains(where: { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }) else {
            return "write the host in lower case"
        }
        let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard text.utf8.count <= 253, labels.allSatisfy(Self.isLabel) else {
            return "a host has labels of 1 to 63 letters, digits and '-', and at most 253 bytes"
        }
        guard labels.count > 1, let last = labels.last, !last.allSatisfy(Self.isDigit) else {
            return "a host is a name with at least one dot, and no IP address"
        }
        return nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// A label of RFC 1123, section 2.1, in lower case.
    private static func isLabel(_ label: Substring.UTF8View.SubSequence) -> Bool {
        let hyphen = UInt8(ascii: "-")
        guard (1...63).contains(label.count), label.first != hyphen else { return false }
        var last = hyphen
        for byte in label {
            guard byte == hyphen || Self.isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) else {
                return false
            }
            last = byte
        }
        return last != hyphen
    }
}
