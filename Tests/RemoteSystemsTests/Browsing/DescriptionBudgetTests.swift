// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import Testing

@testable import RemoteSystems

@Suite struct DescriptionBudgetTests {
    static let start = ContinuousClock.now

    private func system(_ number: UInt8) throws -> QuotaHolder {
        .system(try #require(SystemID(bytes: [UInt8](repeating: number, count: 32))))
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
        let account = QuotaHolder.account(try #require(AccountID(bytes: [UInt8](repeating: 1, count: 32))))
        // One system of the account uses its time up, so another one of the account waits.
        budget.took(DescriptionBudget.burst, 100, of: account, now: Self.start)
        #expect(budget.delay(100, of: account, now: Self.start) != nil)
        #expect(budget.delay(100, of: try self.system(1), now: Self.start) == nil)
    }
}
