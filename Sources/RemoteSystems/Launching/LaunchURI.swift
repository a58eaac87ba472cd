// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// A URI that may be passed to programs: absolute, and strictly by RFC 3986.
///
/// A value guarantees that the URI begins with a scheme, and so with a letter; that it contains no white space, no
/// control characters, no quotes, nothing beyond ASCII, and no NUL, percent-encoded or not (RFC 3986, section 7.3); and
/// that it is at most 8192 bytes long. It may contain characters with a meaning to a shell (`$`, `;`, `&`): pass it as
/// an argument, never as text to be parsed.
public struct LaunchURI: Sendable, Hashable, CustomStringConvertible {
    /// The maximum length of a URI, in bytes.
    public static let maxBytes = 8192
    /// The maximum length of a scheme, in bytes.
    public static let maxSchemeBytes = 64

    /// The unchanged text of the URI.
    public let description: String
    /// The part before the first colon, in lower case.
    public let scheme: String

    /// Checks a URI.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse``. Its message names the error without
    ///   quoting the URI.
    public init(_ text: String) throws(RemoteSystemError) {
        do throws(Flaw) {
            self.scheme = try Self.check(text.utf8)
            self.description = text
        } catch {
            throw RemoteSystemError(.misuse, error.sentence, side: .local)
        }
    }

    /// The part after the scheme and its colon.
    public var afterScheme: Substring {
        self.description.drop { $0 != ":" }.dropFirst()
    }

    /// Returns whether a text is a scheme, in lower or upper case (RFC 3986, section 3.1).
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
                "The URI contains a character that must be percent-encoded (RFC 3986): white space, a control "
                    + "character, a quote, or one beyond ASCII."
            case .percent: "The URI contains a percent sign without two hexadecimal digits behind it."
            case .nul: "The URI contains an encoded NUL (%00), which programs cannot receive (RFC 3986, section 7.3)."
            case .brackets: "The URI contains square brackets that do not enclose an IPv6 address (RFC 3986)."
            case .hashes: "The URI contains more than one '#' (RFC 3986)."
            case .authority: "The URI's host, port or user is malformed (RFC 3986, section 3.2)."
            }
        }
    }

    /// Checks a URI and returns its scheme in lower case.
    private static func check(_ bytes: String.UTF8View) throws(Flaw) -> String {
        guard bytes.count <= Self.maxBytes else { throw .tooLong }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { throw .noScheme }
        let scheme = String(decoding: bytes[..<colon], as: UTF8.self)
        guard self.isScheme(scheme) else { throw .noScheme }
        let rest = Array(bytes[bytes.index(after: colon)...])
        try self.checkCharacters(rest)
        try self.checkBrackets(rest)
        guard rest.count(where: { $0 == UInt8(ascii: "#") }) <= 1 else { throw .hashes }
        // The full grammar comes last, because the checks above have more precise messages.
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

    /// Unreserved marks, general delimiters and sub-delimiters (RFC 3986, section 2).
    private static let marks = Set("-._~:/?#[]@!$&'()*+,;=".utf8)

    /// Square brackets may only enclose an IP literal as the host.
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
