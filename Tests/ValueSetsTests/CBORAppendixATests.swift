// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import ValueSets

// RFC 8949, Appendix A: every example is either allowed by the profile and equal in both directions, or refused.
@Suite struct CBORAppendixATests {
    static let allowed: [(hex: String, value: Value)] = [
        ("00", 0), ("01", 1), ("0a", 10), ("17", 23), ("1818", 24), ("1819", 25), ("1864", 100), ("1903e8", 1000),
        ("1a000f4240", 1_000_000), ("1b000000e8d4a51000", 1_000_000_000_000),
        ("1bffffffffffffffff", .unsigned(.max)),
        ("20", -1), ("29", -10), ("3863", -100), ("3903e7", -1000),
        ("f90000", 0.0), ("f98000", -0.0), ("f93c00", 1.0), ("fb3ff199999999999a", 1.1), ("f93e00", 1.5),
        ("f97bff", 65504.0), ("fa47c35000", 100000.0), ("fa7f7fffff", 3.4028234663852886e+38),
        ("fb7e37e43c8800759c", 1.0e+300), ("f90001", 5.960464477539063e-8), ("f90400", 0.00006103515625),
        ("f9c400", -4.0), ("fbc010666666666666", -4.1),
        ("f97c00", .double(.infinity)), ("f97e00", .double(.nan)), ("f9fc00", .double(-.infinity)),
        ("f4", false), ("f5", true), ("f6", .null),
        ("c11a514b67b0", .date(secondsSince1970: 1_363_896_240)),
        ("c1fb41d452d9ec200000", .date(secondsSince1970: 1_363_896_240.5)),
        (
            "d82076687474703a2f2f7777772e6578616d706c652e636f6d",
            URL(string: "http://www.example.com").map(Value.url) ?? .null
        ),
        ("40", .data(Data())), ("4401020304", .data(Data([1, 2, 3, 4]))),
        ("60", ""), ("6161", "a"), ("6449455446", "IETF"), ("62225c", "\"\\"), ("62c3bc", "\u{00fc}"),
        ("63e6b0b4", "\u{6c34}"), ("64f0908591", "\u{10151}"),
        ("80", []), ("83010203", [1, 2, 3]), ("8301820203820405", [1, [2, 3], [4, 5]]),
        (
            "98190102030405060708090a0b0c0d0e0f101112131415161718181819",
            .array((1...25).map { .integer($0) })
        ),
        ("a0", [:]), ("a26161016162820203", ["a": 1, "b": [2, 3]]), ("826161a161626163", ["a", ["b": "c"]]),
        ("a56161614161626142616361436164614461656145", ["a": "A", "b": "B", "c": "C", "d": "D", "e": "E"]),
    ]

    static let refused: [(hex: String, code: ValueSetError.Code)] = [
        ("c249010000000000000000", .unsupported), ("3bffffffffffffffff", .notRepresentable),
        ("c349010000000000000000", .unsupported),
        ("fa7f800000", .notCanonical), ("fa7fc00000", .notCanonical), ("faff800000", .notCanonical),
        ("fb7ff0000000000000", .notCanonical), ("fb7ff8000000000000", .notCanonical),
        ("fbfff0000000000000", .notCanonical),
        ("f7", .unsupported), ("f0", .unsupported), ("f8ff", .unsupported),
        ("c074323031332d30332d32315432303a30343a30305a", .unsupported),
        ("d74401020304", .unsupported), ("d818456449455446", .unsupported),
        ("a201020304", .typeMismatch),
        ("5f42010243030405ff", .unsupported), ("7f657374726561646d696e67ff", .unsupported), ("9fff", .unsupported),
        ("9f018202039f0405ffff", .unsupported), ("9f01820203820405ff", .unsupported),
        ("83018202039f0405ff", .unsupported), ("83019f0203ff820405", .unsupported),
        ("9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff", .unsupported),
        ("bf61610161629f0203ffff", .unsupported), ("826161bf61626163ff", .unsupported),
        ("bf6346756ef563416d7421ff", .unsupported),
    ]

    @Test(arguments: allowed)
    func `an allowed example encodes and decodes`(_ example: (hex: String, value: Value)) throws {
        #expect(try hex(example.value.encoded()) == example.hex)
        #expect(try Value(encoded: bytes(example.hex)) == example.value)
    }

    @Test(arguments: refused)
    func `an example outside the profile is refused`(_ example: (hex: String, code: ValueSetError.Code)) {
        let error = #expect(throws: ValueSetError.self) { try Value(encoded: bytes(example.hex)) }
        #expect(error?.code == example.code)
        #expect(error?.byteOffset != nil)
    }
}
