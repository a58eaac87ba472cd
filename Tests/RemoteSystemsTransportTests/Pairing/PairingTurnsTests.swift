// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsTransport

@Suite struct PairingTurnsTests {
    private var turns = PairingTurns()
    private let start = PairingTurns.Instant.now

    private static func peer(_ number: Int) -> PeerKey {
        PeerKey(transport: .ip, "\(number)".utf8)
    }

    /// Lets a connection of a peer try to take the turn. If it gets the turn, it ends it at once.
    private mutating func attempt(of number: Int, after time: Duration) -> Bool {
        guard self.turns.take(1, of: Self.peer(number), at: self.start + time) else { return false }
        self.turns.end(1, at: self.start + time)
        return true
    }

    @Test mutating func `one connection at a time has the turn`() {
        let isFirst = self.turns.take(1, of: Self.peer(1), at: self.start)
        let isSecond = self.turns.take(2, of: Self.peer(2), at: self.start)
        #expect(isFirst && !isSecond)
        #expect(self.turns.isHeld(by: 1) && !self.turns.isHeld(by: 2))
        // Only the connection that has the turn ends it.
        self.turns.end(2, at: self.start)
        #expect(self.turns.isHeld(by: 1))
    }

    @Test mutating func `no connection gets a turn for some seconds after one`() {
        _ = self.turns.take(1, of: Self.peer(1), at: self.start)
        self.turns.end(1, at: self.start)
        let early = self.turns.take(2, of: Self.peer(2), at: self.start + PairingTurns.pause - .milliseconds(1))
        let later = self.turns.take(2, of: Self.peer(2), at: self.start + PairingTurns.pause)
        #expect(!early && later)
    }

    @Test mutating func `a man in the middle that tries digits has ten guesses, with any number of addresses`() {
        var guesses = 0
        // Far more attempts than a person waits for.
        for attempt in 0..<1000 {
            let now = self.start + .milliseconds(500 * attempt)
            guard self.turns.take(UInt64(attempt), of: Self.peer(attempt), at: now) else { continue }
            guesses += 1
            #expect(!self.turns.areOver)
            self.turns.end(UInt64(attempt), at: now)
        }
        #expect(guesses == 10)
        #expect(self.turns.areOver)
    }

    @Test mutating func `one peer has three turns of the ten, and others have the rest`() {
        let prompts = (0..<1000).count { self.attempt(of: 1, after: .seconds($0)) }
        #expect(prompts == 3)
        #expect(!self.turns.areOver)
        var others: [Int] = []
        for peer in 2...8 {
            let isPrompted = self.attempt(of: peer, after: .seconds(1000 + 2 * peer))
            if isPrompted { others.append(peer) }
        }
        #expect(others == Array(2...8))
        #expect(self.turns.areOver)
    }

    @Test mutating func `a peer that was refused and had fewer turns gets the next one`() {
        _ = self.turns.take(1, of: Self.peer(1), at: self.start)
        let whileHeld = self.attempt(of: 2, after: .seconds(1))
        self.turns.end(1, at: self.start + .seconds(30))
        let duringPause = self.attempt(of: 2, after: .seconds(31))
        let repeated = self.attempt(of: 1, after: .seconds(32))
        #expect(!whileHeld && !duringPause && !repeated)
        let next = self.attempt(of: 2, after: .seconds(33))
        #expect(next)
        // They have had one each, so the first one to come gets it.
        let same = self.attempt(of: 1, after: .seconds(35))
        #expect(same)
    }

    @Test mutating func `a peer that does not come back delays others once, for fifteen seconds`() {
        _ = self.turns.take(1, of: Self.peer(1), at: self.start)
        _ = self.attempt(of: 2, after: .zero)
        self.turns.end(1, at: self.start)
        let end = PairingTurns.pause + PairingTurns.precedence
        let early = self.attempt(of: 1, after: end - .milliseconds(1))
        let later = self.attempt(of: 1, after: end)
        #expect(!early && later)
        let again = self.attempt(of: 1, after: end + PairingTurns.pause)
        #expect(again)
    }

    @Test mutating func `a peer that continues beyond its limit of attempts delays no other peer`() {
        for number in 0..<3 { _ = self.attempt(of: 1, after: .seconds(2 * number)) }
        for number in 3..<5 { _ = self.attempt(of: 2, after: .seconds(2 * number)) }
        let spent = self.attempt(of: 1, after: .seconds(9))
        let next = self.attempt(of: 2, after: .seconds(10))
        #expect(!spent && next)
    }
}
