// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Checks text against the rule `URI` of RFC 3986, appendix A.
///
/// Foundation's parser is not strict enough: it accepts an empty scheme (`:`, `://x`) and any text in brackets
/// (`http://[zz]/`).
package enum URIGrammar {
    /// Whether the text is a URI with a scheme. A relative reference is not one.
    package static func isURI(_ text: some StringProtocol) -> Bool {
        let bytes = Array(text.utf8)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), isScheme(bytes[..<colon]) else { return false }
        var rest = bytes[(colon + 1)...]
        if let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
            guard has(rest[(hash + 1)...], only: Self.query) else { return false }
            rest = rest[..<hash]
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            guard has(rest[(mark + 1)...], only: Self.query) else { return false }
            rest = rest[..<mark]
        }
        guard rest.starts(with: "//".utf8) else { return has(rest, only: Self.path) }
        rest = rest.dropFirst(2)
        let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        return isAuthority(rest[..<end]) && has(rest[end...], only: Self.path)
    }

    /// Whether the text is a URI scheme (RFC 3986, section 3.1).
    package static func isScheme(_ text: some StringProtocol) -> Bool { isScheme(Array(text.utf8)[...]) }

    private typealias Bytes = ArraySlice<UInt8>

    // MARK: Parts

    private static func isScheme(_ bytes: Bytes) -> Bool {
        guard let first = bytes.first, isLetter(first) else { return false }
        return bytes.allSatisfy { isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) }
    }

    private static func isAuthority(_ bytes: Bytes) -> Bool {
        var host = bytes
        if let at = bytes.firstIndex(of: UInt8(ascii: "@")) {
            guard has(bytes[..<at], only: Self.userInformation) else { return false }
            host = bytes[(at + 1)...]
        }
        guard host.first == UInt8(ascii: "[") else {
            let colon = host.firstIndex(of: UInt8(ascii: ":")) ?? host.endIndex
            return has(host[..<colon], only: Self.name) && host[colon...].dropFirst().allSatisfy(isDigit)
        }
        guard let close = host.firstIndex(of: UInt8(ascii: "]")) else { return false }
        let port = host[(close + 1)...]
        guard port.isEmpty || port.first == UInt8(ascii: ":"), port.dropFirst().allSatisfy(isDigit) else {
            return false
        }
        let literal = host[(host.startIndex + 1)..<close]
        return isIPv6(literal) || isFutureAddress(literal)
    }

    private static func isFutureAddress(_ bytes: Bytes) -> Bool {
        guard let version = bytes.first, version | 0x20 == UInt8(ascii: "v"),
            let dot = bytes.firstIndex(of: UInt8(ascii: "."))
        else { return false }
        let number = bytes[(bytes.startIndex + 1)..<dot]
        let rest = bytes[(dot + 1)...]
        return !number.isEmpty && number.allSatisfy(isHexDigit) && !rest.isEmpty
            && rest.allSatisfy { Self.userInformation.contains($0) }
    }

    /// Eight groups of one to four hexadecimal digits. The last two groups may be an IPv4 address. `::` may replace one
    /// or more zero groups, once.
    private static func isIPv6(_ bytes: Bytes) -> Bool {
        let colon = UInt8(ascii: ":")
        guard let gap = bytes.indices.first(where: { bytes[$0...].starts(with: "::".utf8) }) else {
            return groups(bytes, mayEndInIPv4: true) == 8
        }
        let (before, after) = (bytes[..<gap], bytes[(gap + 2)...])
        guard before.last != colon, after.first != colon,
            let first = before.isEmpty ? 0 : groups(before, mayEndInIPv4: false),
            let last = after.isEmpty ? 0 : groups(after, mayEndInIPv4: true)
        else { return false }
        return first + last <= 7
    }

    /// The number of 16-bit groups; `nil` if one of them is invalid.
    private static func groups(_ bytes: Bytes, mayEndInIPv4: Bool) -> Int? {
        let parts = bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        var count = 0
        for (index, part) in parts.enumerated() {
            if (1...4).contains(part.count), part.allSatisfy(isHexDigit) {
                count += 1
            } else if mayEndInIPv4, index == parts.count - 1, isIPv4(part) {
                count += 2
            } else {
                return nil
            }
        }
        return count
    }

    private static func isIPv4(_ bytes: Bytes) -> Bool {
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                guard (1...3).contains(part.count), part.allSatisfy(isDigit) else { return false }
                guard part.count == 1 || part.first != UInt8(ascii: "0") else { return false }
                return part.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } <= 255
            }
    }

    // MARK: Characters

    private static let unreserved = letters.union("0123456789-._~".utf8)
    private static let letters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    private static let name = unreserved.union("!$&'()*+,;=".utf8)
    private static let userInformation = name.union(":".utf8)
    private static let path = name.union(":@/".utf8)
    private static let query = path.union("?".utf8)

    /// Whether the bytes are only these characters and percent-encoded bytes.
    private static func has(_ bytes: Bytes, only allowed: Set<UInt8>) -> Bool {
        var index = bytes.startIndex
        while index < bytes.endIndex {
            if bytes[index] == UInt8(ascii: "%") {
                let digits = bytes[(index + 1)...].prefix(2)
                guard digits.count == 2, digits.allSatisfy(isHexDigit) else { return false }
                index += 3
            } else {
                guard allowed.contains(bytes[index]) else { return false }
                index += 1
            }
        }
        return true
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }
}
