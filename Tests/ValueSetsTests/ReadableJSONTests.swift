// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import ValueSets

@Suite struct ReadableJSONTests {
    @Test func `values are written without tags for readers`() throws {
        let set: ValueSet = [
            "double": 22.0, "half": 0.5, "integer": 22, "none": .null, "date": .date(secondsSince1970: 1_769_860_800),
            "data": .data(Data([1, 2])), "text": "a \"b\"\n\u{1}", "list": [1, [:], []],
            "url": Value.url(try #require(URL(string: "https://example.com/a"))), "set": .set(["b", "a"]),
            "far": .date(secondsSince1970: 1e15), "endless": .double(.infinity),
        ]
        #expect(
            set.readableJSON == """
                {
                  "data" : "AQI=",
                  "date" : "2026-01-31T12:00:00Z",
                  "double" : 22.0,
                  "endless" : "Infinity",
                  "far" : "1000000000000000.0 s since 1970",
                  "half" : 0.5,
                  "integer" : 22,
                  "list" : [
                    1,
                    {},
                    []
                  ],
                  "none" : null,
                  "set" : [
                    "a",
                    "b"
                  ],
                  "text" : "a \\"b\\"\\n\\u0001",
                  "url" : "https://example.com/a"
                }
                """
        )
    }
}
