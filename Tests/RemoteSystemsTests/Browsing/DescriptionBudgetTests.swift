// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

@Suite struct DescriptionBudgetTests {
    static let start = ContinuousClock.now

    private func system(_ number: UInt8) throws -> QuotaHolder {
        .system(try #require(SystemID(bytes: [UInt8](repeating: number, count: 32))))
    }

    private func account(_ number: UInt8) throws -> QuotaHolder {
        .account(try #require(AccountID(bytes: [UInt8](repeating: number, count: 32))))
    }

    /// Applies descriptions as often as permitted; returns how many in a time.
    private func applied(
        _ bytes: Int,
        _ cost: Duration,
        systems: ClosedRange<UInt8>,
        in time: Duration
    ) throws -> Int {
        var budget = DescriptionBudget(now: Self.start)
        var now = Self.start
        var count = 0
        while now < Self.start + time {
            var earliest: ContinuousClock.Instant?
            for number in systems {
                let system = try self.system(number)
                if let later = budget.delay(bytes, of: system, now: now) {
                    #expect(later > now)
                    earliest = earliest.map { min($0, later) } ?? later
                } else {
                    budget.took(cost, bytes, of: system, now: now)
                    count += 1
                    now = now + cost
                    earliest = now
                }
            }
            now = max(now, earliest ?? now)
        }
        return count
    }

    @Test func `one system takes a twentieth of the time in the long run`() throws {
        let count = try applied(700_000, .milliseconds(100), systems: 1...1, in: .seconds(100))
        #expect((50...57).contains(count))
    }

    @Test func `large descriptions of many systems take a quarter of the time in all`() throws {
        let count = try applied(700_000, .milliseconds(100), systems: 1...100, in: .seconds(100))
        #expect((240...265).contains(count))
    }

    @Test func `small changes of one system are limited to fifty a second`() throws {
        let count = try applied(100, .microseconds(10), systems: 1...1, in: .seconds(20))
        #expect(count <= 20 * 50 + 500 + 1)
    }

    @Test func `a small description waits for no other system`() throws {
        var budget = DescriptionBudget(now: Self.start)
        for number in UInt8(1)...100 {
            budget.took(.seconds(1), 700_000, of: try self.system(number), now: Self.start)
        }
        #expect(budget.delay(DescriptionBudget.largeBytes, of: try self.system(101), now: Self.start) == nil)
        #expect(budget.delay(DescriptionBudget.largeBytes + 1, of: try self.system(101), now: Self.start) != nil)
        #expect(budget.delay(10, of: try self.system(1), now: Self.start) != nil)
    }

    @Test func `the systems of a linked account share its time, and delay no system of the own account`() throws {
        var budget = DescriptionBudget(now: Self.start)
        let account = try self.account(1)
        // One system of the account uses its time up, so another one of the account waits.
        budget.took(DescriptionBudget.burst, 100, of: account, now: Self.start)
        #expect(budget.delay(100, of: account, now: Self.start) != nil)
        #expect(budget.delay(100, of: try self.system(1), now: Self.start) == nil)
    }

    /// The time that each of these linked accounts takes in 30 seconds with short descriptions, as many as permitted.
    /// A further one has one each second, and never waits.
    private func taken(by busy: [QuotaHolder]) throws -> [Duration] {
        var budget = DescriptionBudget(now: Self.start)
        let cost = Duration.milliseconds(5)
        let modest = try self.account(0)
        var taken = [Duration](repeating: .zero, count: busy.count)
        for step in 0..<1500 {
            let now = Self.start + .milliseconds(20 * step)
            for (index, account) in busy.enumerated() where budget.delay(100, of: account, now: now) == nil {
                budget.took(cost, 100, of: account, now: now)
                taken[index] += cost
            }
            if step.isMultiple(of: 50) {
                #expect(budget.delay(100, of: modest, now: now) == nil)
                budget.took(cost, 100, of: modest, now: now)
            }
        }
        return taken
    }

    @Test func `linked accounts take a fifth of the time in all, in equal parts, and one alone a twentieth`() throws {
        // A fifth of 30 s, and what they may use at once.
        let taken = try self.taken(by: (1...19).map(self.account))
        let total = taken.reduce(.zero, +)
        #expect(total > .seconds(5.5) && total < .seconds(7.2))
        #expect(taken.allSatisfy { $0 > .milliseconds(280) && $0 < .milliseconds(450) })
        let alone = try self.taken(by: [self.account(1)]).reduce(.zero, +)
        #expect(alone > .seconds(1.8) && alone < .seconds(2.2))
    }

    @Test func `linked accounts that use up their time delay no system of the own account`() throws {
        var budget = DescriptionBudget(now: Self.start)
        for number in UInt8(1)...100 {
            budget.took(.seconds(1), 100, of: try self.account(number), now: Self.start)
        }
        #expect(budget.delay(100, of: try self.account(1), now: Self.start) != nil)
        // One that has used nothing does not wait, either.
        #expect(budget.delay(100, of: try self.account(101), now: Self.start) == nil)
        #expect(budget.delay(100, of: try self.system(1), now: Self.start) == nil)
    }

    @Test func `when other linked accounts stop, the part of one grows within seconds`() throws {
        var budget = DescriptionBudget(now: Self.start)
        for number in UInt8(1)...100 {
            budget.took(.milliseconds(5), 100, of: try self.account(number), now: Self.start)
        }
        let busy = try self.account(1)
        var now = Self.start
        var count = 0
        while now < Self.start + .seconds(40) {
            if let later = budget.delay(100, of: busy, now: now) {
                #expect(later > now && later <= now + FairShare<QuotaHolder>.maxWait)
                now = later
            } else {
                budget.took(.milliseconds(5), 100, of: busy, now: now)
                count += 1
            }
        }
        // A twentieth of 40 s, and the half second at once, less what it waited at the beginning.
        #expect((400...500).contains(count))
    }
}
