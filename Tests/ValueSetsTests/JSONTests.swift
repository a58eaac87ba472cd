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
    func `a value has one text in JSON`(_ example: (value: Value, json: String)) throws {
        #expect(try example.value.json() == example.json)
        #expect(try Value(json: example.json) == example.value)
    }

    @Test(
        arguments: [
            (#"{"$date":"2026-01-31T12:00:00Z"}"#, .date(secondsSince1970: 1_769_860_800)),
            (#"{"$date":"2026-01-31T12:00:00.5Z"}"#, .date(secondsSince1970: 1_769_860_800.5)),
            ("1.0", 1), (" [ ] ", []), (#"{"$double":2.5}"#, 2.5),
        ] as [(String, Value)]
    )
    func `what people write is read`(_ json: String, _ value: Value) throws {
        #expect(try Value(json: json) == value)
    }

    static let refused: [(json: String, code: ValueSetError.Code, keyPath: String)] = [
        ("", .invalidJSON, ""), ("{", .invalidJSON, ""), (#"{"a":}"#, .invalidJSON, ""), ("nul", .invalidJSON, ""),
        (#"{"a":[1,{"$date":true}]}"#, .invalidJSON, "a[1]"),
        (#"{"a":{"$when":1}}"#, .invalidJSON, "a"), (#"{"a":{"$date":1,"b":2}}"#, .invalidJSON, "a"),
        (#"{"$uuid":"1"}"#, .invalidJSON, ""), (#"{"$url":"a/b"}"#, .invalidJSON, ""),
        (#"{"$data":"%"}"#, .invalidJSON, ""),
        (#"{"$set":[1,1]}"#, .duplicateKey, ""), (#"{"$double":"many"}"#, .invalidJSON, ""),
        (#"{"n":18446744073709551616}"#, .notRepresentable, "n"),
        (#"{"n":[-9223372036854775809]}"#, .notRepresentable, "n[0]"),
        ("1e300", .notRepresentable, ""),
    ]

    @Test(arguments: refused)
    func `what is no value is refused with its key path`(
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
        ("\"\n\"", 1, "line 1, column 2", "control"), ("[1}", 2, "line 1, column 3", "comma or ]"),
        ("'a'", 0, "line 1, column 1", "a value"), ("[1] // note", 4, "line 1, column 5", "follows"),
    ]

    @Test(arguments: broken)
    func `text that is no JSON is refused with its place`(
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

    @Test func `keys that JSON libraries cannot tell apart are refused`() {
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
        #expect(throws: ValueSetError.self) { try Value(json: deep) }
    }

    @Test func `values within user types go through any coder`() throws {
        struct Message: Codable, Equatable {
            var extra: Value
            var rest: ValueSet
        }
        let message = Message(extra: .date(secondsSince1970: 1), rest: ["a": 2.0])
        let json = try JSONEncoder().encode(message)
        #expect(try JSONDecoder().decode(Message.self, from: json) == message)
    }
}
