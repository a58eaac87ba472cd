// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOPosix

/// Keeps jobs on a stage that Swift's runtime would run on its global thread pool.
///
/// If a task leaves an actor for which other tasks wait, the runtime schedules the actor on the global pool, also when
/// all these tasks prefer the stage's executor. The stage would not know of that work, and time could move before it is
/// done. So what a thread schedules on the global pool while it runs a job of a stage runs on that stage.
///
/// This uses `swift_task_enqueueGlobal_hook`, which Swift's runtime has for such purposes.
enum StrayJobs {
    private typealias Schedule = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Schedule) -> Void

    private static let stage = ThreadSpecificVariable<StageEventLoop>()
    /// The hook that another library has set before. Unchecked because it is written once, before the hook that reads
    /// it is set.
    private nonisolated(unsafe) static var other: Hook?

    /// Where the runtime has no such hook, the jobs stay on the global pool.
    private static let isInstalled = {
        guard let symbol = unsafe dlsym(nil, "swift_task_enqueueGlobal_hook") else { return false }
        let hook = unsafe symbol.assumingMemoryBound(to: Hook?.self)
        unsafe Self.other = hook.pointee
        unsafe hook.pointee = { job, schedule in
            if let stage = StrayJobs.stage.currentValue { return stage.runStrayJob(job) }
            guard let other = unsafe StrayJobs.other else { return schedule(job) }
            other(job, schedule)
        }
        return true
    }()

    /// Runs a job of a stage. What it schedules on the global pool runs on the stage.
    static func keep(on stage: StageEventLoop, _ job: () -> Void) {
        guard Self.isInstalled else { return job() }
        Self.stage.currentValue = stage
        defer { Self.stage.currentValue = nil }
        job()
    }
}

extension StageEventLoop {
    fileprivate func runStrayJob(_ job: UnownedJob) {
        self.execute { unsafe job.runSynchronously(on: globalConcurrentExecutor.asUnownedTaskExecutor()) }
    }
}
