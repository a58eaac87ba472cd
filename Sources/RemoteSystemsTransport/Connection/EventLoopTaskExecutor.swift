// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
internal import Synchronization

/// Runs tasks on an event loop.
///
/// A task that prefers it stays on the connection's thread when it awaits an answer. Being isolated to an actor on the
/// event loop is not enough for that: with Swift 6.3 a continuation resumes such a task on the shared pool first, which
/// costs two thread switches (`Docs/decisions/0007-no-thread-switch.md`).
package final class EventLoopTaskExecutor: TaskExecutor {
    private struct Jobs {
        var waiting: [UnownedJob] = []
        /// Somebody is going to run them: they need not be seen to.
        var isTurnDue = false
    }

    private let eventLoop: any EventLoop
    private let jobs = Mutex(Jobs())

    package init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let needsTurn = self.jobs.withLock { jobs in
            jobs.waiting.append(job)
            defer { jobs.isTurnDue = true }
            return !jobs.isTurnDue
        }
        if needsTurn { self.eventLoop.execute { self.runJobs() } }
    }

    /// What is enqueued from now on waits for ``runJobs()``, which the caller promises to call soon. Whoever handles many answers at
    /// once has their callers go on together, without a turn of the event loop for each.
    func holdJobs() {
        self.jobs.withLock { $0.isTurnDue = true }
    }

    /// Runs what has been enqueued, on the event loop. What is enqueued by that gets a turn of its own, so that I/O comes in between.
    func runJobs() {
        var taken = self.jobs.withLock { jobs in
            jobs.isTurnDue = false
            var taken: [UnownedJob] = []
            swap(&taken, &jobs.waiting)
            return taken
        }
        guard !taken.isEmpty else { return }
        for job in taken {
            // Isolated to no actor: most of what runs here is not either, and would be enqueued again to get away from one.
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
        // The next ones need not ask for memory.
        taken.removeAll(keepingCapacity: taken.count <= Self.maxKept)
        self.jobs.withLock { if $0.waiting.isEmpty { swap(&taken, &$0.waiting) } }
    }

    private static var maxKept: Int { 256 }
}
