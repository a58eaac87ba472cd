// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystemsIdentity
import Testing

@testable import RemoteSystemsTransport

/// The rules for frames that have arrived in part.
@Suite struct UnfinishedFrameTests {
    private var frame = UnfinishedFrame(time: .seconds(30), now: .at(0))

    @Test mutating func `a small frame uses no budget, and has 30 s`() {
        #expect(self.frame.read(length: nil, arrived: 2) == .nothing)
        #expect(self.frame.read(length: 16 << 10, arrived: 100) == .nothing)
        #expect(self.frame.timerWentOff(now: .at(30_900)) == .wait)
        #expect(self.frame.timerWentOff(now: .at(31_000)) == .giveUp)
    }

    @Test mutating func `a long frame has the time that it takes at 16 KiB a second in addition, once`() {
        #expect(self.frame.read(length: 1 << 20, arrived: 5) == .reserve(1 << 20))
        #expect(self.frame.reserved(true, arrived: 5, now: .at(0)) == .read)
        for second in 1..<94 as Range<Int64> {
            #expect(self.frame.read(length: 1 << 20, arrived: 5 + Int(second)) == .nothing)
        }
        #expect(self.frame.timerWentOff(now: .at(93_999)) == .wait)
        #expect(self.frame.timerWentOff(now: .at(94_000)) == .giveUp)
    }

    @Test mutating func `a frame that waits for the budget is counted, and the wait does not shorten its time`() {
        #expect(self.frame.read(length: 1 << 20, arrived: 1_000) == .reserve(1 << 20))
        #expect(self.frame.reserved(false, arrived: 1_000, now: .at(0)) == .wait(1_000))
        self.frame.counted(1_000)
        #expect(self.frame.read(length: 1 << 20, arrived: 5_000) == .wait(4_000))
        self.frame.counted(4_000)
        #expect(self.frame.missing == 1 << 20)
        #expect(self.frame.reserved(false, arrived: 5_000, now: .at(9_000)) == .wait(0))
        #expect(self.frame.reserved(true, arrived: 5_000, now: .at(9_500)) == .read)
        #expect(self.frame.reserved == 1 << 20)
        #expect(self.frame.missing == nil)
        #expect(self.frame.timerWentOff(now: .at(103_000)) == .wait)
        #expect(self.frame.timerWentOff(now: .at(103_500)) == .giveUp)
    }

    @Test mutating func `a frame that waits for ten seconds gives up`() {
        _ = self.frame.read(length: 1 << 20, arrived: 1_000)
        _ = self.frame.reserved(false, arrived: 1_000, now: .at(0))
        #expect(self.frame.reserved(false, arrived: 1_000, now: .at(10_000)) == .giveUp)
    }

    @Test func `a smaller allowance makes shorter frames count`() {
        var frame = UnfinishedFrame(time: .seconds(30), allowance: MemoryBudget.allowanceOfFurther, now: .at(0))
        #expect(frame.read(length: 4 << 10, arrived: 5) == .nothing)
        frame = UnfinishedFrame(time: .seconds(30), allowance: MemoryBudget.allowanceOfFurther, now: .at(0))
        #expect(frame.read(length: 8 << 10, arrived: 5) == .reserve(8 << 10))
    }

    // MARK: The budget

    @Test func `one peer gets a quarter of the budget, and several leave some for the next`() throws {
        let budget = MemoryBudget(messageBytes: 1 << 20)
        let reserved = try GreedyPeers.reserveAll { budget.frames.reserve($0, for: $1) }
        #expect(reserved.first == 16 << 20)
        #expect(budget.frames.bytes == reserved.all && reserved.all < 64 << 20)
        #expect(budget.frames.reserve(20 << 10, for: try GreedyPeers.peer(21)))
    }

    @Test func `a message of any permitted size fits into a peer's share`() throws {
        for size in [1 << 10, 1 << 20, ConnectionLimits.maxMessageBytes] {
            let holder = try GreedyPeers.peer(1)
            #expect(MemoryBudget(messageBytes: size).frames.reserve(size + 4, for: holder))
        }
    }

    @Test func `what is released can be used again`() throws {
        let budget = MemoryBudget(messageBytes: 1 << 20, waitingBytes: 100, waitingBytesEach: 50)
        let holder = try GreedyPeers.peer(1)
        #expect(budget.waiting.reserve(50, for: holder))
        #expect(!budget.waiting.reserve(1, for: holder))
        #expect(budget.frames.reserve(1 << 20, for: holder))
        budget.frames.release(1 << 20, for: holder)
        budget.waiting.release(50, for: holder)
        #expect(budget.frames.bytes == 0 && budget.waiting.bytes == 0)
        #expect(budget.waiting.reserve(50, for: holder))
    }
}
