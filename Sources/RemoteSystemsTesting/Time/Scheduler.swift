// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// Knows the time of a stage, what is due when, and whether anything is left to do now.
final class Scheduler: Sendable {
    struct Action: Sendable {
        /// Its time has come.
        var fire: @Sendable () -> Void
        /// It never will.
        var abandon: @Sendable () -> Void
    }

    private struct State {
        var timetable = Timetable<Action>()
        /// What was given to the event loop and is not done.
        var unfinished = 0
        var idleWaiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var lastWaiter: UInt64 = 0
        var isOver = false
        /// How often something was begun. Unchanged: nothing has happened.
        var begun: UInt64 = 0
        /// How many tests wait for something by the real time, which ends by itself.
        var realWaits = 0
    }

    private let state = Mutex(State())
    private let beginning = ContinuousClock.now
    private let firstDeadline = NIODeadline.now()

    var elapsed: Duration { self.state.withLock { $0.timetable.now } }
    var now: ContinuousClock.Instant { self.beginning + self.elapsed }
    var deadline: NIODeadline { self.firstDeadline + TimeAmount(self.elapsed) }

    // MARK: What is due

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

    /// Takes it back, and abandons it unless its time has come already.
    func remove(_ id: ID) {
        self.state.withLock { $0.timetable.remove(id) }?.abandon()
    }

    /// Moves time to the next moment at which something is due and fires that; to `limit` if there is none before.
    ///
    /// - Returns: whether anything was fired.
    func step(to limit: Duration) -> Bool {
        let due = self.state.withLock { $0.timetable.step(to: limit) }
        for action in due { action.fire() }
        return !due.isEmpty
    }

    /// Nothing is waited for any more.
    func abandonAll() {
        let left = self.state.withLock { state in
            state.isOver = true
            return state.timetable.removeAll()
        }
        for action in left { action.abandon() }
    }

    // MARK: What is left to do

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

    /// Nothing, or what has to change for the stage to get on: how often something was begun so far.
    ///
    /// - Returns: `nil` while something is left to do, or a test waits by the real time.
    var idleSince: UInt64? {
        self.state.withLock { $0.unfinished == 0 && $0.realWaits == 0 && !$0.isOver ? $0.begun : nil }
    }

    /// Notes that a test waits by the real time, and will get on without the clock.
    func beginRealWait() { self.state.withLock { $0.realWaits += 1 } }
    func endRealWait() { self.state.withLock { $0.realWaits -= 1 } }

    /// What waits for the clock, for a message: the next few with the time until they are due; `nil` if nothing does.
    var due: String? {
        let (now, next, count) = self.state.withLock { ($0.timetable.now, $0.timetable.next(5), $0.timetable.count) }
        guard !next.isEmpty else { return nil }
        let texts = next.map { "in \($0.due - now) \($0.what)" }
        return texts.joined(separator: ", ") + (count > next.count ? ", and \(count - next.count) more" : "")
    }

    /// Returns when everything that the event loop was given is done, or `patience` is at its end.
    ///
    /// - Returns: whether everything is done.
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
