// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsTransport

@Suite struct StatePaceTests {
    private static let start = ContinuousClock.now

    /// Grants 64 KiB as often as it is permitted, and returns the number of bytes.
    private func granted(by pace: StatePace, to peer: String, at now: ContinuousClock.Instant) -> Int {
        var bytes = 0
        while bytes < 64 << 20, pace.delay(granting: 64 << 10, to: peer, now: now) == nil { bytes += 64 << 10 }
        return bytes
    }

    @Test func `a system's whole state arrives at once, and its further changes at its own rate`() throws {
        let pace = StatePace(now: Self.start)
        #expect(self.granted(by: pace, to: "a", at: Self.start) == StatePace.burstOfPeer)
        let delay = try #require(pace.delay(granting: 1, to: "a", now: Self.start))
        #expect(delay > .zero && delay < .seconds(1))
        let later = Self.start + .seconds(4)
        let more = self.granted(by: pace, to: "a", at: later)
        #expect((4 * StatePace.rateOfPeer...4 * StatePace.rateOfPeer + 64 << 10).contains(more))
    }

    @Test func `a busy system does not delay another one, and many systems share a rate`() {
        let pace = StatePace(now: Self.start)
        _ = self.granted(by: pace, to: "a", at: Self.start)
        #expect(self.granted(by: pace, to: "b", at: Self.start) == StatePace.burstOfPeer)
        // The burst in all is used up by now.
        #expect(pace.delay(granting: 1, to: "c", now: Self.start) != nil)
        #expect(self.granted(by: pace, to: "c", at: Self.start + .seconds(1)) > 0)
    }
}
