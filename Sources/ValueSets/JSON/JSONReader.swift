// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Reads a value from JSON (RFC 8259), with tags, in one pass.
///
/// A JSON library hides losses: it keeps one of two equal keys, reads −0 as 0, and turns a number close to 0 into 0. It
/// also gives no offset of invalid input. This reader keeps −0 and reports the other cases as errors with an offset.
struct JSONReader {
    private let text: [UInt8]
    private var position = 0

    private init(_ text: [UInt8]) {
        self.text = text
    }

    /// Reads the one value that a JSON text contains.
    ///
    /// - Throws: ``ValueSetError`` with the offset of the error and the key path of the value that contains it.
    static func value(of text: [UInt8]) throws(ValueSetError) -> Value {
        var reader = JSONReader(text)
        let value = try reader.value(depth: 1)
        reader.skipSpace()
        guard reader.next == nil else { throw reader.fault("something follows the end of the value") }
        return value
    }

    private mutating func value(depth: Int) throws(ValueSetError) -> Value {
        self.skipSpace()
        switch self.next {
        case UInt8(ascii: "\""): return .string(try self.string())
        case UInt8(ascii: "{"): return try self.object(depth: depth)
        case UInt8(ascii: "["): return .array(try self.array(depth: depth).map(\.value))
        case UInt8(ascii: "t"): return try self.word("true", .bool(true))
        case UInt8(ascii: "f"): return try self.word("false", .bool(false))
        case UInt8(ascii: "n"): return try self.word("null", .null)
        case _ where self.isAtDigit, UInt8(ascii: "-"):
            let start = self.position
            let number = try self.number()
            do {
                return try number.value()
            } catch {
                throw .lossy(error, at: start)
            }
        default: throw self.fault("a value is missing")
        }
    }

    private mutating func word(_ word: String, _ value: Value) throws(ValueSetError) -> Value {
        for character in word.utf8 {
            guard self.next == character else { throw self.fault("the word \(word) is misspelt") }
            self.position += 1
        }
        return value
    }

    // MARK: Collections

    private mutating func enter(depth: Int) throws(ValueSetError) {
        guard depth <= ValueSetLimits.deepest else {
            throw .tooDeep(limits: ValueSetLimits(depth: .max), at: self.position)
        }
        self.position += 1
        self.skipSpace()
    }

    private mutating func array(depth: Int) throws(ValueSetError) -> [(value: Value, offset: Int)] {
        try self.enter(depth: depth)
        var array: [(value: Value, offset: Int)] = []
        guard !self.take("]") else { return array }
        while true {
            self.skipSpace()
            let start = self.position
            do {
                array.append((try self.value(depth: depth + 1), start))
            } catch {
                throw error.inside(index: array.count)
            }
            self.skipSpace()
            if self.take("]") { return array }
            guard self.take(",") else { throw self.fault("a comma or ] is missing") }
        }
    }

    /// Reads an object: a dictionary, or the tagged value if its only key is a tag.
    private mutating func object(depth: Int) throws(ValueSetError) -> Value {
        try self.enter(depth: depth)
        var entries: [ValueSet.Entry] = []
        var offsets: [Int] = []
        guard !self.take("}") else { return .dictionary([:]) }
        while true {
            let (written, start) = try self.key()
            guard let key = JSONTag.unescaped(written) else {
                guard entries.isEmpty, let tag = JSONTag(rawValue: written) else {
                    throw .unknownTag(written, at: start)
                }
                let value = try self.content(of: tag, depth: depth)
                self.skipSpace()
                if self.take("}") { return value }
                throw self.next == UInt8(ascii: ",")
                    ? .unknownTag(written, at: start) : self.fault("a comma or } is missing")
            }
            do {
                entries.append(ValueSet.Entry(key: key, value: try self.value(depth: depth + 1)))
                offsets.append(start)
            } catch {
                throw error.inside(key: key)
            }
            self.skipSpace()
            if self.take("}") { return .dictionary(try Self.valueSet(entries, offsets)) }
            guard self.take(",") else { throw self.fault("a comma or } is missing") }
        }
    }

    private mutating func key() throws(ValueSetError) -> (key: String, offset: Int) {
        self.skipSpace()
        let start = self.position
        guard self.next == UInt8(ascii: "\"") else { throw self.fault("a key in double quotes is missing") }
        let key = try self.string()
        self.skipSpace()
        guard self.take(":") else { throw self.fault("a colon is missing") }
        return (key, start)
    }

    private static func valueSet(_ entries: [ValueSet.Entry], _ offsets: [Int]) throws(ValueSetError) -> ValueSet {
        let set = ValueSet(unsorted: entries)
        guard set.count < entries.count else { return set }
        var seen: Set<[UInt8]> = []
        for (entry, offset) in zip(entries, offsets) where !seen.insert(Array(entry.key.utf8)).inserted {
            throw .duplicateKey(entry.key, at: offset)
        }
        return set
    }

    private mutating func content(of tag: JSONTag, depth: Int) throws(ValueSetError) -> Value {
        self.skipSpace()
        let start = self.position
        var value: Value?
        switch self.next {
        case UInt8(ascii: "\""): value = tag.value(of: try self.string())
        case UInt8(ascii: "[") where tag == .set: return .set(try self.set(depth: depth + 1))
        case _ where self.isAtDigit, UInt8(ascii: "-"):
            let number = try self.number()
            do {
                value = tag.value(of: try number.double())
            } catch {
                throw .lossy(error, at: start)
            }
        default: _ = try self.value(depth: depth + 1)
        }
        guard let value else { throw .invalidTagContent(tag, at: start) }
        return value
    }

    private mutating func set(depth: Int) throws(ValueSetError) -> Set<Value> {
        var set: Set<Value> = []
        for (index, element) in try self.array(depth: depth).enumerated() {
            guard set.insert(element.value).inserted else {
                throw .duplicateElement(at: element.offset).inside(index: index)
            }
        }
        return set
    }

    // MARK: Numbers

    private mutating func number() throws(ValueSetError) -> JSONNumber {
        let start = self.position
        _ = self.take("-")
        let whole = self.position
        if !self.take("0") { try self.digits() }
        var number = JSONNumber(whole: self.text[whole..<self.position], isNegative: whole > start)
        if self.take(".") {
            let fraction = self.position
            try self.digits()
            number.fraction = self.text[fraction..<self.position]
        }
        if self.take("e") || self.take("E") {
            let exponent = self.position
            _ = self.take("+") || self.take("-")
            try self.digits()
            number.exponent = self.text[exponent..<self.position]
        }
        return number
    }

    private mutating func digits() throws(ValueSetError) {
        guard self.isAtDigit else { throw self.fault("a digit is missing") }
        while self.isAtDigit { self.position += 1 }
    }

    private var isAtDigit: Bool { self.next.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false }

    // MARK: Strings

    private mutating func string() throws(ValueSetError) -> String {
        self.position += 1
        var string = ""
        var plain = self.position
        while let character = self.next {
            switch character {
            case UInt8(ascii: "\""):
                string += try self.text(of: plain..<self.position)
                self.position += 1
                return string
            case UInt8(ascii: "\\"):
                string += try self.text(of: plain..<self.position)
                string.unicodeScalars.append(try self.escape())
                plain = self.position
            case 0..<0x20: throw self.fault("a control character in a string must be written as an escape")
            default: self.position += 1
            }
        }
        throw self.fault("a string is not closed")
    }

    private func text(of range: Range<Int>) throws(ValueSetError) -> String {
        do {
            return String(copying: try UTF8Span(validating: self.text.span.extracting(range)))
        } catch {
            throw self.fault("the text is not UTF-8", at: range.lowerBound + error.byteOffsets.lowerBound)
        }
    }

    private mutating func escape() throws(ValueSetError) -> Unicode.Scalar {
        let start = self.position
        self.position += 1
        guard let character = self.next else { throw self.fault("a string is not closed") }
        self.position += 1
        switch character {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(character)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw self.fault("there is no such escape", at: start)
        }
        var code = UInt32(try self.codeUnit())
        if UTF16.isLeadSurrogate(UInt16(code)), self.take("\\"), self.take("u") {
            let trail = try self.codeUnit()
            // Without a trail surrogate, the lead surrogate remains, which is not a scalar.
            if UTF16.isTrailSurrogate(trail) { code = 0x10000 + (code - 0xD800) << 10 + (UInt32(trail) - 0xDC00) }
        }
        guard let scalar = Unicode.Scalar(code) else { throw self.fault("an escape is half of a character", at: start) }
        return scalar
    }

    private mutating func codeUnit() throws(ValueSetError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = self.next.flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }) else {
                throw self.fault("an escape needs four hex digits")
            }
            unit = unit << 4 | UInt16(digit)
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

    private func fault(_ what: String) -> ValueSetError {
        self.fault(self.next == nil ? "it ends, but \(what)" : what, at: self.position)
    }

    /// Reports invalid JSON with the place of the first error. Never quotes the text.
    private func fault(_ what: String, at offset: Int) -> ValueSetError {
        let before = self.text.prefix(offset)
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        // Count characters, not bytes, so that the column matches an editor's.
        let column = before[start...].count { $0 & 0xC0 != 0x80 } + 1
        return ValueSetError(
            .invalidJSON,
            "The text is not valid JSON: at line \(line), column \(column) \(what).",
            byteOffset: offset
        )
    }
}
