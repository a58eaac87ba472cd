// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import RemoteSystemsTransport

/// Docs/decisions/0007: a caller stays on its connection's thread.
@Suite struct EventLoopTaskExecutorTests {
    private let loop = EmbeddedEventLoop()
    private let executor: EventLoopTaskExecutor
    private let log = Log()

    init() { self.executor = EventLoopTaskExecutor(self.loop) }

    private final class Log: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { self.lines.withLock { $0 } }
        func add(_ line: String) { self.lines.withLock { $0.append(line) } }
    }

    private func start(_ name: String) {
        Task(executorPreference: self.executor) { [log, executor] in
            log.add(name)
            if name == "outer" {
                Task(executorPreference: executor) { log.add("inner") }
            }
        }
    }

    @Test func `tasks run on the event loop, in the order in which they were enqueued`() {
        self.start("a")
        self.start("b")
        #expect(self.log.all.isEmpty)
        self.loop.run()
        #expect(self.log.all == ["a", "b"])
    }

    @Test func `a held task runs in no event-loop tick until it is released`() {
        self.executor.holdJobs()
        self.start("a")
        self.start("b")
        self.loop.run()
        #expect(self.log.all.isEmpty)
        self.executor.runJobs()
        #expect(self.log.all == ["a", "b"])
        self.start("c")
        self.loop.run()
        #expect(self.log.all.last == "c")
    }

    @Test func `a task enqueued by a task runs in a later tick, so that other work can run`() {
        self.executor.holdJobs()
        self.start("outer")
        self.executor.runJobs()
        #expect(self.log.all == ["outer"])
        self.loop.run()
        #expect(self.log.all == ["outer", "inner"])
    }
}
