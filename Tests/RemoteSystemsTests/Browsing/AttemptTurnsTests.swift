// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystems

struct AttemptTurnsTests {
    @Test func `a key that is dropped takes no turn`() {
        var turns = AttemptTurns<Int>()
        for key in [100, 101] { turns.append(key, isNew: false) }
        for key in 0..<20 { turns.append(key, isNew: true) }
        for _ in 0..<8 { turns.dropFirst() }
        var taken: [Int?] = []
        for _ in 0..<8 { taken.append(turns.popFirst()) }
        #expect(taken == Array(8..<16).map { Optional($0) })
        // It is the turn of a key that had one. That one is dropped, too, and the next has the turn.
        turns.dropFirst()
        let next = turns.popFirst()
        #expect(next == 101)
        #expect(turns.count == 4)
    }
}
