// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// A peer's text in a sentence could end its part of the sentence, and name another system or application than the one
// that the user decides about.

extension String {
    /// The maximum length of a text in quotation marks, in characters. A system's name with its id fits.
    private static let maxQuoted = 64

    /// The text in quotation marks, in one line. A longer one is cut.
    ///
    /// It has no quotation marks of its own but apostrophes, so a reader sees where it ends.
    package var quoted: String {
        let scalars = self.unicodeScalars.map { scalar -> Unicode.Scalar in
            scalar.isControlCharacter ? " " : scalar.isQuotationMark ? "'" : scalar
        }
        let line = String(String.UnicodeScalarView(scalars)).split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        return "“\(line.count > Self.maxQuoted ? "\(line.prefix(Self.maxQuoted - 1))…" : line)”"
    }

    /// The id as it is, or in quotation marks if it has other characters than ASCII letters, digits, `.`, `-` and `_`.
    package var quotedUnlessPlain: String {
        let isPlain = self.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", ".", "-", "_": true
            default: false
            }
        }
        return isPlain && !self.isEmpty ? self : self.quoted
    }

    /// Whether the text has quotation marks other than apostrophes.
    package var hasQuotationMarks: Bool { self.unicodeScalars.contains(where: \.isQuotationMark) }
}

extension Unicode.Scalar {
    /// Whether the scalar is a quotation mark, or looks like one, and is no apostrophe.
    fileprivate var isQuotationMark: Bool {
        switch self {
        case "'", "\u{2018}", "\u{2019}": false
        case "\u{02BA}", "\u{02DD}", "\u{02EE}", "\u{2033}", "\u{2036}", "\u{275D}", "\u{275E}", "\u{3003}": true
        default: self.properties.isQuotationMark
        }
    }
}
