// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Finds where a text stops being JSON (RFC 8259).
///
/// Foundation's decoder says only that it does somewhere, and takes some that is none, such as a comma behind the last
/// element. This one keeps nothing, so it is cheap beside decoding; it looks at the form alone, not at what it means.
struct JSONScanner {
    /// Where the text breaks the grammar, and what is wrong there.
    struct Fault: Error, Equatable {
        var offset: Int
        var what: String
    }

    private let text: [UInt8]
    private var position = 0
    /// The collections around the present place: true for an object, false for an array.
    private var isInObject: [Bool] = []

    private init(_ text: [UInt8]) {
        self.text = text
    }

    /// - Throws: ``Fault`` for the first byte that cannot stand where it does.
    static func check(_ text: [UInt8]) throws(Fault) {
        var scanner = JSONScanner(text)
        try scanner.scan()
    }

    private mutating func scan() throws(Fault) {
        repeat {
            try self.beginValue()
            try self.endValues()
        } while !self.isInObject.isEmpty
        self.skipSpace()
        if self.position < self.text.count { throw self.fault("something follows the end of the value") }
    }

    // MARK: Structure

    /// Scans up to the end of a scalar or an empty collection, through the beginnings of the collections it is in.
    private mutating func beginValue() throws(Fault) {
        while true {
            self.skipSpace()
            switch self.next {
            case UInt8(ascii: "["):
                self.position += 1
                self.skipSpace()
                self.isInObject.append(false)
                if self.take("]") {
                    self.isInObject.removeLast()
                    return
                }
            case UInt8(ascii: "{"):
                self.position += 1
                self.skipSpace()
                self.isInObject.append(true)
                if self.take("}") {
                    self.isInObject.removeLast()
                    return
                }
                try self.key()
            default:
                return try self.scalar()
            }
        }
    }

    /// Scans what stands behind a value: the ends of collections, then a comma, and the key after it.
    private mutating func endValues() throws(Fault) {
        while let isInObject = self.isInObject.last {
            self.skipSpace()
            if self.take(isInObject ? "}" : "]") {
                self.isInObject.removeLast()
            } else if self.take(",") {
                return isInObject ? try self.key() : ()
            } else {
                throw self.fault(isInObject ? "a comma or } is missing" : "a comma or ] is missing")
            }
        }
    }

    private mutating func key() throws(Fault) {
        self.skipSpace()
        guard self.next == UInt8(ascii: "\"") else { throw self.fault("a key in double quotes is missing") }
        try self.string()
        self.skipSpace()
        guard self.take(":") else { throw self.fault("a colon is missing") }
    }

    // MARK: Scalars

    private mutating func scalar() throws(Fault) {
        switch self.next {
        case UInt8(ascii: "\""): try self.string()
        case _ where self.isAtDigit, UInt8(ascii: "-"): try self.number()
        case UInt8(ascii: "t"): try self.word("true")
        case UInt8(ascii: "f"): try self.word("false")
        case UInt8(ascii: "n"): try self.word("null")
        default: throw self.fault("a value is missing")
        }
    }

    private mutating func word(_ word: String) throws(Fault) {
        for character in word.utf8 {
            guard self.next == character else {
                throw self.fault("the word \(word) is misspelt")
            }
            self.position += 1
        }
    }

    private mutating func number() throws(Fault) {
        _ = self.take("-")
        if !self.take("0") { try self.digits() }
        if self.take(".") { try self.digits() }
        if self.take("e") || self.take("E") {
            _ = self.take("+") || self.take("-")
            try self.digits()
        }
    }

    private mutating func digits() throws(Fault) {
        guard self.isAtDigit else { throw self.fault("a digit is missing") }
        while self.isAtDigit { self.position += 1 }
    }

    private var isAtDigit: Bool { self.next.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false }

    private mutating func string() throws(Fault) {
        self.position += 1
        while let character = self.next {
            switch character {
            case UInt8(ascii: "\""):
                self.position += 1
                return
            case UInt8(ascii: "\\"): try self.escape()
            case 0..<0x20: throw self.fault("a control character in a string must be written as an escape")
            default: self.position += 1
            }
        }
        throw self.fault("a string is not closed")
    }

    private mutating func escape() throws(Fault) {
        let start = self.position
        self.position += 1
        guard let character = self.next else { throw self.fault("a string is not closed") }
        self.position += 1
        if "\"\\/bfnrt".utf8.contains(character) { return }
        guard character == UInt8(ascii: "u") else {
            throw Fault(offset: start, what: "there is no such escape")
        }
        switch try self.codeUnit() {
        case 0xD800..<0xDC00:
            guard self.take("\\"), self.take("u"), (0xDC00..<0xE000).contains(try self.codeUnit()) else {
                throw Fault(offset: start, what: "an escape is half of a character")
            }
        case 0xDC00..<0xE000: throw Fault(offset: start, what: "an escape is half of a character")
        default: break
        }
    }

    private mutating func codeUnit() throws(Fault) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = self.next.flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }) else {
                throw self.fault("an escape needs four hex digits")
            }
            unit = unit << 4 | UInt32(digit)
            self.position += 1
        }
        return unit
    }

    // MARK: Bytes

    private var next: UInt8? { self.position < self.text.count ? self.text[self.position] : nil }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard self.next == UInt8(ascii: character) else { return false }
        self.position += 1
        return true
    }

    private mutating func skipSpace() {
        while let character = self.next, [0x20, 0x0A, 0x0D, 0x09].contains(character) { self.position += 1 }
    }

    private func fault(_ what: String) -> Fault {
        Fault(offset: self.position, what: self.next == nil ? "it ends, but \(what)" : what)
    }
}

extension ValueSetError {
    /// The text is not JSON, with the place of the first thing that is wrong: never with what stands there.
    init(_ fault: JSONScanner.Fault, in text: [UInt8]) {
        let before = text.prefix(fault.offset)
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        // Characters, not bytes: whoever looks for the place counts what an editor shows.
        let column = before[start...].count { $0 & 0xC0 != 0x80 } + 1
        self.init(
            .invalidJSON,
            "The text is not valid JSON: at line \(line), column \(column) \(fault.what).",
            byteOffset: fault.offset
        )
    }
}
