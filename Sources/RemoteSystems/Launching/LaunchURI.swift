// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// A URI that may be given to programs: absolute, and in the narrow form of RFC 3986.
///
/// Whoever gets one can rely on it: it begins with a scheme, and so with a letter; it holds no white space, no control
/// characters, no quotes, nothing beyond ASCII, and no NUL, percent-encoded or not (RFC 3986, section 7.3); it is at most
/// 8192 bytes long. It may hold characters that mean something to a shell (`$`, `;`, `&`): it is an argument, never text
/// to be parsed.
public struct LaunchURI: Sendable, Hashable, CustomStringConvertible {
    /// The most bytes a URI may have.
    public static let maxBytes = 8192
    /// The most bytes a scheme may have.
    public static let maxSchemeBytes = 64

    /// The URI as it was given.
    public let description: String
    /// What is before the first colon, in lower case.
    public let scheme: String

    /// Checks a URI.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse`` that says what is wrong, without showing it.
    public init(_ text: String) throws(RemoteSystemError) {
        do throws(Flaw) {
            self.scheme = try Self.check(text.utf8)
            self.description = text
        } catch {
            throw RemoteSystemError(.misuse, error.sentence, side: .local)
        }
    }

    /// What is behind the scheme and its colon.
    public var afterScheme: Substring {
        self.description.drop { $0 != ":" }.dropFirst()
    }

    /// Whether a text is a scheme, in lower or upper case (RFC 3986, section 3.1).
    package static func isScheme(_ text: some StringProtocol) -> Bool {
        guard let first = text.utf8.first, isLetter(first), text.utf8.count <= Self.maxSchemeBytes else {
            return false
        }
        return text.utf8.allSatisfy { isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) }
    }
}

// MARK: - The grammar

extension LaunchURI {
    enum Flaw: Error {
        case tooLong, noScheme, character, percent, nul, brackets, hashes, authority

        var sentence: String {
            switch self {
            case .tooLong: "The URI is longer than \(LaunchURI.maxBytes) bytes."
            case .noScheme: "The URI does not begin with a scheme such as https: (RFC 3986)."
            case .character:
                "The URI holds a character that must be percent-encoded in one (RFC 3986): white space, a control "
                    + "character, a quote, or one beyond ASCII."
            case .percent: "The URI holds a percent sign without two hexadecimal digits behind it."
            case .nul: "The URI holds an encoded NUL (%00), which programs cannot be given (RFC 3986, section 7.3)."
            case .brackets: "The URI holds square brackets elsewhere than around an IPv6 address (RFC 3986)."
            case .hashes: "The URI holds more than one '#' (RFC 3986)."
            case .authority: "The URI's host, port or user is malformed (RFC 3986, section 3.2)."
            }
        }
    }

    /// The scheme in lower case.
    private static func check(_ bytes: String.UTF8View) throws(Flaw) -> String {
        guard bytes.count <= Self.maxBytes else { throw .tooLong }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { throw .noScheme }
        let scheme = String(decoding: bytes[..<colon], as: UTF8.self)
        guard self.isScheme(scheme) else { throw .noScheme }
        let rest = Array(bytes[bytes.index(after: colon)...])
        try self.checkCharacters(rest)
        try self.checkBrackets(rest)
        guard rest.count(where: { $0 == UInt8(ascii: "#") }) <= 1 else { throw .hashes }
        // Whatever the checks above, which say more, leave over.
        guard URIGrammar.isURI(String(decoding: bytes, as: UTF8.self)) else { throw .authority }
        return scheme.lowercased()
    }

    private static func checkCharacters(_ bytes: [UInt8]) throws(Flaw) {
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "%") {
                let digits = bytes[(index + 1)...].prefix(2)
                guard digits.count == 2, digits.allSatisfy(isHexDigit) else { throw .percent }
                guard !digits.elementsEqual("00".utf8) else { throw .nul }
            } else {
                guard isLetter(byte) || isDigit(byte) || Self.marks.contains(byte) else { throw .character }
            }
        }
    }

    /// Unreserved marks, general and sub-delimiters.
    private static let marks = Set("-._~:/?#[]@!$&'()*+,;=".utf8)

    /// Square brackets are for an IP literal as the host, and for nothing else.
    private static func checkBrackets(_ bytes: [UInt8]) throws(Flaw) {
        let brackets = bytes.indices.filter { bytes[$0] == UInt8(ascii: "[") || bytes[$0] == UInt8(ascii: "]") }
        guard let open = brackets.first, let close = brackets.last else { return }
        guard brackets.count == 2, bytes[open] == UInt8(ascii: "["), bytes[close] == UInt8(ascii: "]"),
            bytes.starts(with: "//".utf8)
        else { throw .brackets }
        let end = bytes[2...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
        guard close < end, open == 2 || bytes[open - 1] == UInt8(ascii: "@"),
            bytes[(close + 1)..<end].first.map({ $0 == UInt8(ascii: ":") }) ?? true,
            bytes[(close + 1)..<end].dropFirst().allSatisfy(isDigit),
            bytes[(open + 1)..<close].allSatisfy({
                isHexDigit($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
            }),
            open + 1 < close
        else { throw .brackets }
    }
}

private func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
}

private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

private func isHexDigit(_ byte: UInt8) -> Bool {
    isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
}
