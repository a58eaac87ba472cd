// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import Testing

@testable import RemoteSystemsTransport

/// The rules for the memory that requests in flight hold.
@Suite struct HeldMemoryTests {
    private var memory = HeldMemory(allowance: 16 << 10)

    /// Lets the requests hold so many bytes more. Returns how many of them are reserved.
    private mutating func hold(_ bytes: Int) -> Int {
        let missing = self.memory.missing(for: bytes)
        self.memory.reserve(missing)
        return missing
    }

    @Test mutating func `requests within the allowance use no budget`() {
        for bytes in [1, 1_000, 16 << 10] { #expect(self.hold(bytes) == 0) }
        #expect(self.memory.release(for: 0) == 0)
    }

    @Test mutating func `bytes beyond the allowance are reserved in steps, and returned`() {
        #expect(self.hold(16 << 10 + 1) == 16 << 10)
        #expect(self.hold(32 << 10) == 0)
        #expect(self.hold(1 << 20) == (1 << 20) - (32 << 10))
        #expect(self.memory.release(for: 100 << 10) == (1 << 20) - (16 << 10) - (112 << 10))
        #expect(self.memory.reserved == 112 << 10)
        #expect(self.memory.release(for: 0) == 112 << 10)
        #expect(self.memory.reserved == 0)
    }

    @Test mutating func `a number of bytes that goes up and down around the allowance reserves once`() {
        #expect(self.hold(17 << 10) == 16 << 10)
        for _ in 0..<10 {
            #expect(self.memory.release(for: 15 << 10) == 0)
            #expect(self.hold(17 << 10) == 0)
        }
        #expect(self.memory.release(for: 0) == 16 << 10)
    }

    @Test mutating func `what is held is always reserved, except for the allowance`() {
        var random = SplitMix64(state: 1)
        for _ in 0..<10_000 {
            let bytes = Int.random(in: 0...200_000, using: &random)
            if Bool.random(using: &random) { _ = self.hold(bytes) } else { _ = self.memory.release(for: bytes) }
            let missing = self.memory.missing(for: bytes)
            #expect(missing == 0 || bytes > self.memory.reserved + (16 << 10))
            if missing > 0 { _ = self.hold(bytes) }
            #expect(self.memory.reserved + (16 << 10) >= bytes)
        }
        _ = self.memory.release(for: 0)
        #expect(self.memory.reserved == 0)
    }

    // MARK: The budget

    @Test func `one peer gets a quarter of the budget, and several leave some for the next`() throws {
        let budget = MemoryBudget(messageBytes: 1 << 20)
        let reserved = try GreedyPeers.reserveAll { budget.requests.reserve($0, for: $1) }
        #expect(reserved.first == 16 << 20)
        #expect(budget.requests.bytes == reserved.all && reserved.all < 64 << 20)
        #expect(budget.requests.reserve(16 << 10, for: try GreedyPeers.peer(21)))
    }

    @Test func `one peer's unread responses get a quarter of the budget, and the longest response fits`() throws {
        let budget = MemoryBudget(messageBytes: 1 << 20)
        let longest = ConnectionLimits.maxMessageBytes + (128 << 10)
        #expect(budget.responses.reserve(longest, for: try GreedyPeers.peer(1)))
        let reserved = try GreedyPeers.reserveAll { budget.responses.reserve($0, for: $1) }
        #expect(longest + reserved.first <= 32 << 20)
        #expect(budget.responses.bytes == longest + reserved.all && budget.responses.bytes < 128 << 20)
        #expect(budget.responses.reserve(16 << 10, for: try GreedyPeers.peer(21)))
    }

    @Test func `the requests that one connection may have in flight fit into a peer's share`() throws {
        for (message, window) in [(1 << 10, 1 << 10), (1 << 20, 8 << 20), (16 << 20, 16 << 20), (1 << 20, 100 << 20)] {
            let budget = MemoryBudget(messageBytes: message, windowBytes: window)
            let holder = try GreedyPeers.peer(1)
            var memory = HeldMemory(allowance: budget.enter(holder))
            let missing = memory.missing(for: window)
            #expect(missing == 0 || budget.requests.reserve(missing, for: holder))
            memory.reserve(missing)
            budget.requests.release(memory.release(for: 0), for: holder)
            #expect(budget.requests.bytes == 0)
        }
    }

    @Test func `the first connections of a peer have the full allowance, and further ones a smaller one`() throws {
        let budget = MemoryBudget(messageBytes: 1 << 20)
        let (one, other) = (try GreedyPeers.peer(1), try GreedyPeers.peer(2))
        for _ in 0..<64 { #expect(budget.enter(one) == 16 << 10) }
        for _ in 0..<3 { #expect(budget.enter(one) == 4 << 10) }
        #expect(budget.enter(other) == 16 << 10)
        budget.leave(one, allowance: 4 << 10)
        #expect(budget.enter(one) == 4 << 10)
        budget.leave(one, allowance: 16 << 10)
        #expect(budget.enter(one) == 16 << 10)
    }

    @Test func `however many peers there are, few connections have the full allowance`() throws {
        let budget = MemoryBudget(messageBytes: 1 << 20)
        var count = 0
        for number in 1...50 as ClosedRange<UInt8> {
            let holder = try GreedyPeers.peer(number)
            for _ in 0..<100 where budget.enter(holder) == 16 << 10 { count += 1 }
        }
        #expect((900...1_024).contains(count))
    }
}
