// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystems

/// The rules by which a connection comes back (issue 3, section 2), without network, clock or chance.
@Suite struct LongLivedConnectionStateMachineTests {
    typealias Machine = LongLivedConnectionStateMachine

    static let start = ContinuousClock.now
    static let error = RemoteSystemError(.unreachable, "Nobody is there.", side: .network, canRetry: true)

    /// A moment, in seconds from the start.
    static func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    /// Delays of 1, 2, 4 … 8 s, exactly; a minute in all; two requests may wait.
    static var policy: ReconnectionPolicy {
        var policy = ReconnectionPolicy()
        policy.firstDelay = .seconds(1)
        policy.longestDelay = .seconds(8)
        policy.jitter = 0
        policy.longestOutage = .seconds(60)
        policy.waitingRequests = 2
        return policy
    }

    static func started(_ policy: ReconnectionPolicy = Self.policy) -> Machine {
        var machine = Machine(policy: policy)
        _ = machine.start(now: start)
        return machine
    }

    static func connected(_ policy: ReconnectionPolicy = Self.policy) -> Machine {
        var machine = started(policy)
        _ = machine.opened(now: start)
        return machine
    }

    /// Runs attempts that all fail at once, and says when each was made.
    static func attempts(_ machine: inout Machine, from now: Double = 0) -> [Double] {
        var moment = at(now)
        var made: [Double] = []
        for _ in 0..<1000 {
            switch machine.nextStep(now: moment) {
            case .connect:
                made.append(start.duration(to: moment) / .seconds(1))
                _ = machine.failed(error, isFinal: false, now: moment, random: 0.5)
            case .wait(let until): moment = until
            case .stay, .stop: return made
            }
        }
        return made
    }

    // MARK: Attempts

    @Test func `a start is an attempt at once, and there is one start`() {
        var machine = Machine(policy: Self.policy)
        #expect(machine.nextStep(now: Self.start).text == "stop")
        let first = machine.start(now: Self.start)
        #expect(first)
        #expect(machine.nextStep(now: Self.start).text == "connect")
        let second = machine.start(now: Self.start)
        #expect(!second)
    }

    @Test func `waits grow by the factor up to the longest, and end when the outage has lasted too long`() {
        var machine = Self.started()
        #expect(Self.attempts(&machine) == [0, 1, 3, 7, 15, 23, 31, 39, 47, 55, 60])
        #expect(machine.phase.text == "gaveUp: Gave up after 11 attempts. Nobody is there.")
    }

    @Test func `a bound on attempts ends it`() {
        var policy = Self.policy
        policy.attempts = 3
        var machine = Self.started(policy)
        #expect(Self.attempts(&machine) == [0, 1, 3])
        #expect(machine.phase.text.hasPrefix("gaveUp"))
    }

    @Test(arguments: [(0.0, 0.5), (0.5, 1.0), (1.0, 1.5)])
    func `chance spreads a wait by the jitter, and no further`(_ random: Double, _ seconds: Double) {
        var policy = Self.policy
        policy.jitter = 0.5
        var machine = Self.started(policy)
        _ = machine.failed(Self.error, isFinal: false, now: Self.start, random: random)
        #expect(machine.wakeUp == Self.at(seconds))
    }

    @Test func `what no attempt can change ends it at once`() {
        var machine = Self.started()
        _ = machine.failed(Self.error, isFinal: true, now: Self.start, random: 0.5)
        #expect(machine.nextStep(now: Self.start).text == "stop")
        #expect(machine.phase.text == "gaveUp: Gave up after 1 attempt. Nobody is there.")
    }

    // MARK: Losses

    @Test func `after a loss the first attempt comes soon, and the count begins anew`() {
        var machine = Self.connected()
        _ = machine.lost(Self.error, now: Self.at(100), random: 0.5)
        #expect(Self.attempts(&machine, from: 100).prefix(4) == [101, 102, 104, 108])
    }

    @Test func `a host that takes connections and drops them is asked ever more rarely, and given up in the end`() {
        var machine = Self.started()
        var moment = Self.start
        var made: [Double] = []
        while case let step = machine.nextStep(now: moment), step.text != "stop" {
            if case .wait(let until) = step {
                moment = until
            } else {
                made.append(Self.start.duration(to: moment) / .seconds(1))
                _ = machine.opened(now: moment)
                _ = machine.lost(Self.error, now: moment, random: 0.5)
            }
        }
        #expect(made == [0, 1, 3, 7, 15, 23, 31, 39, 47, 55, 60])
    }

    @Test func `a system that is seen is tried at once, but not sooner than the first delay after the last attempt`() {
        var machine = Self.started()
        for (moment, wait) in [(0.0, 1.0), (1, 3), (3, 7), (7, 15)] {
            _ = machine.nextStep(now: Self.at(moment))
            _ = machine.failed(Self.error, isFinal: false, now: Self.at(moment), random: 0.5)
            #expect(machine.wakeUp == Self.at(wait))
        }
        let isSooner = machine.found(now: Self.at(7.25))
        #expect(isSooner)
        #expect(machine.wakeUp == Self.at(8))
        let isSoonerStill = machine.found(now: Self.at(7.5))
        #expect(!isSoonerStill)
        #expect(machine.nextStep(now: Self.at(8)).text == "connect")
    }

    @Test func `a system that is seen changes nothing while there is nothing to wait for`() {
        var (connecting, connected, closed) = (Self.started(), Self.connected(), Self.connected())
        _ = closed.close()
        let found = [
            connecting.found(now: Self.start), connected.found(now: Self.start), closed.found(now: Self.start),
        ]
        #expect(found == [false, false, false])
    }

    // MARK: Closing

    @Test func `a connection that opens after it was closed is not wanted`() {
        var machine = Self.started()
        _ = machine.close()
        #expect(machine.opened(now: Self.start) == .discard)
        #expect(machine.nextStep(now: Self.start).text == "stop")
    }

    @Test func `neither a loss nor a failure brings back what was closed`() {
        var (connected, connecting) = (Self.connected(), Self.started())
        _ = connected.close()
        _ = connected.lost(Self.error, now: Self.start, random: 0.5)
        _ = connecting.close()
        _ = connecting.failed(Self.error, isFinal: false, now: Self.start, random: 0.5)
        #expect(connected.phase.text == "closed")
        #expect(connecting.phase.text == "closed")
    }

    // MARK: Requests

    @Test func `requests wait for the connection and have their turn in the order of their numbers`() {
        var machine = Self.started()
        #expect(machine.turn(after: 0) == nil)
        #expect(machine.wait(2) == nil)
        #expect(machine.wait(1) == nil)
        #expect(machine.opened(now: Self.start) == .stay(release: [1, 2]))
        #expect(machine.turn(after: 0) == 1)
    }

    @Test func `a request whose connection is of no use waits for the next one, though the loss is not known yet`() {
        var machine = Self.connected()
        #expect(machine.turn(after: 1) == nil)
        #expect(machine.wait(1) == nil)
        _ = machine.lost(Self.error, now: Self.start, random: 0.5)
        _ = machine.nextStep(now: Self.at(1))
        #expect(machine.opened(now: Self.at(1)) == .stay(release: [1]))
        #expect(machine.turn(after: 1) == 2)
    }

    @Test func `only so many requests wait`() {
        var machine = Self.started()
        #expect(machine.wait(1) == nil)
        #expect(machine.wait(2) == nil)
        #expect(machine.wait(3)?.text == "tooManyWait")
        machine.withdraw(1)
        #expect(machine.wait(4) == nil)
        #expect(machine.opened(now: Self.start) == .stay(release: [2, 4]))
    }

    @Test func `what waits is reported when it is closed or given up, and what comes later at once`() {
        var (closed, over, idle) = (Self.started(), Self.started(), Machine(policy: Self.policy))
        _ = closed.wait(1)
        #expect(closed.close() == [1])
        #expect(closed.wait(2)?.text == "closed")
        _ = over.wait(1)
        #expect(over.failed(Self.error, isFinal: true, now: Self.start, random: 0.5) == [1])
        #expect(over.wait(2)?.text == "gaveUp")
        #expect(idle.wait(1)?.text == "notStarted")
    }

    @Test(arguments: [
        (Machine.Ending.final, false, false), (.final, true, false),
        (.notSent, false, true), (.notSent, true, true),
        (.unknown, false, false), (.unknown, true, true),
    ])
    func `what may have been carried out is sent again only if it says that it may be`(
        _ ending: Machine.Ending,
        _ isIdempotent: Bool,
        _ goesOn: Bool
    ) {
        #expect(Machine.goesOn(after: ending, isIdempotent: isIdempotent) == goesOn)
    }
}

extension LongLivedConnectionStateMachine.Phase {
    fileprivate var text: String {
        switch self {
        case .idle: "idle"
        case .connecting: "connecting"
        case .connected: "connected"
        case .waiting: "waiting"
        case .gaveUp(let error): "gaveUp: \(error.message)"
        case .closed: "closed"
        }
    }
}

extension LongLivedConnectionStateMachine.Step {
    fileprivate var text: String {
        switch self {
        case .connect: "connect"
        case .stay: "stay"
        case .wait: "wait"
        case .stop: "stop"
        }
    }
}

extension LongLivedConnectionStateMachine.Refusal {
    fileprivate var text: String {
        switch self {
        case .notStarted: "notStarted"
        case .tooManyWait: "tooManyWait"
        case .expired: "expired"
        case .closed: "closed"
        case .gaveUp: "gaveUp"
        }
    }
}
