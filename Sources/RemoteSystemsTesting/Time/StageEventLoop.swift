// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NIOCore
internal import RemoteSystemsTransport

/// An event loop with the time of a ``ManualClock`` and the thread of a real event loop.
///
/// Everything on a stage runs on it: connections, hosts, watchers and the tasks that they start. So it is known when
/// nothing is left to do, which is when time may move.
final class StageEventLoop: SimulatedEventLoop, NIOSerialEventLoopExecutor, TaskExecutor {
    let scheduler: Scheduler
    /// The real event loop, which runs the jobs. The stage's timers are not on it.
    let base: any EventLoop

    init(scheduler: Scheduler) {
        self.scheduler = scheduler
        self.base = SocketTransport().anyEventLoop()
    }

    // MARK: Time

    var now: NIODeadline { self.scheduler.deadline }
    var time: TimeSource { TimeSource(manual: self.scheduler) }

    @discardableResult
    func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        self.scheduleTask(deadline: deadline, what: "a deadline or the keep-alive of a connection", task)
    }

    /// Schedules a task at a time of the stage's clock.
    ///
    /// - Parameter what: A description of the task, for a message.
    @discardableResult
    func scheduleTask<T>(
        deadline: NIODeadline,
        what: String,
        _ task: @escaping @Sendable () throws -> T
    ) -> Scheduled<T> {
        let promise = self.makePromise(of: T.self)
        let id = self.scheduler.makeID()
        let action = Scheduler.Action(
            fire: { self.execute { Self.complete(promise, task) } },
            abandon: { promise.fail(EventLoopError.cancelled) }
        )
        self.scheduler.add(action, id: id, at: deadline, what: what)
        return Scheduled(promise: promise) { [scheduler = self.scheduler] in scheduler.remove(id) }
    }

    @discardableResult
    func scheduleTask<T>(in amount: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        self.scheduleTask(deadline: self.now + amount, task)
    }

    @discardableResult
    func scheduleTask<T>(
        in amount: TimeAmount,
        what: String,
        _ task: @escaping @Sendable () throws -> T
    ) -> Scheduled<T> {
        self.scheduleTask(deadline: self.now + amount, what: what, task)
    }

    // MARK: Jobs

    var inEventLoop: Bool { self.base.inEventLoop }

    func execute(_ task: @escaping @Sendable () -> Void) {
        self.scheduler.begin()
        self.base.execute {
            StrayJobs.keep(on: self) { task() }
            self.scheduler.end()
        }
    }

    func submit<T>(_ task: @escaping @Sendable () throws -> T) -> EventLoopFuture<T> {
        let promise = self.makePromise(of: T.self)
        self.execute { Self.complete(promise, task) }
        return promise.futureResult
    }

    /// The result need not be sendable, because this is the future's event loop.
    private static func complete<T>(_ promise: EventLoopPromise<T>, _ task: () throws -> T) {
        do {
            promise.assumeIsolated().succeed(try task())
        } catch {
            promise.fail(error)
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.execute {
            unsafe job.runSynchronously(
                isolatedTo: self.asUnownedSerialExecutor(),
                taskExecutor: self.asUnownedTaskExecutor()
            )
        }
    }

    var taskExecutor: any TaskExecutor { self }

    // MARK: An event loop group of one

    func makeIterator() -> EventLoopIterator { EventLoopIterator([self]) }
    func next() -> any EventLoop { self }
    func any() -> any EventLoop { self }

    /// Does nothing: the thread belongs to the process.
    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        queue.async { callback(nil) }
    }
}

extension Scheduler: ManualTime {
    func sleep(until instant: ContinuousClock.Instant) async throws {
        try await self.sleep(until: instant, what: "a step of a watcher, host or connection")
    }

    func sleep(until instant: ContinuousClock.Instant, what: String) async throws {
        let id = self.makeID()
        let continuation = SleepingTask()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                continuation.hold($0)
                self.add(
                    Action(fire: { continuation.wake() }, abandon: { continuation.cancel() }),
                    id: id,
                    at: instant,
                    what: what
                )
                // A cancellation before the action was added found nothing to remove.
                if Task.isCancelled { self.remove(id) }
            }
        } onCancel: {
            self.remove(id)
        }
    }
}
