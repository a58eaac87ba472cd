// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import NIOCore
internal import Synchronization

/// The time of a stage: what is due when, and whether anything is left to do now.
final class Scheduler: Sendable {
    /// An action that is due at a time of the stage's clock.
    struct Action: Sendable {
        /// Called when the action is due.
        var fire: @Sendable () -> Void
        /// Called if the action will never be due.
        var abandon: @Sendable () -> Void
    }

    private struct State {
        var timetable = Timetable<Action>()
        /// The number of jobs that were given to the event loop and are not done.
        var unfinished = 0
        var idleWaiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var lastWaiter: UInt64 = 0
        var isOver = false
        /// The number of jobs that were begun. If it does not change, nothing has happened.
        var begun: UInt64 = 0
        /// The number of tests that wait by real time. Such a wait ends without the clock.
        var realWaits = 0
        /// The date at the beginning of the stage's time.
        var firstDate = Date.now
    }

    private let state = Mutex(State())
    private let beginning = ContinuousClock.now
    private let firstDeadline = NIODeadline.now()

    var elapsed: Duration { self.state.withLock { $0.timetable.now } }
    var now: ContinuousClock.Instant { self.beginning + self.elapsed }
    var deadline: NIODeadline { self.firstDeadline + TimeAmount(self.elapsed) }

    var date: Date {
        get { self.state.withLock { $0.firstDate + $0.timetable.now / .seconds(1) } }
        set {
            self.state.withLock { $0.firstDate = newValue - $0.timetable.now / .seconds(1) }
        }
    }

    // MARK: Due actions

    typealias ID = Timetable<Action>.ID

    func makeID() -> ID { self.state.withLock { $0.timetable.makeID() } }

    func add(_ action: Action, id: ID, at instant: ContinuousClock.Instant, what: String) {
        self.add(action, id: id, due: self.beginning.duration(to: instant), what: what)
    }

    func add(_ action: Action, id: ID, at deadline: NIODeadline, what: String) {
        self.add(action, id: id, due: Duration(deadline - self.firstDeadline), what: what)
    }

    private func add(_ action: Action, id: ID, due: Duration, what: String) {
        enum Fate { case waits, due, over }
        let fate = self.state.withLock { state -> Fate in
            if state.isOver { return .over }
            if due <= state.timetable.now { return .due }
            state.timetable.add(action, id: id, due: due, what: what)
            return .waits
        }
        switch fate {
        case .waits: break
        case .due: action.fire()
        case .over: action.abandon()
        }
    }

    /// Removes an action, and abandons it unless it was due already.
    func remove(_ id: ID) {
        self.state.withLock { $0.timetable.remove(id) }?.abandon()
    }

    /// Moves time to the next moment at which something is due and fires it; to `limit` if nothing is due before.
    ///
    /// - Returns: Whether anything was fired.
    func step(to limit: Duration) -> Bool {
        let due = self.state.withLock { $0.timetable.step(to: limit) }
        for action in due { action.fire() }
        return !due.isEmpty
    }

    /// Abandons all actions, and every action that is added later.
    func abandonAll() {
        let left = self.state.withLock { state in
            state.isOver = true
            return state.timetable.removeAll()
        }
        for action in left { action.abandon() }
    }

    // MARK: Work in progress

    func begin() {
        self.state.withLock { state in
            state.unfinished += 1
            state.begun += 1
        }
    }

    func end() {
        let waiters = self.state.withLock { state -> [CheckedContinuation<Bool, Never>] in
            state.unfinished -= 1
            guard state.unfinished == 0 else { return [] }
            defer { state.idleWaiters = [:] }
            return Array(state.idleWaiters.values)
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    /// The number of jobs begun so far, while the stage is idle. If it stays the same, nothing has happened meanwhile.
    ///
    /// - Returns: `nil` while something is left to do or a test waits by real time, and after ``abandonAll()``.
    var idleSince: UInt64? {
        self.state.withLock { $0.unfinished == 0 && $0.realWaits == 0 && !$0.isOver ? $0.begun : nil }
    }

    /// Records that a test waits by real time and will continue without the clock.
    func beginRealWait() { self.state.withLock { $0.realWaits += 1 } }
    func endRealWait() { self.state.withLock { $0.realWaits -= 1 } }

    /// The next due actions with the time until they are due, for a message; `nil` if there are none.
    var due: String? {
        let (now, next, count) = self.state.withLock { ($0.timetable.now, $0.timetable.next(5), $0.timetable.count) }
        guard !next.isEmpty else { return nil }
        let texts = next.map { "in \($0.due - now) \($0.what)" }
        return texts.joined(separator: ", ") + (count > next.count ? ", and \(count - next.count) more" : "")
    }

    /// Waits until all jobs of the event loop are done, or until `patience` is over.
    ///
    /// - Returns: Whether all are done.
    func waitUntilIdle(patience: TimeAmount, watch: any EventLoop) async -> Bool {
        let id = self.state.withLock { state -> UInt64 in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let passed = Mutex(0)
        let alarm = PatienceAlarm(patience, on: watch) {
            let isOver = passed.withLock { passed in
                passed += 1
                return passed >= PatienceAlarm.parts
            }
            if isOver { self.giveUp(id) }
            return !isOver
        }
        alarm.start()
        defer { alarm.cancel() }
        return await withCheckedContinuation { continuation in
            let isIdle = self.state.withLock { state in
                if state.unfinished == 0 { return true }
                state.idleWaiters[id] = continuation
                return false
            }
            if isIdle { continuation.resume(returning: true) }
        }
    }

    private func giveUp(_ id: UInt64) {
        self.state.withLock { $0.idleWaiters.removeValue(forKey: id) }?.resume(returning: false)
    }
}
