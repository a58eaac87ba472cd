// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import ValueSets

/// What `Docs/rome-parity.md` states about the types that Windows allows in a `ValueSet`.
@Suite struct RomeTypesTests {
    /// A Windows type, its counterpart here, and whether the rule of app services allows it.
    struct Counterpart: Sendable, CustomTestStringConvertible {
        let type: String
        let value: Value
        let isForAppServices: Bool

        init(_ type: String, _ value: Value, isForAppServices: Bool = true) {
            (self.type, self.value, self.isForAppServices) = (type, value, isForAppServices)
        }

        var testDescription: String { self.type }
    }

    static let counterparts = [
        Counterpart("Boolean", .init(true)),
        Counterpart("UInt8", .init(UInt8.max)),
        Counterpart("Int16", .init(Int16.min)),
        Counterpart("UInt16", .init(UInt16.max)),
        Counterpart("Int32", .init(Int32.min)),
        Counterpart("UInt32", .init(UInt32.max)),
        Counterpart("Int64", .init(Int64.min)),
        Counterpart("UInt64", .init(UInt64.max)),
        Counterpart("Single", .init(Float(0.1))),
        Counterpart("Double", .init(0.1)),
        Counterpart("Char16", .init("é")),
        Counterpart("String", .init("Käse")),
        Counterpart("Guid", .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))),
        Counterpart("DateTime", .date(secondsSince1970: 1_769_860_800.25)),
        Counterpart("TimeSpan", .init(1.5)),
        Counterpart("Point", ["X": 1.5, "Y": -2.0]),
        Counterpart("Size", ["Width": 640.0, "Height": 480.0]),
        Counterpart("Rect", ["X": 1.5, "Y": -2.0, "Width": 640.0, "Height": 480.0]),
        Counterpart("ValueSet", ["nested": ["deeper": 1]]),
        Counterpart("typed array", ["a", "b"]),
        Counterpart("byte array", .init([0, 255] as [UInt8]), isForAppServices: false),
        Counterpart("mixed array", [1, "a"], isForAppServices: false),
        Counterpart("null", .null, isForAppServices: false),
    ]

    @Test(arguments: counterparts)
    func `each Windows type has a counterpart that arrives as it was sent (R-36, R-37)`(
        _ counterpart: Counterpart
    ) throws {
        let message: ValueSet = ["value": counterpart.value]
        #expect(try ValueSet(encoded: message.encoded()) == message)
        try AllowedValueSchema.full.validate(message)
        if counterpart.isForAppServices {
            try AllowedValueSchema.appService.validate(message)
        } else {
            #expect(throws: ValueSetError.self) { try AllowedValueSchema.appService.validate(message) }
        }
    }

    @Test func `a Single is the same number as a double (R-36)`() throws {
        let message: ValueSet = ["value": .init(Float(0.1))]
        #expect(try ValueSet(encoded: message.encoded())["value"]?.double.map { Float($0) } == Float(0.1))
    }
}
