// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import NIOCore

/// A clock that stands still until a test moves it.
///
/// Everything on a ``DiscoveryStage`` uses it: keep-alive, deadlines, retries, the delays of links. Code under test
/// that takes a `Clock` can use it too. Triggers of notifications use its ``date``. Other dates and the expiry of
/// certificates use real time.
public final class ManualClock: Clock, Sendable {
    /// The instant type of a real clock, so that code under test need not be generic over clocks.
    public typealias Instant = ContinuousClock.Instant

    let scheduler: Scheduler
    let loop: StageEventLoop
    private let patience: Duration

    /// Creates a clock that shows the same time until ``advance(by:)``.
    ///
    /// - Parameter patience: The maximum time that ``advance(by:)`` waits for due work. In real time. Defaults to 10 s.
    ///   Valid range: 1 ms–1 h; outside it, the methods that wait throw.
    public init(patience: Duration = .seconds(10)) {
        self.scheduler = Scheduler()
        self.loop = StageEventLoop(scheduler: self.scheduler)
        self.patience = patience
    }

    /// The clock's present time. It changes only by ``advance(by:)``.
    public var now: Instant { self.scheduler.now }

    /// The date that the clock shows. It moves with the time, and may be set as the clock of a system may.
    ///
    /// Begins with the real date.
    public var date: Date {
        get { self.scheduler.date }
        set { self.scheduler.date = newValue }
    }

    /// The total duration by which the clock has been moved.
    public var elapsed: Duration { self.scheduler.elapsed }

    /// An executor whose tasks the clock knows of: time does not move while one of them has work to do.
    ///
    /// Use it with `Task(executorPreference:)` and `withTaskExecutorPreference(_:operation:)` in code under test.
    public var taskExecutor: any TaskExecutor { self.loop }

    /// The smallest difference between two times: one nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Waits until the clock has reached a time.
    ///
    /// - Parameters:
    ///   - deadline: The time. If it has passed, the method returns at once.
    ///   - tolerance: Ignored. The clock wakes the task exactly at the deadline.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await self.scheduler.sleep(until: deadline, what: "a task that sleeps by the clock")
    }

    /// Moves the clock forward, from one moment at which something is due to the next.
    ///
    /// At each moment, the clock waits until all work on the stage is done. The method returns when everything that
    /// became due is done, including the work that it caused. Tasks of the code under test are not awaited, unless they
    /// run on ``taskExecutor``.
    ///
    /// - Parameter duration: The duration to move by. Valid range: 0–10 years.
    /// - Throws: ``StageError`` if the work at one moment does not end within the clock's patience, or if the duration
    ///   is out of range.
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
                "For \(self.patience) there was always something left to do at the same moment. Check whether a "
                    + "handler blocks, or whether two handlers keep calling each other."
            )
        }
    }
}
