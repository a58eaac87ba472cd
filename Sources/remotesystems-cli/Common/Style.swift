// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

extension Unicode.Scalar {
    fileprivate var isPrintable: Bool {
        switch self.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: false
        default: true
        }
    }
}

/// Colours text on a terminal, unless `NO_COLOR` is set (https://no-color.org) or `TERM` is `dumb`.
struct Style: Sendable {
    enum Colour: Int, Sendable {
        case red = 31
        case green = 32
        case yellow = 33
        case grey = 90
    }

    let isColoured: Bool

    init(descriptor: Int32) {
        let environment = ProcessInfo.processInfo.environment
        self.isColoured =
            isatty(descriptor) == 1 && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    func callAsFunction(_ colour: Colour, _ text: String) -> String {
        self.isColoured ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }
}

extension String {
    /// The text with U+FFFD in place of control, formatting and other invisible characters.
    ///
    /// Names come from other machines and could contain terminal escape sequences or bidirectional controls.
    var printable: String {
        String(String.UnicodeScalarView(self.unicodeScalars.map { $0.isPrintable ? $0 : "\u{FFFD}" }))
    }

    /// The text in one line: line breaks and tabs are spaces.
    var inOneLine: String {
        self.split { $0.isNewline || $0 == "\t" }.joined(separator: " ")
    }

    /// The JSON text with the characters escaped that ``printable`` replaces: a parser reads the same text, and a
    /// terminal gets no control characters.
    var printableJSON: String {
        guard !self.unicodeScalars.allSatisfy(\.isPrintable) else { return self }
        return self.unicodeScalars.map { scalar in
            guard !scalar.isPrintable else { return String(scalar) }
            return UTF16.encode(scalar)?.map { unit in
                let digits = String(unit, radix: 16, uppercase: true)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined() ?? ""
        }.joined()
    }

    /// The width of the text on a terminal, in columns.
    var columns: Int { self.reduce(0) { $0 + $1.columns } }

    /// The text in exactly this many columns: padded with spaces, or cut with an ellipsis.
    ///
    /// - Parameter isCut: Whether a longer text is cut. In files and pipes it is not, so that it can be copied.
    func padded(to width: Int, isCut: Bool = true) -> String {
        let text = isCut ? self.cut(to: width) : self
        return text + String(repeating: " ", count: max(0, width - text.columns))
    }

    /// The text in at most this many columns, cut with an ellipsis if it is longer.
    func cut(to width: Int) -> String {
        guard self.columns > width else { return self }
        var result = ""
        var used = 0
        for character in self {
            guard used + character.columns < width else { break }
            result.append(character)
            used += character.columns
        }
        return result + "…"
    }

    /// The text in lines of at most `width` columns, broken between words.
    func wrapped(to width: Int = 80, indent: String = "") -> String {
        var lines: [String] = []
        var line = ""
        for word in self.split(separator: " ", omittingEmptySubsequences: true) {
            if !line.isEmpty, indent.columns + line.columns + 1 + String(word).columns > width {
                lines.append(indent + line)
                line = ""
            }
            line += line.isEmpty ? word : " \(word)"
        }
        if !line.isEmpty { lines.append(indent + line) }
        return lines.joined(separator: "\n")
    }
}

extension Character {
    /// The approximate width in columns: 2 for East Asian wide characters and emoji (Unicode Standard Annex 11).
    fileprivate var columns: Int {
        guard let first = self.unicodeScalars.first else { return 0 }
        switch first.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return 2
        default:
            return 1
        }
    }
}
