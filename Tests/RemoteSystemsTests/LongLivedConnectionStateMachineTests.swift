// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystems

/// The rules of reconnecting (issue 3, section 2), without network, clock or randomness.
@Suite struct LongLivedConnectionStateMachineTests {
    typealias Machine = LongLivedConnectionStateMachine

    static let start = ContinuousClock.now
    static let error = RemoteSystemError(.unreachable, "Nothing listens there.", side: .network, canRetry: true)

    /// A time, in seconds from the start.
    static func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    /// Delays of exactly 1, 2, 4 … 8 s; a minute in total; two requests may wait.
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

    /// Performs attempts that all fail at once, and returns their times.
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

    @Test func `the first start causes an attempt at once, a second start is refused`() {
        var machine = Machine(policy: Self.policy)
        #expect(machine.nextStep(now: Self.start).text == "stop")
        let first = machine.start(now: Self.start)
        #expect(first)
        #expect(machine.nextStep(now: Self.start).text == "connect")
        let second = machine.start(now: Self.start)
        #expect(!second)
    }

    @Test func `delays grow by the factor up to the maximum, and end at the outage limit`() {
        var machine = Self.started()
        #expect(Self.attempts(&machine) == [0, 1, 3, 7, 15, 23, 31, 39, 47, 55, 60])
        #expect(machine.phase.text == "gaveUp: Gave up after 11 attempts. Nothing listens there.")
    }

    @Test func `the limit of attempts ends the connection`() {
        var policy = Self.policy
        policy.attempts = 3
        var machine = Self.started(policy)
        #expect(Self.attempts(&machine) == [0, 1, 3])
        #expect(machine.phase.text.hasPrefix("gaveUp"))
    }

    @Test(arguments: [(0.0, 0.5), (0.5, 1.0), (1.0, 1.5)])
    func `randomness changes a delay by at most the jitter`(_ random: Double, _ seconds: Double) {
        var policy = Self.policy
        policy.jitter = 0.5
        var machine = Self.started(policy)
        _ = machine.failed(Self.error, isFinal: false, now: Self.start, random: random)
        #expect(machine.wakeUp == Self.at(seconds))
    }

    @Test func `a final error ends the connection at once`() {
        var machine = Self.started()
        _ = machine.failed(Self.error, isFinal: true, now: Self.start, random: 0.5)
        #expect(machine.nextStep(now: Self.start).text == "stop")
        #expect(machine.phase.text == "gaveUp: Gave up after 1 attempt. Nothing listens there.")
    }

    // MARK: Losses

    @Test func `after a loss the first attempt comes soon, and the backoff starts again`() {
        var machine = Self.connected()
        _ = machine.lost(Self.error, now: Self.at(100), random: 0.5)
        #expect(Self.attempts(&machine, from: 100).prefix(4) == [101, 102, 104, 108])
    }

    @Test func `a host that accepts and drops connections is retried with backoff, and given up in the end`() {
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

    @Test func `a system that appears is tried at once, but not before the first delay after the last attempt`() {
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

    @Test func `a system that appears changes nothing without a pending attempt`() {
        var (connecting, connected, closed) = (Self.started(), Self.connected(), Self.connected())
        _ = closed.close()
        let found = [
            connecting.found(now: Self.start), connected.found(now: Self.start), closed.found(now: Self.start),
        ]
        #expect(found == [false, false, false])
    }

    // MARK: Closing

    @Test func `a connection that opens after the close is dropped`() {
        var machine = Self.started()
        _ = machine.close()
        #expect(machine.opened(now: Self.start) == .discard)
        #expect(machine.nextStep(now: Self.start).text == "stop")
    }

    @Test func `neither a loss nor a failure reopens a closed connection`() {
        var (connected, connecting) = (Self.connected(), Self.started())
        _ = connected.close()
        _ = connected.lost(Self.error, now: Self.start, random: 0.5)
        _ = connecting.close()
        _ = connecting.failed(Self.error, isFinal: false, now: Self.start, random: 0.5)
        #expect(connected.phase.text == "closed")
        #expect(connecting.phase.text == "closed")
    }

    // MARK: Requests

    @Test func `requests wait for the connection and are sent in the order of their numbers`() {
        var machine = Self.started()
        #expect(machine.turn(after: 0) == nil)
        #expect(machine.wait(2) == nil)
        #expect(machine.wait(1) == nil)
        #expect(machine.opened(now: Self.start) == .stay(release: [1, 2]))
        #expect(machine.turn(after: 0) == 1)
    }

    @Test func `a request on an unusable connection waits for the next one, even before the loss is known`() {
        var machine = Self.connected()
        #expect(machine.turn(after: 1) == nil)
        #expect(machine.wait(1) == nil)
        _ = machine.lost(Self.error, now: Self.start, random: 0.5)
        _ = machine.nextStep(now: Self.at(1))
        #expect(machine.opened(now: Self.at(1)) == .stay(release: [1]))
        #expect(machine.turn(after: 1) == 2)
    }

    @Test func `the number of waiting requests is bounded`() {
        var machine = Self.started()
        #expect(machine.wait(1) == nil)
        #expect(machine.wait(2) == nil)
        #expect(machine.wait(3)?.text == "tooManyWait")
        machine.withdraw(1)
        #expect(machine.wait(4) == nil)
        #expect(machine.opened(now: Self.start) == .stay(release: [2, 4]))
    }

    @Test func `closing and giving up fail waiting requests, and later ones at once`() {
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
    func `a request that may have run is repeated only if it is marked as repeatable`(
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
