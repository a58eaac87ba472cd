// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An address on the command line: `host:port`, `[ipv6]:port`, or an IP address without a port.
struct SystemAddress: Sendable, Hashable {
    var host: String
    var port: Int?

    /// Returns nil if the text is a system's name or the beginning of its id.
    init?(_ text: String) {
        guard Self.mistake(in: text) == nil else { return nil }
        let (host, port) = Self.split(text)
        guard Self.isIPv4(host) || Self.isIPv6(host) || Self.port(port) != nil && !host.isEmpty else { return nil }
        self.host = String(host)
        self.port = Self.port(port)
    }

    /// The error message for a malformed address; nil for addresses and names.
    static func mistake(in text: String) -> String? {
        let (host, port) = Self.split(text)
        if text.hasPrefix("["), !Self.isIPv6(host) || text.last != "]" && port == nil {
            return "\(text) is not a valid address. Write IPv6 as [2001:db8::1]:PORT."
        }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        if parts.count == 4, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isNumber) }), !Self.isIPv4(host) {
            return "\(text): each number of an IPv4 address is 0 to 255."
        }
        let isAddress = Self.isIPv4(host) || Self.isIPv6(host)
        if let port, Self.port(port) == nil, isAddress || !port.isEmpty && port.allSatisfy(\.isNumber) {
            return "\(text): a port is 1 to 65535."
        }
        return nil
    }

    /// Splits the text into the host and the unparsed port.
    private static func split(_ text: String) -> (host: Substring, port: Substring?) {
        if text.hasPrefix("["), let end = text.lastIndex(of: "]") {
            let host = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            return (host, rest.hasPrefix(":") ? rest.dropFirst() : nil)
        }
        // Text with more than one colon is an IPv6 address or a name.
        guard let colon = text.firstIndex(of: ":"), text.lastIndex(of: ":") == colon else { return (text[...], nil) }
        return (text[..<colon], text[text.index(after: colon)...])
    }

    private static func port(_ text: Substring?) -> Int? {
        guard let text, text.allSatisfy(\.isNumber) else { return nil }
        return Int(text).flatMap { (1...65_535).contains($0) ? $0 : nil }
    }

    private static func isIPv4(_ text: Substring) -> Bool {
        var address = in_addr()
        return unsafe inet_pton(AF_INET, String(text), &address) == 1
    }

    /// Whether the text is an IPv6 address, with or without a zone.
    private static func isIPv6(_ text: Substring) -> Bool {
        var address = in6_addr()
        return unsafe inet_pton(AF_INET6, String(text.prefix { $0 != "%" }), &address) == 1
    }
}
