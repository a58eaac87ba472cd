// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsDiscovery
import Testing

@Suite struct ListenerTableTests {
    @Test func `listeners are in the order of their registration`() {
        var table = ListenerTable<String>()
        let ids = (0..<40).map { table.add("\($0)") }
        _ = table.remove(ids[7])
        #expect(table.all == (0..<40).filter { $0 != 7 }.map { "\($0)" })
    }

    @Test func `an id is never used again`() {
        var table = ListenerTable<String>()
        let first = table.add("first")
        #expect(table.removeAll() == ["first"])
        let second = table.add("second")
        #expect(first != second)
        #expect(table.remove(first) == nil)
        #expect(table[second] == "second")
    }

    @Test func `a listener is removed once`() {
        var table = ListenerTable<String>()
        let id = table.add("only")
        #expect(!table.isEmpty)
        #expect(table.remove(id) == "only")
        #expect(table.remove(id) == nil)
        #expect(table.isEmpty && table.removeAll().isEmpty)
    }
}
