// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import Testing

@testable import RemoteSystemsDesktop

/// The threads for calls that block, under a flood of calls.
@Suite struct BlockingThreadsTests {
    /// Counts what runs.
    private final class Running: Sendable {
        private let counts = Mutex((now: 0, most: 0, finished: 0))

        var now: Int { self.counts.withLock { $0.now } }
        var most: Int { self.counts.withLock { $0.most } }
        var finished: Int { self.counts.withLock { $0.finished } }

        func begin() {
            self.counts.withLock { counts in
                counts.now += 1
                counts.most = max(counts.most, counts.now)
            }
        }

        func end() {
            self.counts.withLock { counts in
                counts.now -= 1
                counts.finished += 1
            }
        }
    }

    @Test func `a flood of calls has few threads, and each call is made`() async {
        let (threads, running) = (BlockingThreads(maximum: 4), Running())
        let end = DispatchSemaphore(value: 0)
        for _ in 0..<500 {
            threads.start {
                running.begin()
                end.wait()
                running.end()
            }
        }
        #expect(threads.count == 4)
        while running.now < 4 { await Task.yield() }
        for _ in 0..<500 { end.signal() }
        while running.finished < 500 { await Task.yield() }
        #expect(running.most == 4)
        while threads.count > 0 { await Task.yield() }
    }

    @Test func `calls that hang keep no other waiting while a thread is left`() async {
        let (threads, running) = (BlockingThreads(maximum: 3), Running())
        let end = DispatchSemaphore(value: 0)
        for _ in 0..<2 {
            threads.start {
                running.begin()
                end.wait()
            }
        }
        while running.now < 2 { await Task.yield() }
        for _ in 0..<20 {
            threads.start {
                running.begin()
                running.end()
            }
        }
        while running.finished < 20 { await Task.yield() }
        #expect(running.now == 2)
        for _ in 0..<2 { end.signal() }
        while threads.count > 0 { await Task.yield() }
    }
}
