// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import ValueSets

struct Refusal: Sendable, CustomTestStringConvertible {
    let name: String
    let hex: String
    let code: ValueSetError.Code
    let offset: Int?
    var keyPath = ""

    var testDescription: String { name }
}

@Suite struct CBORDecodingTests {
    static let refusals: [Refusal] = [
        Refusal(name: "nothing", hex: "", code: .truncated, offset: 0),
        Refusal(name: "bytes behind the value", hex: "a000", code: .trailingBytes, offset: 1),
        Refusal(name: "key that is an integer", hex: "a10102", code: .typeMismatch, offset: 1),
        Refusal(name: "key that is bytes", hex: "a1416102", code: .typeMismatch, offset: 1),
        Refusal(name: "key twice", hex: "a2616101616102", code: .duplicateKey, offset: 4, keyPath: "a"),
        Refusal(name: "keys out of order", hex: "a2616201616102", code: .notCanonical, offset: 4, keyPath: "a"),
        Refusal(name: "longer key first", hex: "a262616101616202", code: .notCanonical, offset: 5, keyPath: "b"),
        Refusal(
            name: "key of 12 bytes, order in its last",
            hex: "a2" + "6c" + String(repeating: "61", count: 11) + "6201"
                + "6c" + String(repeating: "61", count: 12) + "02",
            code: .notCanonical,
            offset: 15,
            keyPath: "aaaaaaaaaaaa"
        ),
        Refusal(name: "integer in too many bytes", hex: "1817", code: .notCanonical, offset: 0),
        Refusal(name: "integer in 3 bytes for 2", hex: "1900ff", code: .notCanonical, offset: 0),
        Refusal(name: "integer in 5 bytes for 3", hex: "1a0000ffff", code: .notCanonical, offset: 0),
        Refusal(name: "integer in 9 bytes for 5", hex: "1b00000000ffffffff", code: .notCanonical, offset: 0),
        Refusal(name: "negative integer in too many bytes", hex: "3800", code: .notCanonical, offset: 0),
        Refusal(name: "length in too many bytes", hex: "780161", code: .notCanonical, offset: 0),
        Refusal(name: "tag in too many bytes", hex: "d80100", code: .notCanonical, offset: 0),
        Refusal(name: "integer below Int64.min", hex: "3b8000000000000000", code: .notRepresentable, offset: 0),
        Refusal(name: "single for half", hex: "fa3f800000", code: .notCanonical, offset: 0),
        Refusal(name: "double for half", hex: "fb3ff0000000000000", code: .notCanonical, offset: 0),
        Refusal(name: "double for single", hex: "fb40f86a0000000000", code: .notCanonical, offset: 0),
        Refusal(name: "another NaN", hex: "f97e01", code: .notCanonical, offset: 0),
        Refusal(name: "a NaN in single", hex: "fa7fc00000", code: .notCanonical, offset: 0),
        Refusal(name: "reserved head", hex: "1c", code: .unsupported, offset: 0),
        Refusal(name: "break", hex: "ff", code: .unsupported, offset: 0),
        Refusal(name: "undefined", hex: "f7", code: .unsupported, offset: 0),
        Refusal(name: "simple value in two bytes", hex: "f818", code: .unsupported, offset: 0),
        Refusal(name: "big integer", hex: "c249010000000000000000", code: .unsupported, offset: 0),
        Refusal(name: "invalid UTF-8", hex: "62c328", code: .invalidText, offset: 0),
        Refusal(name: "UTF-8 of a surrogate", hex: "63eda080", code: .invalidText, offset: 0),
        Refusal(name: "UTF-8 in too many bytes", hex: "62c080", code: .invalidText, offset: 0),
        Refusal(name: "invalid UTF-8 in a key", hex: "a162c32801", code: .invalidText, offset: 1),
        Refusal(name: "array longer than the message", hex: "9b7fffffffffffffff", code: .truncated, offset: 0),
        Refusal(name: "map longer than the message", hex: "bb7fffffffffffffff", code: .truncated, offset: 0),
        Refusal(name: "text longer than the message", hex: "7bffffffffffffffff", code: .truncated, offset: 0),
        Refusal(name: "date in text", hex: "c16161", code: .typeMismatch, offset: 1),
        Refusal(name: "whole date as float", hex: "c1f93c00", code: .notCanonical, offset: 1),
        Refusal(name: "date beyond 2^53 as integer", hex: "c11b0020000000000001", code: .notCanonical, offset: 1),
        Refusal(name: "infinite date", hex: "c1f97c00", code: .notRepresentable, offset: 1),
        Refusal(name: "UUID of 15 bytes", hex: "d8254f000102030405060708090a0b0c0d0e", code: .typeMismatch, offset: 2),
        Refusal(name: "URL without scheme", hex: "d82063612f62", code: .invalidText, offset: 2),
        Refusal(name: "URL with a space", hex: "d82067687474703a2061", code: .invalidText, offset: 2),
        Refusal(name: "set with an element twice", hex: "d90102820101", code: .duplicateKey, offset: 5, keyPath: "[1]"),
        Refusal(name: "set out of order", hex: "d90102820201", code: .notCanonical, offset: 5, keyPath: "[1]"),
        Refusal(name: "set that is a map", hex: "d90102a0", code: .typeMismatch, offset: 3),
        Refusal(
            name: "deep inside",
            hex: "a166706c61796572a166747261636b738301" + "02a1657469746c65f7",
            code: .unsupported,
            offset: 26,
            keyPath: "player.tracks[2].title"
        ),
    ]

    @Test(arguments: refusals)
    func `input that violates the profile is refused with its place`(_ refusal: Refusal) {
        let error = #expect(throws: ValueSetError.self) { try Value(encoded: bytes(refusal.hex)) }
        #expect(error?.code == refusal.code)
        #expect(error?.byteOffset == refusal.offset)
        #expect(error?.keyPath == refusal.keyPath)
    }

    @Test func `32 levels are accepted and 33 are not`() throws {
        let deepest = bytes(String(repeating: "81", count: 31) + "80")
        #expect(try Value(encoded: deepest).encoded() == deepest)
        let error = #expect(throws: ValueSetError.self) {
            try Value(encoded: bytes(String(repeating: "81", count: 32) + "80"))
        }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `33 levels are not encoded`() {
        var value: Value = []
        for _ in 0..<32 { value = [value] }
        let error = #expect(throws: ValueSetError.self) { try value.encoded() }
        #expect(error?.code == .limitExceeded)
        #expect(error?.keyPath == String(repeating: "[0]", count: 32))
    }

    @Test func `10 000 keys are accepted and 10 001 are not`() throws {
        let accepted = ValueSet((0..<10_000).map { ("key\($0)", .null) })
        #expect(try ValueSet(encoded: accepted.encoded()) == accepted)
        let refused = ValueSet((0..<10_001).map { ("key\($0)", .null) })
        #expect(throws: ValueSetError.self) { try refused.encoded() }
        let bytes = try refused.encoded(limits: ValueSetLimits(keysPerDictionary: 20_000))
        let error = #expect(throws: ValueSetError.self) { try ValueSet(encoded: bytes) }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `items are counted over the whole message`() throws {
        let value: Value = [[1, 2, 3], [4, 5, 6], ["a": 7]]
        #expect(try value.encoded(limits: ValueSetLimits(items: 10)).isEmpty == false)
        #expect(throws: ValueSetError.self) { try value.encoded(limits: ValueSetLimits(items: 9)) }
        let bytes = try value.encoded()
        #expect(try Value(encoded: bytes, limits: ValueSetLimits(items: 10)) == value)
        #expect(throws: ValueSetError.self) { try Value(encoded: bytes, limits: ValueSetLimits(items: 9)) }
    }

    @Test func `a limit of no items accepts the empty message only, and one below that none`() throws {
        let empty = ValueSet()
        let one: ValueSet = ["key": 7]
        let none = ValueSetLimits(items: 0)
        let bytes = try empty.encoded(limits: none)
        let read = try ValueSet(encoded: bytes, limits: none)
        #expect(read == empty)
        #expect(throws: ValueSetError.self) { try one.encoded(limits: none) }
        let invalid = ValueSetLimits(items: -1)
        #expect(throws: ValueSetError.self) { try empty.encoded(limits: invalid) }
        #expect(throws: ValueSetError.self) { try ValueSet(encoded: bytes, limits: invalid) }
    }

    @Test func `a message over the byte limit is neither encoded nor decoded`() throws {
        let value: Value = "0123456789"
        let tight = ValueSetLimits(bytes: 10)
        #expect(throws: ValueSetError.self) { try value.encoded(limits: tight) }
        let encoded = try value.encoded()
        #expect(throws: ValueSetError.self) { try Value(encoded: encoded, limits: tight) }
    }

    @Test func `a head that claims a million elements costs no more than its bytes`() {
        // 32 nested heads, each claiming the remaining maximum: the item count stops the second one.
        let hostile = (0..<31).flatMap { _ in bytes("9a000f4240") } + [UInt8](repeating: 0, count: 1_000_000)
        let error = #expect(throws: ValueSetError.self) { try Value(encoded: hostile) }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `a value without an encoding is refused with its key path`() {
        for seconds in [Double.nan, .infinity, -.infinity] {
            let set: ValueSet = ["a": ["b": [1, .date(secondsSince1970: seconds)]]]
            let error = #expect(throws: ValueSetError.self) { try set.encoded() }
            #expect(error?.code == .notRepresentable)
            #expect(error?.keyPath == "a.b[1]")
        }
    }

    @Test func `a key path is bounded and free of control characters`() {
        var value: Value = .date(secondsSince1970: .nan)
        for level in 0..<30 {
            value = .dictionary([String(repeating: "k\n\u{301}", count: 200) + "\(level)": value])
        }
        let error = #expect(throws: ValueSetError.self) { try value.encoded() }
        #expect((error?.keyPath.utf8.count ?? 0) <= 384)
        #expect(error?.keyPath.contains("\n") == false)
        #expect(error?.keyPath.hasPrefix("…") == true)
    }

    // Terminals interpret U+009B as the beginning of an escape sequence. U+202E reverses the direction of text.
    @Test(arguments: ["\u{1B}[2J", "\u{9B}2J", "\u{202E}", "\u{2028}", "\u{7F}", "\u{AD}"])
    func `a peer's key is shown with escapes in place of control and invisible characters`(key: String) {
        let key = key + "a"
        let bytes = [0xA1, 0x60 | UInt8(key.utf8.count)] + Array(key.utf8) + [0xF7]
        let error = #expect(throws: ValueSetError.self) { try Value(encoded: bytes) }
        var set = ValueSet()
        set[key] = 1
        let shown = "\(error.map { "\($0)" } ?? "") \(set)"
        #expect(shown.contains("\\") && shown.contains("a\""))
        let isUnsafe = shown.unicodeScalars.contains {
            switch $0.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: true
            default: false
            }
        }
        #expect(!isUnsafe)
    }
}
