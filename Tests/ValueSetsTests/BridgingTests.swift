// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import ValueSets

// the platform converts a dictionary to the receiver's native type and back.
@Suite struct BridgingTests {
    @Test func `R-36: ordinary Swift values become values`() throws {
        let uuid = UUID()
        let url = try #require(URL(string: "https://example.com/"))
        let set = try ValueSet(bridging: [
            "bool": true, "int": 1, "small": Int8(-1), "large": UInt64.max, "double": 1.5, "float": Float(0.5),
            "string": "a",
            "data": Data([1]), "bytes": [1, 2] as [UInt8], "date": Date(timeIntervalSince1970: 2), "uuid": uuid,
            "url": url,
            "list": [1, 2], "mixed": [1, "a"] as [any Sendable], "nested": ["a": ["b": 1]], "null": Value.null,
        ])
        #expect(
            set == [
                "bool": true, "int": 1, "small": -1, "large": .unsigned(.max), "double": 1.5, "float": 0.5,
                "string": "a",
                "data": .data(Data([1])), "bytes": .data(Data([1, 2])), "date": .date(secondsSince1970: 2),
                "uuid": .uuid(uuid),
                "url": .url(url), "list": [1, 2], "mixed": [1, "a"], "nested": ["a": ["b": 1]], "null": .null,
            ]
        )
        #expect(try ValueSet(bridging: set.bridged) == set)
    }

    @Test(arguments: UInt64(0)..<100)
    func `R-36: a generated set survives the conversion`(seed: UInt64) throws {
        var generator = ValueGenerator(seed: seed, forPython: true)
        let set = generator.set(depth: 2)
        #expect(try ValueSet(bridging: set.bridged) == set, "seed \(seed)")
    }

    @Test func `a type without a counterpart is refused with its key path`() {
        struct Own: Sendable {}
        let error = #expect(throws: ValueSetError.self) {
            try ValueSet(bridging: ["a": ["b": [1, Own()] as [any Sendable]] as [String: any Sendable]])
        }
        #expect(error?.code == .typeMismatch)
        #expect(error?.keyPath == "a.b[1]")
        #expect(error?.found?.contains("Own") == true)
    }

    @Test func `an integer out of range is refused`() {
        #expect(throws: ValueSetError.self) { try ValueSet(bridging: ["a": Int128.max]) }
    }
}
