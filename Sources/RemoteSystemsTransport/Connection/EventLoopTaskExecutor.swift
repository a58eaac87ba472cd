// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Runs tasks on an event loop.
///
/// A task that prefers it stays on the connection's thread when it awaits an answer. Being isolated to an actor on the
/// event loop is not enough for that: with Swift 6.3 a continuation resumes such a task on the shared pool first, which
/// costs two thread switches (`Docs/decisions/0007-no-thread-switch.md`).
package final class EventLoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    package init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.eventLoop.execute {
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }
}
