// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import ValueSets

/// Dates as text, in `$date` and in fields of that type (RFC 3339 §5.6).
@Suite struct DateTextTests {
    /// Texts and the seconds that Python's `datetime.fromisoformat(text).timestamp()` gives for them.
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59.75Z", -0.25), ("2000-02-29T12:34:56Z", 951_827_696),
            ("2024-02-29T00:00:00Z", 1_709_164_800), ("1900-03-01T00:00:00Z", -2_203_891_200),
            ("2026-12-31T23:59:59.999Z", 1_798_761_599.999), ("0001-01-01T00:00:00Z", -62_135_596_800),
            ("9999-12-31T23:59:59Z", 253_402_300_799), ("2026-01-01T00:30:00+01:00", 1_767_223_800),
            ("2025-12-31T23:30:00-00:45", 1_767_226_500), ("2026-01-31t12:00:00z", 1_769_860_800),
            ("0000-03-01T00:00:00Z", -62_162_035_200), ("0000-01-01T00:00:00Z", -62_167_219_200),
        ] as [(String, Double)]
    )
    func `a text is read as that date`(text: String, seconds: Double) throws {
        #expect(try Value(json: #"{"$date":"\#(text)"}"#) == .date(secondsSince1970: seconds))
        #expect(FieldType.date.value(of: text) == .date(secondsSince1970: seconds))
    }

    @Test func `every day of four centuries follows the day before`() throws {
        let style = Date.ISO8601FormatStyle()
        for day in stride(from: -25_567.0, to: 120_530, by: 1) {
            let text = Date(timeIntervalSince1970: day * 86_400).formatted(style)
            try #require(FieldType.date.value(of: text) == .date(secondsSince1970: day * 86_400), "\(text)")
        }
    }

    @Test(arguments: [
        "2026-02-30T00:00:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z",
        "2026-01-01T24:00:00Z", "2026-01-01T25:00:00Z", "2026-01-01T00:61:00Z", "2026-12-31T23:59:60Z",
        "2026-01-01T00:00:00Zjunk", "2026-01-01T00:00:00Z ", " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00",
        "2026-01-01T00:00:00+1", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00.Z", "2026-01-01", "20260101T000000Z",
        "2026-01-01 00:00:00Z", "2026-1-1T00:00:00Z", "+2026-01-01T00:00:00Z", "２026-01-01T00:00:00Z",
        "2026-01-01T00:00Z",
    ])
    func `text that is not exactly one existing date is refused`(text: String) {
        let error = #expect(throws: ValueSetError.self) { try Value(json: #"{"a":{"$date":"\#(text)"}}"#) }
        #expect(error?.code == .invalidJSON)
        #expect(error?.keyPath == "a")
        #expect(FieldType.date.value(of: text) == nil)
    }
}
