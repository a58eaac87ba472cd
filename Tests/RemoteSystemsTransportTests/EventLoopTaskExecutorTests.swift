// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import RemoteSystemsTransport

/// Docs/decisions/0007: a caller stays on its connection's thread.
@Suite struct EventLoopTaskExecutorTests {
    private let loop = NIOAsyncTestingEventLoop()
    private let executor: EventLoopTaskExecutor
    private let log = Log()

    init() { self.executor = EventLoopTaskExecutor(self.loop) }

    private final class Log: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { self.lines.withLock { $0 } }
        func add(_ line: String) { self.lines.withLock { $0.append(line) } }
    }

    private func start(_ name: String) {
        Task(executorPreference: self.executor) { [log, loop, executor] in
            log.add("\(name) \(loop.inEventLoop)")
            if name == "outer" {
                Task(executorPreference: executor) { log.add("inner") }
            }
        }
    }

    @Test func `tasks run on the event loop, in the order in which they were enqueued`() async {
        self.start("a")
        self.start("b")
        #expect(self.log.all.isEmpty)
        await self.loop.run()
        #expect(self.log.all == ["a true", "b true"])
        await self.loop.shutdownGracefully()
    }

    @Test func `what is held takes no turn of the event loop, and runs when it is time`() async throws {
        self.executor.holdJobs()
        self.start("a")
        self.start("b")
        await self.loop.run()
        #expect(self.log.all.isEmpty)
        try await self.loop.executeInContext { self.executor.runJobs() }
        #expect(self.log.all == ["a true", "b true"])
        self.start("c")
        await self.loop.run()
        #expect(self.log.all.last == "c true")
        await self.loop.shutdownGracefully()
    }

    @Test func `what a task enqueues waits for another turn, so that it cannot keep the event loop for itself`()
        async throws
    {
        self.executor.holdJobs()
        self.start("outer")
        try await self.loop.executeInContext { self.executor.runJobs() }
        #expect(self.log.all == ["outer true"])
        await self.loop.run()
        #expect(self.log.all == ["outer true", "inner"])
        await self.loop.shutdownGracefully()
    }
}
