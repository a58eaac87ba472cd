// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import ValueSets

@Suite struct ValueTests {
    @Test func `an integer is the same value with and without a sign`() throws {
        #expect(Value.unsigned(5) == .integer(5))
        #expect(Value.unsigned(5).hashValue == Value.integer(5).hashValue)
        #expect(Value.unsigned(.max) != .integer(-1))
        guard case .integer(5) = try Value(encoded: Value.unsigned(5).encoded()) else {
            Issue.record("not the canonical case")
            return
        }
    }

    @Test func `an integer is never a double`() {
        #expect(Value.integer(1) != .double(1))
    }

    @Test func `all NaNs are one value and the zeros are two`() {
        #expect(Value.double(.nan) == .double(.signalingNaN))
        #expect(Set([Value.double(.nan), .double(-.nan)]).count == 1)
        #expect(Value.double(0) != .double(-0.0))
    }

    @Test func `a date at zero seconds has no sign`() {
        #expect(Value.date(secondsSince1970: 0) == .date(secondsSince1970: -0.0))
        #expect(
            Value.date(secondsSince1970: 0).hashValue == Value.date(secondsSince1970: -0.0).hashValue
        )
    }

    @Test func `strings are compared as bytes`() {
        #expect(Value.string("\u{e9}") != .string("e\u{301}"))
        #expect(Set([Value.string("\u{e9}"), .string("e\u{301}")]).count == 2)
    }

    @Test func `the hash of data depends on every byte`() {
        let shared = Data(repeating: 0, count: 100)
        let hashes = Set((0..<200).map { Value.data(shared + [UInt8($0)]).hashValue })
        // A hash of 64 bits hardly ever collides; one of the first bytes always does.
        #expect(hashes.count > 198)
    }

    @Test func `a set of data values with the same first bytes is decoded`() throws {
        let shared = Data(repeating: 0, count: 100)
        let set = Set((0..<200).map { Value.data(shared + [UInt8($0)]) })
        let encoded = try Value.set(set).encoded()
        let decoded = try Value(encoded: encoded)
        #expect(decoded == .set(set))
    }

    @Test func `literals create the types they resemble`() {
        let value: Value = [.null, true, 1, 1.5, "a \(1)", ["k": [2]]]
        #expect(
            value
                == .array([
                    .null, .bool(true), .integer(1), .double(1.5), .string("a 1"),
                    .dictionary(["k": .array([.integer(2)])]),
                ])
        )
    }

    @Test func `accessors give their type and nothing else`() throws {
        let url = try #require(URL(string: "https://example.com/"))
        let uuid = UUID()
        let date = Date(timeIntervalSince1970: 1.5)
        #expect(Value(true).bool == true)
        #expect(Value("a").string == "a")
        #expect(Value(url).url == url)
        #expect(Value(uuid).uuid == uuid)
        #expect(Value(date).date == date)
        #expect(Value(Data([1])).data == Data([1]))
        #expect(Value([1, 2] as [Value]).array == [1, 2])
        #expect(Value([1, 2] as Set<Value>).set == [1, 2])
        #expect(Value(["a": 1] as ValueSet).dictionary == ["a": 1])
        #expect(Value.null.isNull)
        #expect(Value("1").int == nil && Value(1).string == nil && Value(1).bool == nil && Value("").data == nil)
    }

    @Test func `numbers convert only without loss`() {
        #expect(Value(5).double == 5 && Value(5.0).int == 5 && Value(5.5).int == nil)
        #expect(Value(UInt64.max).int == nil && Value(UInt64.max).uint64 == .max && Value(-1).uint64 == nil)
        #expect(Value(Int64.max).double == nil && Value(Int64.min).int64 == .min)
        #expect(Value(exactly: Int128(UInt64.max)) == .unsigned(.max))
        #expect(Value(exactly: Int128(UInt64.max) + 1) == nil)
    }

    @Test func `nested values are accessed by subscripts`() {
        let set: ValueSet = ["player": ["tracks": [["title": "Prelude"]]]]
        #expect(set["player"]?["tracks"]?[0]?["title"]?.string == "Prelude")
        #expect(set["player"]?["tracks"]?[1] == nil)
    }

    @Test func `a description names keys, types and counts, and no contents`() throws {
        let secret = "s3cret"
        let set: ValueSet = [
            "name": .string(secret), "list": [.string(secret)], "nested": ["x": .string(secret)],
            "url": try #require(URL(string: "https://s3cret.example").map(Value.url)),
        ]
        for text in [
            "\(set)", "\(Value.dictionary(set))", "\(try #require(set["name"]))", String(describing: set["list"]),
        ] {
            #expect(!text.contains(secret))
        }
        #expect("\(set)" == #"["url": url, "list": array, "name": string, "nested": dictionary]"#)
        #expect(set.unredactedDescription.contains(secret))
    }
}
