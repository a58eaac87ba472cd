// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsGIO
import Foundation
import RemoteSystems
import Testing

@testable import RemoteSystemsDesktop

/// Value sets as `GVariant`s, without a bus. R-36: the platform converts a dictionary to the receiver's native type and
/// back.
@Suite struct GVariantTests {
    /// The value set after a round trip, and GLib's text of the `GVariant` in between.
    static func roundTrip(_ set: ValueSet) throws -> (ValueSet, String) {
        let variant = unsafe g_variant_ref_sink(try set.makeGVariant())
        defer { unsafe g_variant_unref(variant) }
        guard let variant = unsafe variant, let text = unsafe g_variant_print(variant, 1) else {
            throw ValueSetError(.unsupported, "nothing was made")
        }
        defer { unsafe g_free(text) }
        return unsafe (try ValueSet(gVariant: variant), String(cString: text))
    }

    static func read(_ text: String, limits: ValueSetLimits = .defaults) throws -> ValueSet {
        guard let variant = unsafe g_variant_parse(nil, text, nil, nil, nil) else {
            throw ValueSetError(.invalidText, "GLib cannot read \(text)")
        }
        let owned = unsafe GVariantReference(variant)
        return unsafe try owned.with { unsafe try ValueSet(gVariant: $0, limits: limits) }
    }

    static let uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F") ?? UUID()
    static let url = URL(string: "https://example.com/a?b#c") ?? URL(filePath: "/")

    /// Every type with its D-Bus type.
    static let mapping: [(Value, String)] = [
        (.bool(true), "<true>"), (.bool(false), "<false>"),
        (.integer(.min), "<int64 -9223372036854775808>"), (.integer(.max), "<int64 9223372036854775807>"),
        (.unsigned(7), "<int64 7>"), (.unsigned(.max), "<uint64 18446744073709551615>"),
        (.double(-0.0), "<-0.0>"), (.double(.infinity), "<inf>"), (.string(""), "<''>"),
        (.string("é\u{1F600}"), "<'é😀'>"),
        (.data(Data()), "<@ay []>"), (.data(Data([0, 255])), "<[byte 0x00, 0xff]>"),
        (.null, "<{'$null': <true>}>"), (.date(secondsSince1970: -1.25), "<{'$date': <-1.25>}>"),
        (.uuid(uuid), "<{'$uuid': <'E621E1F8-C36C-495A-93FC-0C247A3E6E5F'>}>"),
        (.url(url), "<{'$url': <'https://example.com/a?b#c'>}>"),
        (.set([1]), "<{'$set': <[int64 1]>}>"), (.set([]), "<{'$set': <@av []>}>"),
        (.array([]), "<@av []>"), (.array([1, 2]), "<[int64 1, 2]>"), (.array(["a"]), "<['a']>"),
        (.array([1, "a"]), "<[<int64 1>, <'a'>]>"),
        (.array([1, .unsigned(.max)]), "<[<int64 1>, <uint64 18446744073709551615>]>"),
        (.array([.array([1]), .array([])]), "<[<[int64 1]>, <@av []>]>"),
        (.array([.array([1]), .array([2])]), "<[[int64 1], [2]]>"),
        (.array([.null, .dictionary([:])]), "<[{'$null': <true>}, {}]>"),
        (.dictionary([:]), "<@a{sv} {}>"), (.dictionary(["$null": true]), "<{'$$null': <true>}>"),
        (.dictionary(["$$": ["$x": 1]]), "<{'$$$': <{'$$x': <int64 1>}>}>"),
    ]

    @Test(arguments: mapping.indices) func `R-36: each type has a D-Bus type and returns without loss`(index: Int)
        throws
    {
        let (value, text) = Self.mapping[index]
        let (back, printed) = try Self.roundTrip(["$k": value, "other": .string("kept")])
        #expect(back == ["$k": value, "other": .string("kept")])
        #expect(printed == "{'$$k': \(text), 'other': <'kept'>}")
    }

    @Test func `R-36: null and NaN return`() throws {
        #expect(try Self.roundTrip([:]).0.isEmpty)
        #expect(try Self.roundTrip(["n": .double(.nan)]).0 == ["n": .double(.nan)])
    }

    static let others: [(String, Value)] = [
        ("<byte 0xff>", .integer(255)), ("<int16 -1>", .integer(-1)), ("<uint64 5>", .integer(5)),
        ("<objectpath '/x'>", .string("/x")), ("<signature 'as'>", .string("as")), ("<<<1>>>", .integer(1)),
        ("<(1, 'b', ())>", .array([.integer(1), .string("b"), .array([])])),
        ("<{'k': 'v'}>", .dictionary(["k": .string("v")])),
        ("<{objectpath '/k': 1}>", .dictionary(["/k": .integer(1)])),
        ("<{'$date': <int64 5>}>", .date(secondsSince1970: 5)),
        ("<{'$uuid': 'E621E1F8-C36C-495A-93FC-0C247A3E6E5F'}>", .uuid(uuid)),
    ]

    @Test(arguments: others.indices) func `R-36: other D-Bus types lose their type but not their value`(index: Int)
        throws
    {
        let (text, expected) = Self.others[index]
        #expect(try Self.read("{'a': \(text)}") == ["a": expected])
    }

    struct Refusal: Sendable {
        var text: String
        var code: ValueSetError.Code
        var place: String
    }

    static let refusals: [Refusal] = [
        .init(text: "{1: <true>}", code: .typeMismatch, place: ""),
        .init(text: "{'a': 'b'}", code: .typeMismatch, place: ""),
        .init(text: "'a'", code: .typeMismatch, place: ""),
        .init(text: "{'a': <handle 1>}", code: .unsupported, place: "a"),
        .init(text: "{'a': <{1: 'x'}>}", code: .unsupported, place: "a"),
        .init(text: "{'a': <@ms 'x'>}", code: .unsupported, place: "a"),
        .init(text: "{'a': <[<@mi nothing>]>}", code: .unsupported, place: "a[0]"),
        .init(text: "{'a': <1>, 'a': <2>}", code: .duplicateKey, place: ""),
        .init(text: "{'a': <{'$set': <[1, 1]>}>}", code: .duplicateKey, place: "a"),
        .init(text: "{'$uuid': <'x'>}", code: .unsupported, place: ""),
        .init(text: "{'a': <{'$x': <1>}>}", code: .unsupported, place: "a"),
        .init(text: "{'a': <{'$date': <1.0>, 'b': <1>}>}", code: .unsupported, place: "a"),
        .init(text: "{'a': <{'$date': <inf>}>}", code: .notRepresentable, place: "a"),
        .init(text: "{'a': <{'$uuid': <'x'>}>}", code: .notRepresentable, place: "a"),
        .init(text: "{'a': <{'$url': <'no scheme'>}>}", code: .notRepresentable, place: "a"),
        .init(text: "{'a': <{'$null': <false>}>}", code: .notRepresentable, place: "a"),
    ]

    @Test(arguments: refusals.indices) func `R-36: a value without a counterpart is refused with its place`(index: Int)
        throws
    {
        let refusal = Self.refusals[index]
        let error = #expect(throws: ValueSetError.self) { _ = try Self.read(refusal.text) }
        #expect(error?.code == refusal.code, "\(refusal.text)")
        #expect(error?.keyPath.hasPrefix(refusal.place) == true, "\(refusal.text): \(error?.keyPath ?? "")")
    }

    @Test func `R-36: a value that D-Bus cannot carry is refused before conversion`() {
        let cases: [(ValueSet, ValueSetError.Code)] = [
            (["a": "b\0c"], .notRepresentable), (["a\0": 1], .notRepresentable),
            (["a": .date(secondsSince1970: .infinity)], .notRepresentable),
            (["a": .url(URL(string: "relative") ?? Self.url)], .notRepresentable),
            (Self.nested(22), .limitExceeded),
            (["a": (0..<40).reduce(Value.array([])) { value, _ in .array([value, 1]) }], .limitExceeded),
        ]
        for (set, code) in cases {
            let error = #expect(throws: ValueSetError.self) { _ = try Self.roundTrip(set) }
            #expect(error?.code == code)
            #expect(error?.keyPath.isEmpty == false)
        }
        #expect(throws: Never.self) { _ = try Self.roundTrip(Self.nested(21)) }
    }

    static func nested(_ levels: Int) -> ValueSet {
        (1..<levels).reduce(["end": true]) { set, _ in ["in": .dictionary(set)] }
    }

    @Test func `R-36: a value that is too large is refused`() throws {
        let text = "{'a': <[1, 2, 3]>, 'b': <{'c': <1>}>}"
        #expect(throws: Never.self) { _ = try Self.read(text) }
        for limits in [
            ValueSetLimits(depth: 1), ValueSetLimits(keysPerDictionary: 1), ValueSetLimits(items: 5),
            ValueSetLimits(bytes: 10),
        ] {
            let error = #expect(throws: ValueSetError.self) { _ = try Self.read(text, limits: limits) }
            #expect(error?.code == .limitExceeded)
        }
        #expect(throws: Never.self) { _ = try Self.read(text, limits: ValueSetLimits(items: 6)) }
    }
}
