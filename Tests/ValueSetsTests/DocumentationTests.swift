// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import ValueSets

// The code and the numbers of the articles in ValueSets.docc.
@Suite struct DocumentationTests {
    @Test func `the overview's code has the stated results`() throws {
        var message: ValueSet = ["Type": "ping", "Attempt": 1, "Tags": ["a", "b"]]
        message["Attempt"] = 2
        #expect(message["Type"]?.string == "ping")
        #expect(message["Attempt"]?.int == 2)
        #expect(message["Tags"]?[1] == "b")
        #expect(try ValueSet(encoded: message.encoded()) == message)
        let schema = AllowedValueSchema(fields: [
            .required("Type", .string),
            .required("Attempt", .integer),
            .optional("Tags", .array(of: .string)),
        ])
        try schema.validate(message)
        struct Ping: Codable, Equatable {
            var type: String
            var attempt: Int
        }
        let set = try ValueSetEncoder().encode(Ping(type: "ping", attempt: 1))
        #expect(try ValueSetDecoder().decode(Ping.self, from: set) == Ping(type: "ping", attempt: 1))
    }

    @Test func `the wire profile's example has the stated bytes`() throws {
        let set: ValueSet = ["track": 3, "type": "play", "at": .date(secondsSince1970: 1.5)]
        #expect(try hex(set.encoded()) == "a3626174c1f93e00647479706564706c617965747261636b03")
    }

    @Test func `the JSON article's examples are correct`() throws {
        let set: ValueSet = ["at": .date(secondsSince1970: 1.5), "ratio": 5.0, "count": 5]
        #expect(try set.json() == #"{"at":{"$date":1.5},"count":5,"ratio":{"$double":5}}"#)
        #expect(try ValueSet(json: #"{"at": {"$date": "2026-01-31T12:00:00Z"}, "count": 5}"#)["count"] == 5)
    }

    @Test func `JSON is read as the article states`() throws {
        #expect(throws: ValueSetError.self) { try ValueSet(json: #"{"a": 1, "a": 2}"#) }
        #expect(try Value(json: "[1.0, 1e3]") == [1, 1000])
        #expect(try Value(json: "0.1000000000000000055511151231257827") == 0.1)
        #expect(try ValueSet(json: "{\"\u{e9}\": 1, \"e\u{301}\": 2}").count == 2)
        #expect(throws: ValueSetError.self) { try Value(json: "[1e400]") }
        #expect(throws: ValueSetError.self) { try Value(json: "[1e-400]") }
        #expect(try JSONDecoder().decode(ValueSet.self, from: Data(#"{"a": 1, "a": 2}"#.utf8)).count == 1)
        #expect(try JSONDecoder().decode(Value.self, from: Data("1e-400".utf8)) == 0)
    }
}
