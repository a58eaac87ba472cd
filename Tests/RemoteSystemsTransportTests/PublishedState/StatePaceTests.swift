// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import Testing

@testable import RemoteSystemsTransport

@Suite struct StatePaceTests {
    private static let start = ContinuousClock.now

    /// Grants 64 KiB as often as it is permitted, and returns the number of bytes.
    private func granted(by pace: StatePace, to holder: QuotaHolder, at now: ContinuousClock.Instant) -> Int {
        var bytes = 0
        while bytes < 64 << 20, pace.delay(granting: 64 << 10, to: holder, now: now) == nil { bytes += 64 << 10 }
        return bytes
    }

    @Test func `a system's whole state arrives at once, and its further changes at its own rate`() throws {
        let pace = StatePace(now: Self.start)
        let first = try GreedyPeers.peer(1)
        #expect(self.granted(by: pace, to: first, at: Self.start) == StatePace.burstOfHolder)
        let delay = try #require(pace.delay(granting: 1, to: first, now: Self.start))
        #expect(delay > .zero && delay < .seconds(1))
        let later = Self.start + .seconds(4)
        let more = self.granted(by: pace, to: first, at: later)
        #expect((4 * StatePace.rateOfHolder...4 * StatePace.rateOfHolder + 64 << 10).contains(more))
    }

    @Test func `a busy system does not delay another one, and many systems share a rate`() throws {
        let pace = StatePace(now: Self.start)
        let (first, second, third) = (try GreedyPeers.peer(1), try GreedyPeers.peer(2), try GreedyPeers.peer(3))
        _ = self.granted(by: pace, to: first, at: Self.start)
        #expect(self.granted(by: pace, to: second, at: Self.start) == StatePace.burstOfHolder)
        // The burst in all is used up by now.
        #expect(pace.delay(granting: 1, to: third, now: Self.start) != nil)
        #expect(self.granted(by: pace, to: third, at: Self.start + .seconds(1)) > 0)
    }

    @Test func `the systems of a linked account share the rate of one, and delay no system of the own account`()
        throws
    {
        let account = try #require(AccountID(bytes: [UInt8](repeating: 9, count: 32)))
        func holder(_ number: UInt8, _ standing: Standing) throws -> QuotaHolder {
            standing.quotaHolder(of: try #require(SystemID(bytes: [UInt8](repeating: number, count: 32))))
        }
        let linked = Standing.linked(account, Grants())
        let (first, second, own) = (try holder(1, linked), try holder(2, linked), try holder(3, .sameAccount(account)))
        let pace = StatePace(now: Self.start)
        #expect(self.granted(by: pace, to: first, at: Self.start) == StatePace.burstOfHolder)
        #expect(pace.delay(granting: 1, to: second, now: Self.start) != nil)
        #expect(self.granted(by: pace, to: own, at: Self.start) == StatePace.burstOfHolder)
    }
}
