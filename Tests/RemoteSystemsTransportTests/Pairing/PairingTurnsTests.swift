// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsTransport

@Suite struct PairingTurnsTests {
    private var turns = PairingTurns()
    private let start = PairingTurns.Instant.now

    @Test mutating func `one connection at a time has the turn`() {
        let isFirst = self.turns.take(1, at: self.start)
        let isSecond = self.turns.take(2, at: self.start)
        #expect(isFirst && !isSecond)
        #expect(self.turns.isHeld(by: 1) && !self.turns.isHeld(by: 2))
        // Only the connection that has the turn ends it.
        self.turns.end(2, at: self.start)
        #expect(self.turns.isHeld(by: 1))
    }

    @Test mutating func `no connection gets a turn for some seconds after one`() {
        _ = self.turns.take(1, at: self.start)
        self.turns.end(1, at: self.start)
        let early = self.turns.take(2, at: self.start + PairingTurns.pause - .milliseconds(1))
        let later = self.turns.take(2, at: self.start + PairingTurns.pause)
        #expect(!early && later)
    }

    @Test mutating func `a man in the middle that tries digits has ten guesses`() {
        var guesses = 0
        // Far more attempts than a person waits for.
        for attempt in 0..<1000 {
            let now = self.start + .milliseconds(500 * attempt)
            guard self.turns.take(UInt64(attempt), at: now) else { continue }
            guesses += 1
            #expect(!self.turns.areOver)
            self.turns.end(UInt64(attempt), at: now)
        }
        #expect(guesses == 10)
        #expect(self.turns.areOver)
    }
}
