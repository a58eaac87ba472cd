// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Finds the lines of the values of a JSON text.
///
/// A decoder reports the path of an error; messages need the line. This parser accepts the same texts as the decoder,
/// but creates no values. It parses invalid JSON up to the first error.
package struct JSONLines {
    /// The line of each value, by its path of keys and indices.
    private var lines: [[String]: Int] = [:]
    /// The paths that occur twice. A decoder silently takes one of the values.
    package private(set) var duplicates: [[String]] = []
    /// The line of the first syntax error; `nil` if the text is valid JSON.
    package private(set) var brokenLine: Int?

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1

    private static let maxDepth = 64
    private struct Broken: Error {}

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        do {
            try self.value(at: [])
            self.skipSpace()
            if self.position < bytes.count { self.brokenLine = self.line }
        } catch {
            self.brokenLine = self.line
        }
    }

    /// Returns the line of the value at the path, or of its nearest enclosing value.
    package func line(of path: [String]) -> Int {
        for count in stride(from: path.count, through: 0, by: -1) {
            if let line = self.lines[Array(path.prefix(count))] { return line }
        }
        return 1
    }

    private mutating func value(at path: [String]) throws(Broken) {
        guard path.count <= Self.maxDepth else { throw Broken() }
        self.skipSpace()
        if self.lines[path] == nil { self.lines[path] = self.line }
        switch self.peek {
        case UInt8(ascii: "{"):
            try self.members(until: UInt8(ascii: "}")) { (lines: inout Self, _) throws(Broken) in
                lines.skipSpace()
                let line = lines.line
                let member = path + [try lines.string()]
                if lines.lines.updateValue(line, forKey: member) != nil { lines.duplicates.append(member) }
                lines.skipSpace()
                try lines.take(UInt8(ascii: ":"))
                try lines.value(at: member)
            }
        case UInt8(ascii: "["):
            try self.members(until: UInt8(ascii: "]")) { (lines: inout Self, index) throws(Broken) in
                try lines.value(at: path + ["\(index)"])
            }
        case UInt8(ascii: "\""):
            _ = try self.string()
        default:
            let start = self.position
            while let byte = self.peek, Self.isPartOfWord(byte) { self.position += 1 }
            let word = String(decoding: self.bytes[start..<self.position], as: UTF8.self)
            guard Self.isScalar(word) else { throw Broken() }
        }
    }

    private mutating func members(
        until end: UInt8,
        _ member: (inout Self, Int) throws(Broken) -> Void
    ) throws(Broken) {
        self.position += 1
        self.skipSpace()
        if self.peek == end { return self.position += 1 }
        for index in 0... {
            try member(&self, index)
            self.skipSpace()
            if self.peek == end { return self.position += 1 }
            try self.take(UInt8(ascii: ","))
        }
    }

    /// Parses a string and returns it without escapes, as the decoder reads it. Otherwise a key could occur twice in
    /// two spellings.
    private mutating func string() throws(Broken) -> String {
        try self.take(UInt8(ascii: "\""))
        var text: [UInt8] = []
        while let byte = self.peek, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw Broken() }
            self.position += 1
            if byte == UInt8(ascii: "\\") {
                try self.escape(into: &text)
            } else {
                text.append(byte)
            }
        }
        try self.take(UInt8(ascii: "\""))
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func escape(into text: inout [UInt8]) throws(Broken) {
        guard let byte = self.peek else { throw Broken() }
        self.position += 1
        switch byte {
        case UInt8(ascii: "u"):
            var units = [try self.codeUnit()]
            let rest = self.bytes[self.position...]
            if UTF16.isLeadSurrogate(units[0]), rest.starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) {
                self.position += 2
                units.append(try self.codeUnit())
            }
            text += String(decoding: units, as: UTF16.self).utf8
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        default: throw Broken()
        }
    }

    /// Parses the four digits of a `\u` escape.
    private mutating func codeUnit() throws(Broken) -> UInt16 {
        let digits = self.bytes[self.position...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw Broken() }
        self.position += 4
        return unit
    }

    /// Whether a word is a literal name or number (RFC 8259, sections 3 and 6) that fits into a `Double`.
    private static func isScalar(_ word: String) -> Bool {
        if ["true", "false", "null"].contains(word) { return true }
        let digits = word.hasPrefix("-") ? word.dropFirst() : word[...]
        guard let first = digits.first, first.isNumber, Double(word)?.isFinite == true else { return false }
        let second = digits.dropFirst().first
        let isPadded = first == "0" && second?.isNumber == true
        let isOpen = digits.last == "." || digits.contains(".e") || digits.contains(".E")
        return !isPadded && !isOpen && second != "x"
    }

    private var peek: UInt8? { self.position < self.bytes.count ? self.bytes[self.position] : nil }

    private mutating func take(_ byte: UInt8) throws(Broken) {
        guard self.peek == byte else { throw Broken() }
        self.position += 1
    }

    private mutating func skipSpace() {
        while let byte = self.peek, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
            if byte == 0x0A { self.line += 1 }
            self.position += 1
        }
    }

    private static func isPartOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
