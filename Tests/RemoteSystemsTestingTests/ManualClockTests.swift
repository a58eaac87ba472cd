// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import RemoteSystemsTesting

@Suite struct ManualClockTests {
    @Test func `a task that sleeps on the clock wakes when the clock reaches its time, not before`() async throws {
        let clock = ManualClock()
        let log = Mutex<[Duration]>([])
        let task = Task(executorPreference: clock.taskExecutor) {
            for _ in 0..<3 {
                // By the manual clock, not in real time.
                try await clock.sleep(for: .seconds(2))
                let elapsed = clock.elapsed
                log.withLock { $0.append(elapsed) }
            }
        }
        try await clock.advance(by: .seconds(1))
        #expect(log.withLock { $0 } == [])
        try await clock.advance(by: .seconds(60))
        #expect(log.withLock { $0 } == [.seconds(2), .seconds(4), .seconds(6)])
        #expect(clock.elapsed == .seconds(61))
        try await task.value
    }

    @Test func `a cancelled sleep ends at once`() async throws {
        let clock = ManualClock()
        let task = Task(executorPreference: clock.taskExecutor) { try await clock.sleep(for: .seconds(2)) }
        try await clock.settle()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.elapsed == .zero)
    }

    @Test func `sleeping until a moment in the past returns at once`() async throws {
        let clock = ManualClock()
        try await clock.sleep(until: clock.now)
        #expect(clock.elapsed == .zero)
    }

    @Test func `a task that never becomes idle is reported instead of awaited`() async throws {
        let clock = ManualClock(patience: .milliseconds(20))
        let isOver = Mutex(false)
        let task = Task(executorPreference: clock.taskExecutor) {
            while !isOver.withLock({ $0 }) { await Task.yield() }
        }
        let error = await #expect(throws: StageError.self) { try await clock.advance(by: .seconds(1)) }
        #expect(error?.message.contains("always something left to do") == true)
        isOver.withLock { $0 = true }
        await task.value
    }

    @Test func `the body of a test begins on the stage`() async throws {
        let isOnStage = try await DiscoveryStage.with { $0.clock.loop.inEventLoop }
        #expect(isOnStage)
    }

    @Test func `a task that is started on the stage without an executor is awaited, too`() async throws {
        let (clock, log) = (ManualClock(), Log())
        Task(executorPreference: clock.taskExecutor) { Task.detached { log.add(clock.loop.inEventLoop) } }
        try await clock.advance(by: .seconds(1))
        #expect(log.entries == [true])
    }

    @Test func `events due at one moment happen in the order in which they were added`() {
        var table = Timetable<String>()
        for (text, due) in [("c", 3), ("a", 1), ("b", 1), ("d", 9)] {
            table.add(text, id: table.makeID(), due: .seconds(due))
        }
        #expect(table.step(to: .seconds(5)) == ["a", "b"])
        #expect(table.now == .seconds(1))
        #expect(table.step(to: .seconds(5)) == ["c"])
        #expect(table.step(to: .seconds(5)) == [])
        #expect(table.now == .seconds(5))
        #expect(table.removeAll() == ["d"])
    }

    @Test func `a removed event does not happen`() {
        var table = Timetable<String>()
        let id = table.makeID()
        table.add("a", id: id, due: .seconds(1))
        #expect(table.remove(id) == "a")
        #expect(table.remove(id) == nil)
        #expect(table.step(to: .seconds(2)) == [])
    }
}

/// Whether pieces of work ran on the stage.
private final class Log: Sendable {
    private let state = Mutex<[Bool]>([])

    var entries: [Bool] { self.state.withLock { $0 } }
    func add(_ isOnStage: Bool) { self.state.withLock { $0.append(isOnStage) } }
}
