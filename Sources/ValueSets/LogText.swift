// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Lines of a log consist of `key=value` and a message. Operators search them for a key and its value, so a text of a
// peer must contain no `key=` that such a search finds, not even in quotes, and must not end its value or the line.

extension String {
    /// The text as the value of a key: as it is, or in quotes if it could be read as more than one value.
    ///
    /// In quotes it is a JSON string, in which `=` and control characters are escaped.
    package var logValue: String {
        guard self.isEmpty || self.unicodeScalars.contains(where: \.needsQuotesInLog) else { return self }
        return "\"\(self.unicodeScalars.map(\.escapedInQuotes).joined())\""
    }

    /// The text as a message, without quotes. `=` and control characters are escaped.
    package var logMessage: String {
        guard self.unicodeScalars.contains(where: \.isEscapedInLog) else { return self }
        return self.unicodeScalars.map { $0.isEscapedInLog ? $0.escapedUnits : String($0) }.joined()
    }
}

extension Unicode.Scalar {
    fileprivate var isEscapedInLog: Bool { self == "=" || self.isControlCharacter }

    fileprivate var needsQuotesInLog: Bool {
        switch self {
        case "\"", "\\", "[", "]": true
        default: self.isEscapedInLog || self.properties.isWhitespace
        }
    }

    fileprivate var escapedInQuotes: String {
        switch self {
        case "\"", "\\": "\\\(self)"
        default: self.isEscapedInLog ? self.escapedUnits : String(self)
        }
    }

    /// The scalar as JSON escapes it, such as `\u003d`.
    fileprivate var escapedUnits: String {
        String(self).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}
