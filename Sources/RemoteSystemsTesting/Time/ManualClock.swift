// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// A clock that stands still until a test moves it.
///
/// Everything of a ``DiscoveryStage`` goes by it: keep-alive, deadlines, retries, the delays of its links. Code under test
/// that takes a `Clock` can go by it too. Only dates and the ends of certificates are those of the real world.
public final class ManualClock: Clock, Sendable {
    /// The same as a real clock's, so that code under test need not be generic over clocks.
    public typealias Instant = ContinuousClock.Instant

    let scheduler: Scheduler
    let loop: StageEventLoop
    private let patience: Duration

    /// A clock of its own.
    ///
    /// - Parameter patience: how long, in real time, ``advance(by:)`` waits for what became due before it gives up. Valid
    ///   range: 1 ms–1 h; what waits fails outside it.
    public init(patience: Duration = .seconds(10)) {
        self.scheduler = Scheduler()
        self.loop = StageEventLoop(scheduler: self.scheduler)
        self.patience = patience
    }

    /// The time, which is the same until ``advance(by:)``.
    public var now: Instant { self.scheduler.now }

    /// By how much it has been moved since it was made.
    public var elapsed: Duration { self.scheduler.elapsed }

    /// Runs tasks so that the clock knows of them: time does not move while one of them has something to do. For
    /// `Task(executorPreference:)` and `withTaskExecutorPreference(_:operation:)` in code under test.
    public var taskExecutor: any TaskExecutor { self.loop }

    /// A nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Waits until the clock has been moved that far.
    ///
    /// - Throws: `CancellationError`.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await self.scheduler.sleep(until: deadline, what: "a task that sleeps by the clock")
    }

    /// Moves time on, from one moment at which something is due to the next. Time stands still while anything of the
    /// stage is left to do, so this returns when everything that became due has been done, with all that followed from it.
    ///
    /// What the code under test does in tasks of its own is not waited for, unless they run on ``taskExecutor``.
    ///
    /// - Parameter duration: by how much. Valid range: 0–10 years.
    /// - Throws: ``StageError`` when there is no end to what is to be done, or the duration is out of range.
    public func advance(by duration: Duration) async throws(StageError) {
        try StageError.check("advance(by:)", duration, in: .stageTimes)
        let end = self.scheduler.elapsed + duration
        try await self.settle()
        while self.scheduler.step(to: end) {
            try await self.settle()
        }
    }

    /// Waits until nothing is left to do at this moment.
    func settle() async throws(StageError) {
        try StageError.check("patience", self.patience, in: .milliseconds(1) ... .seconds(3600))
        let isIdle = await self.scheduler.waitUntilIdle(patience: TimeAmount(self.patience), watch: self.loop.base)
        guard isIdle else {
            throw StageError(
                "For \(self.patience) there was always something left to do at the same moment. Does a handler block, "
                    + "or do two of them keep each other busy for ever?"
            )
        }
    }
}
