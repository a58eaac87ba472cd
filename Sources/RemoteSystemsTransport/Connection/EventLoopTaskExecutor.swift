// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
internal import Synchronization

/// Runs tasks on an event loop.
///
/// A task that prefers this executor stays on the connection's thread when it awaits a response. Isolation to an actor
/// on the event loop is not enough: with Swift 6.3 a continuation resumes such a task on the shared pool first, which
/// costs two thread switches (`Docs/decisions/0007-no-thread-switch.md`).
package final class EventLoopTaskExecutor: TaskExecutor {
    private struct Jobs {
        var waiting: [UnownedJob] = []
        /// Whether a call of `runJobs()` is pending. ``enqueue(_:)`` schedules one otherwise.
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

    /// Holds the jobs that are enqueued from now on until ``runJobs()``, which the caller must call soon. When many
    /// responses are handled at once, their callers then continue together instead of in one turn of the event loop
    /// each.
    func holdJobs() {
        self.jobs.withLock { $0.isTurnDue = true }
    }

    /// Runs the enqueued jobs, on the event loop. Jobs that these enqueue run in a later turn, so that I/O is handled
    /// in between.
    func runJobs() {
        var taken = self.jobs.withLock { jobs in
            jobs.isTurnDue = false
            var taken: [UnownedJob] = []
            swap(&taken, &jobs.waiting)
            return taken
        }
        guard !taken.isEmpty else { return }
        for job in taken {
            // Run without isolation to an actor. Most jobs are not isolated, and would be enqueued again to leave an
            // actor.
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
        // Reuse the array's storage for the next jobs.
        taken.removeAll(keepingCapacity: taken.count <= Self.maxKept)
        self.jobs.withLock { if $0.waiting.isEmpty { swap(&taken, &$0.waiting) } }
    }

    private static var maxKept: Int { 256 }
}
