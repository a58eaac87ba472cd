// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import ValueSets

@Suite struct CodableTests {
    enum Action: Codable, Equatable {
        case play(track: Int)
        case stop
    }

    struct Message: Codable, Equatable {
        var type: String
        var created: Date
        var id: UUID
        var link: URL
        var payload: Data
        var small: Int8
        var large: UInt64
        var ratio: Float
        var action: Action
        var tags: [String]
        var grid: [[Int]]
        var counts: [String: Int]
        var numbered: [Int: String]
        var missing: String?
        var extra: Value
        var rest: ValueSet
    }

    static func message() throws -> Message {
        Message(
            type: "ping",
            created: Date(timeIntervalSince1970: 1_700_000_000.5),
            id: UUID(),
            link: try #require(URL(string: "https://example.com/a")),
            payload: Data([1, 2]),
            small: -8,
            large: .max,
            ratio: 0.1,
            action: .play(track: 3),
            tags: ["a", "b"],
            grid: [[1], [], [2, 3]],
            counts: ["x": 1, "yy": 2],
            numbered: [7: "seven"],
            missing: nil,
            extra: .set([1, "a"]),
            rest: ["k": .null]
        )
    }

    @Test func `a user type survives encoding`() throws {
        let message = try Self.message()
        let set = try ValueSetEncoder().encode(message)
        #expect(try ValueSetDecoder().decode(Message.self, from: set) == message)
        #expect(try ValueSetDecoder().decode(Message.self, from: ValueSet(encoded: set.encoded())) == message)
    }

    @Test func `types with a counterpart keep it`() throws {
        let message = try Self.message()
        let set = try ValueSetEncoder().encode(message)
        #expect(set["created"] == .date(message.created))
        #expect(set["id"] == .uuid(message.id))
        #expect(set["link"] == .url(message.link))
        #expect(set["payload"] == .data(message.payload))
        #expect(set["large"] == .unsigned(.max))
        #expect(set["action"] == ["play": ["track": 3]])
        #expect(set["numbered"] == ["7": "seven"])
        #expect(set["extra"] == .set([1, "a"]))
        #expect(set["rest"] == ["k": .null])
        #expect(set["missing"] == nil)
    }

    class Base: Codable {
        var base = 1
        init() {}
    }

    final class Derived: Base {
        var derived = 2
        private enum Keys: CodingKey { case derived, deep, list }
        private enum DeepKeys: CodingKey { case inner }

        override init() { super.init() }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            derived = try container.decode(Int.self, forKey: .derived)
            let deep = try container.nestedContainer(keyedBy: DeepKeys.self, forKey: .deep)
            #expect(try deep.decodeNil(forKey: .inner))
            var list = try container.nestedUnkeyedContainer(forKey: .list)
            #expect(try list.decode(Int8.self) == 1)
            #expect(try !list.decodeNil())
            var inner = try list.nestedUnkeyedContainer()
            #expect(try inner.decode(String.self) == "x")
            #expect(inner.isAtEnd && !list.isAtEnd)
            #expect(try list.decodeNil())
            #expect(list.isAtEnd)
            #expect(throws: DecodingError.self) { try list.decode(Int.self) }
            try super.init(from: container.superDecoder())
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(derived, forKey: .derived)
            var deep = container.nestedContainer(keyedBy: DeepKeys.self, forKey: .deep)
            try deep.encodeNil(forKey: .inner)
            var list = container.nestedUnkeyedContainer(forKey: .list)
            try list.encode(Int8(1))
            var inner = list.nestedUnkeyedContainer()
            try list.encodeNil()
            try inner.encode("x")
            try super.encode(to: container.superEncoder())
        }
    }

    @Test func `nested containers and super coders nest`() throws {
        let set = try ValueSetEncoder().encode(Derived())
        #expect(set == ["super": ["base": 1], "derived": 2, "deep": ["inner": .null], "list": [1, ["x"], .null]])
        let derived = try ValueSetDecoder().decode(Derived.self, from: set)
        #expect(derived.derived == 2 && derived.base == 1)
    }

    private enum Keys: CodingKey { case again, deep, list, value }
    private enum DeepKeys: CodingKey { case one, two }

    @Test func `a nested container that is requested again keeps its content`() throws {
        struct Twice: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                for (key, number) in [(DeepKeys.one, 1), (.two, 2)] {
                    var deep = container.nestedContainer(keyedBy: DeepKeys.self, forKey: .deep)
                    try deep.encode(number, forKey: key)
                    var list = container.nestedUnkeyedContainer(forKey: .list)
                    try list.encode(number)
                }
            }
        }
        let set = try ValueSetEncoder().encode(Twice())
        #expect(set == ["deep": ["one": 1, "two": 2], "list": [1, 2]])
    }

    @Test func `the last value or container for a key counts`() throws {
        struct Several: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                _ = container.superEncoder()
                try container.encode(1, forKey: .value)
                try container.encode(2, forKey: .value)
                var list = container.nestedUnkeyedContainer(forKey: .list)
                try list.encode(1)
                try container.encode("none", forKey: .list)
                var first = container.nestedContainer(keyedBy: DeepKeys.self, forKey: .again)
                try first.encode(1, forKey: .one)
                try container.encode("none", forKey: .again)
                var second = container.nestedContainer(keyedBy: DeepKeys.self, forKey: .again)
                try second.encode(2, forKey: .two)
                try container.encode("none", forKey: .deep)
                var deep = container.nestedContainer(keyedBy: DeepKeys.self, forKey: .deep)
                try deep.encode(1, forKey: .one)
            }
        }
        let set = try ValueSetEncoder().encode(Several())
        #expect(set == ["value": 2, "list": "none", "again": ["two": 2], "deep": ["one": 1]])
    }

    @Test func `a number that does not fit is refused with its coding path`() {
        struct Outer: Decodable { var list: [[String: Int8]] }
        let error = #expect(throws: DecodingError.self) {
            try ValueSetDecoder().decode(Outer.self, from: ["list": [[:], ["n": 128]]])
        }
        guard case .dataCorrupted(let context) = error else {
            Issue.record("another error: \(String(describing: error))")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["list", "1", "n"])
    }

    @Test func `an integer out of range is refused with its coding path`() {
        struct Outer: Encodable { var list: [Int128] }
        let error = #expect(throws: EncodingError.self) {
            try ValueSetEncoder().encode(Outer(list: [1, Int128(UInt64.max) + 1]))
        }
        guard case .invalidValue(_, let context) = error else { return }
        #expect(context.codingPath.map(\.stringValue) == ["list", "1"])
    }

    @Test func `a missing key and a wrong type are different errors`() {
        struct Ping: Decodable { var type: String }
        for (set, isMissing) in [([:], true), (["type": 1], false)] as [(ValueSet, Bool)] {
            let error = #expect(throws: DecodingError.self) { try ValueSetDecoder().decode(Ping.self, from: set) }
            if case .keyNotFound = error { #expect(isMissing) } else { #expect(!isMissing) }
        }
    }

    private struct ToldTrack: Codable { var title: String }
    private struct ToldPlayer: Codable {
        var tracks: [ToldTrack]
        var volume: Int8?
    }

    private func explain(_ set: ValueSet) -> ValueSetError? {
        do {
            _ = try ValueSetDecoder().decode(ToldPlayer.self, from: set)
            return nil
        } catch {
            return ValueSetError(coding: error)
        }
    }

    @Test func `a coding error has the key path, the expected and the found type`() {
        let mismatch = explain(["tracks": [["title": "a"], ["title": 7]]])
        #expect(mismatch?.code == .typeMismatch)
        #expect(mismatch?.keyPath == "tracks[1].title")
        #expect(mismatch?.found == "integer")
        #expect(mismatch?.allowed == "a string")
        #expect(explain(["tracks": .null])?.found == "null")
        let missing = explain(["tracks": [[:]]])
        #expect(missing?.code == .missingKey)
        #expect(missing?.keyPath == "tracks[0].title")
        let large = explain(["tracks": [], "volume": 300])
        #expect(large?.description == "volume: A number does not fit into Int8 without loss.")
        #expect(ValueSetError(coding: CancellationError()) == nil)
    }

    @Test func `a foreign coding error is reported without values that its text may contain`() throws {
        enum Colour: String, Codable { case red }
        struct Lamp: Codable { var colour: Colour }
        let error = try #require(throws: DecodingError.self) {
            try ValueSetDecoder().decode(Lamp.self, from: ["colour": "s3cret"])
        }
        let reported = try #require(ValueSetError(coding: error))
        #expect(reported.keyPath == "colour")
        #expect(!reported.description.contains("s3cret"))
    }

    @Test func `numbers convert only without loss`() throws {
        #expect(try ValueSetDecoder().decode([Double].self, fromValue: [1, 2.5]) == [1, 2.5])
        #expect(try ValueSetDecoder().decode([Int].self, fromValue: [1, 2.0]) == [1, 2])
        #expect(throws: DecodingError.self) { try ValueSetDecoder().decode([Int].self, fromValue: [2.5]) }
        #expect(throws: DecodingError.self) { try ValueSetDecoder().decode([Float].self, fromValue: [1e300]) }
        #expect(throws: DecodingError.self) { try ValueSetDecoder().decode([UInt].self, fromValue: [-1]) }
    }

    @Test func `a value that is not a dictionary can only be encoded as a value`() throws {
        #expect(try ValueSetEncoder().encodeValue([1, 2]) == [1, 2])
        #expect(throws: EncodingError.self) { try ValueSetEncoder().encode([1, 2]) }
    }

    struct Endless: Codable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            try container.encode(Endless())
        }
    }

    struct EndlessWrapper: Codable {
        init() {}
        init(from decoder: any Decoder) throws { self = try decoder.singleValueContainer().decode(EndlessWrapper.self) }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(self)
        }
    }

    @Test func `endless recursion is an error`() {
        #expect(throws: EncodingError.self) { try ValueSetEncoder().encodeValue(Endless()) }
        #expect(throws: EncodingError.self) { try ValueSetEncoder().encodeValue(EndlessWrapper()) }
        #expect(throws: DecodingError.self) { try ValueSetDecoder().decode(EndlessWrapper.self, fromValue: 1) }
    }

    @Test func `user info reaches the coders`() throws {
        struct Witness: Codable {
            init() {}
            init(from decoder: any Decoder) throws { try check(decoder.userInfo) }
            func encode(to encoder: any Encoder) throws { try check(encoder.userInfo) }
            func check(_ info: [CodingUserInfoKey: Any]) throws {
                #expect(try info[#require(CodingUserInfoKey(rawValue: "k"))] as? Int == 7)
            }
        }
        let key = try #require(CodingUserInfoKey(rawValue: "k"))
        var encoder = ValueSetEncoder()
        encoder.userInfo[key] = 7
        let value = try encoder.encodeValue([Witness()])
        var decoder = ValueSetDecoder()
        decoder.userInfo[key] = 7
        _ = try decoder.decode([Witness].self, fromValue: value)
    }
}
