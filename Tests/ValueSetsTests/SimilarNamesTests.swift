// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import ValueSets

@Suite struct SimilarNamesTests {
    @Test(
        arguments: [
            ("pnig", ["ping", "serve"], "ping"), ("Volume", ["volume"], "volume"),
            ("volume", ["com.example.volume", "com.example.other"], "com.example.volume"),
            ("volum", ["com.example.volume"], "com.example.volume"),
            ("remote-systems.pnig", ["remote-systems.ping"], "remote-systems.ping"),
            ("atl", ["atlas", "zeus"], "atlas"), ("Level", ["Lebel", "Levels"], "Lebel"),
            ("ping", ["ping", "pong"], nil), ("nothing", ["ping", "volume"], nil), ("", ["a"], nil), ("a", ["b"], nil),
            ("x", [], nil),
        ] as [(String, [String], String?)]
    )
    func `the probable name is found, and no other`(name: String, names: [String], meant: String?) {
        #expect(SimilarNames.closest(to: name, among: names) == meant)
        #expect(SimilarNames.question(for: name, among: names) == (meant.map { " Did you mean '\($0)'?" } ?? ""))
    }

    @Test func `many long names of a peer cost little`() {
        let long = String(repeating: "a", count: 1 << 16)
        #expect(SimilarNames.closest(to: long, among: [long + "b"]) == nil)
        #expect(SimilarNames.closest(to: "name", among: (0..<100_000).map { "\(long.prefix(300))\($0)" }) == nil)
    }

    @Test func `names in a sentence are sorted, unique, and limited in number`() {
        #expect(NameList.text([]) == "none")
        #expect(NameList.text(["b"]) == "b")
        #expect(NameList.text(["b", "a", "b"]) == "a and b")
        #expect(NameList.text(["c", "b", "a"]) == "a, b and c")
        #expect(NameList.text((0..<20).map { "\($0 + 10)" }) == "10, 11, 12, 13, 14, 15, 16, 17 and 12 more")
    }
}
