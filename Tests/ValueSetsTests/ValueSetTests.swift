// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import ValueSets

@Suite struct ValueSetTests {
    @Test func `keys are in canonical order, however they were inserted`() {
        let set: ValueSet = ["bb": 1, "a": 2, "é": 3, "b": 4, "": 5]
        #expect(Array(set.keys) == ["", "a", "b", "bb", "é"])
        #expect(set == ["": 5, "b": 4, "é": 3, "a": 2, "bb": 1])
        #expect(Array(set.values) == [5, 2, 4, 1, 3])
    }

    @Test func `keys are compared as bytes`() {
        let set: ValueSet = ["\u{e9}": 1, "e\u{301}": 2]
        #expect(set.count == 2)
        #expect(set["\u{e9}"] == 1 && set["e\u{301}"] == 2)
    }

    @Test func `of a duplicate key the last value wins`() {
        #expect(["a": 1, "b": 2, "a": 3] as ValueSet == ["a": 3, "b": 2])
        let many = (0..<50).map { ("key\($0 % 25)", Value($0)) }
        #expect(ValueSet(many) == ValueSet(many.suffix(25)))
    }

    @Test func `the caller chooses between values of one key`() {
        let set = ValueSet([("b", 1), ("a", 2), ("b", 3), ("b", 4)]) { earlier, later in
            .array((earlier.array ?? [earlier]) + [later])
        }
        #expect(set == ["a": 2, "b": [1, 3, 4]])
    }

    @Test func `subscripts insert, replace and remove`() {
        var set: ValueSet = [:]
        for key in ["m", "c", "zz", "a", "q"] { set[key] = .string(key) }
        set["c"] = 1
        set["zz"] = nil
        set["none"] = nil
        #expect(set == ["a": "a", "c": 1, "m": "m", "q": "q"])
        #expect(set.removeValue(forKey: "a") == "a")
        #expect(set.removeValue(forKey: "a") == nil)
        #expect(set["a"] == nil && set.count == 3)
    }

    @Test func `a null that was set is present`() {
        var set: ValueSet = [:]
        set["a"] = .null
        #expect(set["a"] == .some(.null))
        #expect(set.count == 1)
    }

    @Test func `a default is stored when changed in place`() {
        var set: ValueSet = ["n": 1]
        #expect(set["m", default: 7] == 7)
        #expect(set["m"] == nil)
        set["m", default: []] = [1]
        #expect(set == ["n": 1, "m": [1]])
    }

    // H-23: new entries are merged into the dictionary; the caller chooses which value wins.
    @Test func `merging keeps the entries of one side only`() {
        let left: ValueSet = ["a": 1, "c": 2, "ee": 3]
        let right: ValueSet = ["b": 4, "c": 5, "ff": 6]
        #expect(left.merging(right) { _, new in new } == ["a": 1, "b": 4, "c": 5, "ee": 3, "ff": 6])
        #expect(left.merging(right) { old, _ in old } == ["a": 1, "b": 4, "c": 2, "ee": 3, "ff": 6])
    }

    @Test(arguments: UInt64(0)..<50)
    func `a set behaves as a dictionary of its keys`(seed: UInt64) {
        var generator = ValueGenerator(seed: seed)
        let random = generator.set(depth: 1)
        var set: ValueSet = [:]
        for (key, value) in random.shuffled() {
            set[key] = value
            #expect(set[key] == value, "seed \(seed)")
        }
        #expect(set == random, "seed \(seed)")
        for key in random.keys.shuffled() { set[key] = nil }
        #expect(set.isEmpty, "seed \(seed)")
    }
}
