// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import ValueSets

@Suite struct JSONTests {
    static let tagged: [(value: Value, json: String)] = [
        (.null, "null"), (true, "true"), (0, "0"), (.integer(.min), "-9223372036854775808"),
        (.unsigned(.max), "18446744073709551615"), (1.5, "1.5"), ("a/\"", #""a/\"""#),
        (5.0, #"{"$double":5}"#), (.double(.nan), #"{"$double":"NaN"}"#),
        (.double(.infinity), #"{"$double":"Infinity"}"#),
        (.double(-.infinity), #"{"$double":"-Infinity"}"#), (-0.0, #"{"$double":"-0"}"#),
        (1e300, #"{"$double":1e+300}"#),
        (.date(secondsSince1970: 1.25), #"{"$date":1.25}"#), (.date(secondsSince1970: -3), #"{"$date":-3}"#),
        (.data(Data([1, 255])), #"{"$data":"Af8="}"#), (.set([2, 1]), #"{"$set":[1,2]}"#),
        (
            UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F").map(Value.uuid) ?? .null,
            #"{"$uuid":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F"}"#
        ),
        (URL(string: "https://example.com/a?b=c").map(Value.url) ?? .null, #"{"$url":"https://example.com/a?b=c"}"#),
        (["b": [1], "a": .null], #"{"a":null,"b":[1]}"#),
        (["$date": 1], #"{"$$date":1}"#), (["$$": 1, "$": 2, "x$": 3], #"{"$$":2,"$$$":1,"x$":3}"#),
        (["$set": ["$double": 1.0]], #"{"$$set":{"$$double":{"$double":1}}}"#),
    ]

    @Test(arguments: tagged)
    func `a value has exactly one text in JSON`(_ example: (value: Value, json: String)) throws {
        #expect(try example.value.json() == example.json)
        #expect(try Value(json: example.json) == example.value)
    }

    @Test(
        arguments: [
            (#"{"$date":"2026-01-31T12:00:00Z"}"#, .date(secondsSince1970: 1_769_860_800)),
            (#"{"$date":"2026-01-31T12:00:00.5Z"}"#, .date(secondsSince1970: 1_769_860_800.5)),
            (#"{"$date":"2026-01-31T13:30:00+01:30"}"#, .date(secondsSince1970: 1_769_860_800)),
            ("1.0", 1), (" [ ] ", []), (#"{"$double":2.5}"#, 2.5),
        ] as [(String, Value)]
    )
    func `the usual forms of JSON are read`(_ json: String, _ value: Value) throws {
        #expect(try Value(json: json) == value)
    }

    static let refused: [(json: String, code: ValueSetError.Code, keyPath: String)] = [
        ("", .invalidJSON, ""), ("{", .invalidJSON, ""), (#"{"a":}"#, .invalidJSON, "a"), ("nul", .invalidJSON, ""),
        (#"{"a":[1,{"$date":true}]}"#, .invalidJSON, "a[1]"),
        (#"{"a":{"$when":1}}"#, .invalidJSON, "a"), (#"{"a":{"$date":1,"b":2}}"#, .invalidJSON, "a"),
        (#"{"$uuid":"1"}"#, .invalidJSON, ""), (#"{"$url":"a/b"}"#, .invalidJSON, ""),
        (#"{"$data":"%"}"#, .invalidJSON, ""),
        (#"{"$set":[1,1]}"#, .duplicateKey, "[1]"), (#"{"$double":"many"}"#, .invalidJSON, ""),
        (#"{"n":18446744073709551616}"#, .notRepresentable, "n"),
        (#"{"n":[-9223372036854775809]}"#, .notRepresentable, "n[0]"),
        ("1e300", .notRepresentable, ""),
    ]

    @Test(arguments: refused)
    func `JSON that is not a value is refused with its key path`(
        _ example: (json: String, code: ValueSetError.Code, keyPath: String)
    ) {
        let error = #expect(throws: ValueSetError.self) { try Value(json: example.json) }
        #expect(error?.code == example.code)
        #expect(error?.keyPath == example.keyPath)
    }

    /// Text that is no JSON, the offset of the first byte that is wrong, its line and column, and a word of the reason.
    static let broken: [(json: String, offset: Int, place: String, reason: String)] = [
        ("[1,]", 3, "line 1, column 4", "a value"), (#"{"a":1,}"#, 7, "line 1, column 8", "a key"),
        ("", 0, "line 1, column 1", "it ends"), ("[1", 2, "line 1, column 3", "comma or ]"),
        (#"{"a" 1}"#, 5, "line 1, column 6", "colon"), (#"{"a":1 "b":2}"#, 7, "line 1, column 8", "comma or }"),
        ("{a:1}", 1, "line 1, column 2", "a key in double quotes"), ("[1,,2]", 3, "line 1, column 4", "a value"),
        ("{\n  \"ä\": [\n    truth\n]}", 19, "line 3, column 8", "true"), ("1 2", 2, "line 1, column 3", "follows"),
        ("01", 1, "line 1, column 2", "follows"), ("-", 1, "line 1, column 2", "digit"),
        ("1.", 2, "line 1, column 3", "digit"), ("[1e+]", 4, "line 1, column 5", "digit"),
        (#""a"#, 2, "line 1, column 3", "not closed"), (#""\x""#, 1, "line 1, column 2", "escape"),
        (#""\u12g4""#, 5, "line 1, column 6", "hex"), (#""\ud800""#, 1, "line 1, column 2", "half"),
        (#""\udc00""#, 1, "line 1, column 2", "half"), (#""\ud800\n""#, 1, "line 1, column 2", "half"),
        (#""\ud800\u0061""#, 1, "line 1, column 2", "half"), (#""\ud83dx\ude00""#, 1, "line 1, column 2", "half"),
        ("\"\n\"", 1, "line 1, column 2", "control"), ("[1}", 2, "line 1, column 3", "comma or ]"),
        ("'a'", 0, "line 1, column 1", "a value"), ("[1] // note", 4, "line 1, column 5", "follows"),
    ]

    @Test(arguments: broken)
    func `text that is not JSON is refused with its place`(
        _ example: (json: String, offset: Int, place: String, reason: String)
    ) {
        let error = #expect(throws: ValueSetError.self) { try Value(json: example.json) }
        #expect(error?.code == .invalidJSON)
        #expect(error?.byteOffset == example.offset)
        #expect(error?.message.contains(example.place) == true)
        #expect(error?.message.contains(example.reason) == true)
    }

    @Test(arguments: [
        #"{"a":[{},[],"\ud83d\ude00\n",-0.5e-3,true,false,null],"b":{}}"#, " 0 ", #""é\u00e9""#, "[[[[]]]]",
    ])
    func `text that is JSON is not refused`(_ json: String) throws {
        _ = try Value(json: json)
    }

    /// Numbers, and the one value that says the same.
    static let numbers: [(json: String, value: Value)] = [
        ("-0.0", -0.0), ("-0", -0.0), ("-0e7", -0.0), ("0.0", 0), ("0e-999", 0), (#"{"$double":-0.0}"#, -0.0),
        ("1.50e1", 15), ("150e-1", 15), ("0.05e3", 50), ("-2.0", -2), ("1e-1", 0.1), ("1.5", 1.5),
        ("123456789012345678901234567890.5", 123_456_789_012_345_678_901_234_567_890.5),
        ("9007199254740993.0", 9_007_199_254_740_993), ("9007199254740993.5", 9_007_199_254_740_993.5),
        ("1844674407370955161.5e1", .unsigned(.max)), ("-9.223372036854775808e18", .integer(.min)),
        ("5e-324", .double(.leastNonzeroMagnitude)), (#"{"$double":1e300}"#, 1e300),
        (#"{"$date":1e300}"#, .date(secondsSince1970: 1e300)),
    ]

    @Test(arguments: numbers)
    func `a number keeps its value in every notation`(_ example: (json: String, value: Value)) throws {
        let value = try Value(json: example.json)
        #expect(value == example.value)
        #expect(value.double?.sign == example.value.double?.sign)
    }

    /// What would lose something without a word, and what cannot be read: with the code, the offset and the key path.
    static let lossy: [(json: String, code: ValueSetError.Code, offset: Int, keyPath: String)] = [
        (#"{"a":1,"a":2}"#, .duplicateKey, 7, "a"), (#"{"x":[{"\u0061":1,"b":2,"a":1}]}"#, .duplicateKey, 24, "x[0].a"),
        (#"{"a":1,"$$b":1,"$$b":1}"#, .duplicateKey, 15, "$b"),
        (#"{"s":{"$set":[1,2,1.0]}}"#, .duplicateKey, 18, "s[2]"),
        (#"{"x":{"a":[1,1e309]}}"#, .notRepresentable, 13, "x.a[1]"), ("-1e400", .notRepresentable, 0, ""),
        ("[1e99999999999999999999]", .notRepresentable, 1, "[0]"), ("1e-400", .notRepresentable, 0, ""),
        ("[0.1e-99999999999999999999]", .notRepresentable, 1, "[0]"),
        // Exponents at the limits of an integer.
        ("[1.5e-9223372036854775808]", .notRepresentable, 1, "[0]"),
        ("[1.5e-9223372036854775807]", .notRepresentable, 1, "[0]"),
        ("[10e9223372036854775807]", .notRepresentable, 1, "[0]"),
        ("[1.0e-9223372036854775808]", .notRepresentable, 1, "[0]"),
        (#"{"$double":1e400}"#, .notRepresentable, 11, ""),
        (#"{"a":18446744073709551616}"#, .notRepresentable, 5, "a"), ("[1e20]", .notRepresentable, 1, "[0]"),
        (#"{"a":{"$uuid":"1"}}"#, .invalidJSON, 14, "a"), (#"{"a":[{"$when":1}]}"#, .invalidJSON, 7, "a[0]"),
        (#"{"a":{"$date":{"b":[}}}"#, .invalidJSON, 20, "a.b[0]"), (#"{"a":1,"$date":1}"#, .invalidJSON, 7, ""),
    ]

    @Test(arguments: lossy)
    func `a number that cannot be represented is refused with its place`(
        _ example: (json: String, code: ValueSetError.Code, offset: Int, keyPath: String)
    ) {
        let error = #expect(throws: ValueSetError.self) { try Value(json: example.json) }
        #expect(error?.code == example.code)
        #expect(error?.byteOffset == example.offset)
        #expect(error?.keyPath == example.keyPath)
    }

    @Test func `a number that is too large is not described as an integer`() {
        let error = #expect(throws: ValueSetError.self) { try Value(json: "1e400") }
        #expect(error?.message.contains("too large") == true)
        #expect(error?.message.contains("integer") == false)
    }

    /// Bytes that are not UTF-8 behind `["ä\n`, and where the first wrong one is.
    @Test(arguments: [
        ([0xFF], 0), ([0x61, 0xC3], 1), ([0xED, 0xA0, 0x80], 0), ([0xC0, 0x80], 0), ([0xE2, 0x82], 0),
    ])
    func `text that is not UTF-8 is refused with its place`(bytes: [UInt8], offset: Int) {
        let error = #expect(throws: ValueSetError.self) {
            try Value(json: Data(#"{"k":["ä\n"#.utf8) + bytes + Data(#""]}"#.utf8))
        }
        #expect(error?.code == .invalidJSON)
        #expect(error?.byteOffset == 11 + offset)
        #expect(error?.keyPath == "k[0]")
        #expect(error?.message.contains("line 1, column \(11 + offset)") == true)
    }

    @Test func `keys that differ only in their Unicode composition are two keys`() throws {
        let set = try ValueSet(json: #"{"\u00e9":1,"e\u0301":2}"#)
        #expect(set.count == 2)
        #expect(set["\u{e9}"] == 1)
        #expect(set["e\u{301}"] == 2)
    }

    @Test func `every escape represents its character`() throws {
        #expect(try Value(json: #""\"\\\/\b\f\n\r\t\u0000\u00E9\ud83d\uDE00é""#) == "\"\\/\u{8}\u{c}\n\r\t\0é😀é")
    }

    @Test func `an error does not quote the text`() {
        let error = #expect(throws: ValueSetError.self) { try Value(json: #"{"a": s3cret}"#) }
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test func `a date that is not finite is refused with its key path`() {
        let set: ValueSet = ["a": [1, .date(secondsSince1970: .nan)]]
        let error = #expect(throws: ValueSetError.self) { try set.json() }
        #expect(error?.code == .notRepresentable)
        #expect(error?.keyPath == "a[1]")
    }

    @Test func `keys that JSON libraries cannot distinguish are refused`() {
        let set: ValueSet = ["\u{e9}": 1, "e\u{301}": 2]
        #expect(throws: ValueSetError.self) { try set.json() }
    }

    @Test func `an array is not a value set`() {
        #expect(throws: ValueSetError.self) { try ValueSet(json: "[]") }
        #expect(throws: ValueSetError.self) { try ValueSet(json: #"{"$date":1}"#) }
    }

    @Test func `a text over the limit is not read`() {
        #expect(throws: ValueSetError.self) { try Value(json: "[1,2,3]", limits: ValueSetLimits(bytes: 6)) }
    }

    @Test func `deep nesting is an error`() {
        let deep = String(repeating: "[", count: 400) + String(repeating: "]", count: 400)
        let error = #expect(throws: ValueSetError.self) { try Value(json: deep) }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `values within user types work with any coder`() throws {
        struct Message: Codable, Equatable {
            var extra: Value
            var rest: ValueSet
        }
        let message = Message(extra: .date(secondsSince1970: 1), rest: ["a": 2.0])
        let json = try JSONEncoder().encode(message)
        #expect(try JSONDecoder().decode(Message.self, from: json) == message)
    }

    @Test func `another coder keeps the sign of zero`() throws {
        let value = try JSONDecoder().decode([Value].self, from: Data("[-0.0, 0]".utf8))
        #expect(value[0].double?.sign == .minus)
        #expect(value[1] == 0)
    }
}
