// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsIdentity
import Testing

@testable import RemoteSystems

/// How often peers may present what changes trust.
@Suite struct TrustPaceTests {
    private static let start = ContinuousClock.now

    private static func system(_ number: Int) throws -> SystemID {
        let bytes = [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
        return try #require(SystemID(bytes: bytes + [UInt8](repeating: 7, count: 30)))
    }

    /// Presents until there is a delay, and returns how many were accepted.
    private static func accepted(by pace: inout TrustPace, of system: SystemID, after time: Duration = .zero) -> Int {
        var count = 0
        while count < 1000, pace.delayOfLinked(from: system, at: Self.start + time) == nil { count += 1 }
        return count
    }

    @Test func `a system presents 48 at once, as many as two systems with all links differ in`() throws {
        var pace = TrustPace()
        let count = Self.accepted(by: &pace, of: try Self.system(1))
        #expect(count == 48)
        #expect(count == 2 * LinkList.maxLinks)
    }

    @Test func `after its first 48, a system waits half a second for each`() throws {
        let system = try Self.system(1)
        var pace = TrustPace()
        _ = Self.accepted(by: &pace, of: system)
        var time = Duration.zero
        for _ in 0..<5 {
            let next = pace.delayOfLinked(from: system, at: Self.start + time)
            let delay = try #require(next)
            #expect(delay >= .milliseconds(499) && delay <= .milliseconds(501))
            // The delay suffices: there is one then, and no second one.
            time += delay
            let count = Self.accepted(by: &pace, of: system, after: time)
            #expect(count == 1)
        }
    }

    @Test func `an attempt that has to wait takes nothing, and the delay counts down`() throws {
        let system = try Self.system(1)
        var pace = TrustPace()
        _ = Self.accepted(by: &pace, of: system)
        for _ in 0..<100 { _ = pace.delayOfLinked(from: system, at: Self.start) }
        let delays = [400, 499].map { pace.delayOfLinked(from: system, at: Self.start + .milliseconds($0)) }
        let (first, second) = (try #require(delays[0]), try #require(delays[1]))
        #expect(first >= .milliseconds(99) && first <= .milliseconds(101))
        #expect(second > .zero && second <= .milliseconds(2))
    }

    @Test(arguments: [(1, 2), (10, 20), (24, 48), (86_400, 48)])
    func `two return in a second, up to 48`(seconds: Int, count: Int) throws {
        let system = try Self.system(1)
        var pace = TrustPace()
        _ = Self.accepted(by: &pace, of: system)
        let accepted = Self.accepted(by: &pace, of: system, after: .seconds(seconds))
        #expect(accepted == count)
    }

    @Test func `each system has its own allowance, and keeps its delay while others present`() throws {
        let first = try Self.system(0)
        var pace = TrustPace()
        _ = Self.accepted(by: &pace, of: first)
        // More systems than the table holds before it drops those that have their whole allowance.
        for number in 1...200 {
            let count = Self.accepted(by: &pace, of: try Self.system(number))
            #expect(count == 48)
        }
        let delay = pace.delayOfLinked(from: first, at: Self.start)
        #expect(delay != nil)
    }

    @Test func `a system may change what it presents 64 times at once, then four times a second`() throws {
        let (first, second) = (try Self.system(1), try Self.system(2))
        var pace = TrustPace()
        for _ in 0..<64 {
            let delay = pace.delay(of: first, nil, at: Self.start)
            #expect(delay == nil)
        }
        let next = pace.delay(of: first, nil, at: Self.start)
        let delay = try #require(next)
        #expect(delay >= .milliseconds(249) && delay <= .milliseconds(251))
        let later = (0..<100).count { _ in pace.delay(of: first, nil, at: Self.start + .seconds(10)) == nil }
        #expect(later == 40)
        // Another system does not wait, and what is known of linked accounts counts apart.
        let other = pace.delay(of: second, nil, at: Self.start + .seconds(10))
        let linked = pace.delayOfLinked(from: first, at: Self.start + .seconds(10))
        #expect(other == nil && linked == nil)
    }

    @Test func `the systems of a linked account count together, too, and one leaves turns for the others`() throws {
        let account = try AccountAuthority(creatingAt: Date()).roots.accountID
        var pace = TrustPace()
        let counts = try (1...5).map { number in
            let system = try Self.system(number)
            return (0..<100).count { _ in pace.delay(of: system, account, at: Self.start) == nil }
        }
        #expect(counts == [64, 64, 64, 64, 0])
        // The first system takes its four a second, and the account has sixteen.
        let later = try [1, 5].map { number in
            let system = try Self.system(number)
            return (0..<100).count { _ in pace.delay(of: system, account, at: Self.start + .seconds(1)) == nil }
        }
        #expect(later == [4, 12])
    }

    @Test func `of a linked account, eight changes are stored at once, then one in ten seconds`() throws {
        let account = try AccountAuthority(creatingAt: Date()).roots.accountID
        let other = try AccountAuthority(creatingAt: Date()).roots.accountID
        var pace = TrustPace()
        func stored(after time: Duration) -> Int {
            (0..<100).count { _ in
                guard pace.delayOfStoring(of: account, at: Self.start + time) == nil else { return false }
                pace.noteStored(of: account, at: Self.start + time)
                return true
            }
        }
        let atOnce = stored(after: .zero)
        #expect(atOnce == 8)
        let next = pace.delayOfStoring(of: account, at: Self.start)
        let delay = try #require(next)
        #expect(delay >= .milliseconds(9_999) && delay <= .milliseconds(10_001))
        let later = stored(after: .seconds(60))
        #expect(later == 6)
        let ofOther = pace.delayOfStoring(of: other, at: Self.start + .seconds(60))
        #expect(ofOther == nil)
        // What several connections have stored at once, the account waits for afterwards.
        for _ in 0..<3 { pace.noteStored(of: account, at: Self.start + .seconds(60)) }
        let counts = [stored(after: .seconds(95)), stored(after: .seconds(105))]
        #expect(counts == [0, 1])
    }
}
