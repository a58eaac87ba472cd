// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValueSets

/// Text that users write for a field of a declared type.
@Suite struct FieldTextTests {
    @Test(
        arguments: [
            (FieldType.string, "42", "42"), (.any, "true", "true"), (.integer, "-42", -42), (.number, "42", 42),
            (.number, "4.5", 4.5), (.double, "42", 42.0), (.bool, "true", true), (.null, "null", .null),
            (.integer, "18446744073709551615", .unsigned(.max)), (.data, "AQI=", .data(Data([1, 2]))),
            (.date, "1970-01-01T00:01:00Z", .date(secondsSince1970: 60)), (.date, "1.5", .date(secondsSince1970: 1.5)),
            (.array(of: .double), "[1, 2.5]", [1.0, 2.5]), (.set(of: .integer), "[2, 1]", .set([1, 2])),
            (.dictionary(AllowedValueSchema(fields: [.optional("a", .double)])), "{\"a\": 1}", ["a": 1.0]),
        ] as [(FieldType, String, Value)]
    )
    func `text is read as the declared type`(type: FieldType, text: String, value: Value) {
        #expect(type.value(of: text) == value)
    }

    @Test(
        arguments: [
            (FieldType.integer, "1.5"), (.integer, ""), (.number, "one"), (.bool, "yes"), (.data, "%"), (.date, "soon"),
            (.date, "inf"), (.date, "2026-02-30T00:00:00Z"), (.uuid, "x"), (.url, "no scheme"), (.null, ""),
            (.array(of: .any), "["),
        ] as [(FieldType, String)]
    )
    func `text that is not a value of the type is refused`(type: FieldType, text: String) {
        #expect(type.value(of: text) == nil)
    }

    @Test func `JSON that does not fit stays unchanged`() {
        #expect(FieldType.integer.value(fitting: "x") == "x")
        #expect(FieldType.date.value(fitting: "soon") == "soon")
        #expect(FieldType.array(of: .integer).value(fitting: 1) == 1)
    }

    @Test func `a type describes itself`() {
        #expect("\(FieldType.array(of: .set(of: .url)))" == "array of set of url")
    }
}
