// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The rules by which a long-lived connection reconnects, and by which requests wait for it.
///
/// A value type without I/O, a clock or randomness: times, in the driver's clock, and random numbers are arguments.
struct LongLivedConnectionStateMachine {
    typealias Instant = ContinuousClock.Instant

    /// The phase of the connection. Each phase has a public counterpart (``LongLivedConnection/State``).
    enum Phase: Sendable {
        case idle
        case connecting
        case connected
        case waiting(until: Instant, reason: RemoteSystemError)
        case gaveUp(RemoteSystemError)
        case closed
    }

    /// The action of the driver until the next event.
    enum Step: Sendable {
        case connect
        /// The connection is open: wait until it ends.
        case stay
        case wait(until: Instant)
        case stop
    }

    /// A connection that lasts less than this does not end the outage. A host that accepts connections and closes them
    /// is therefore not tried more often than one that accepts none.
    static var settlingTime: Duration { .seconds(10) }

    private let policy: ReconnectionPolicy
    private(set) var phase = Phase.idle
    /// The number of attempts since the outage began.
    private(set) var attempts = 0
    /// The number of the present connection, counted from 1.
    private(set) var generation = 0
    private var outageBegan: Instant?
    private var lastChange: Instant?
    /// The waiting requests, by number.
    private var waiting: Set<UInt64> = []
    /// The reason of the last failure or loss since there was a connection.
    private(set) var lastFailure: RemoteSystemError?

    init(policy: ReconnectionPolicy) {
        self.policy = policy
    }

    // MARK: Connecting

    /// Starts connecting. Returns false if it was started before.
    mutating func start(now: Instant) -> Bool {
        guard case .idle = self.phase else { return false }
        self.outageBegan = now
        self.connect(now)
        return true
    }

    private mutating func connect(_ now: Instant) {
        self.attempts += 1
        self.lastChange = now
        self.phase = .connecting
    }

    /// What to do with a connection that was opened.
    enum OnOpened: Equatable {
        /// The requests to send now, in this order.
        case stay(release: [UInt64])
        /// The long-lived connection was closed meanwhile: abandon the new connection.
        case discard
    }

    mutating func opened(now: Instant) -> OnOpened {
        guard case .connecting = self.phase else { return .discard }
        self.phase = .connected
        self.lastFailure = nil
        self.generation += 1
        self.lastChange = now
        return .stay(release: self.takeWaiting())
    }

    /// Records a failed attempt.
    ///
    /// - Parameter isFinal: whether no further attempt can succeed.
    /// - Returns: the waiting requests, which fail, if no further attempt follows; else none.
    mutating func failed(_ error: RemoteSystemError, isFinal: Bool, now: Instant, random: Double) -> [UInt64] {
        guard case .connecting = self.phase else { return [] }
        self.lastFailure = error
        guard !isFinal, let wait = self.wait(now, random) else { return self.giveUp(error) }
        self.phase = .waiting(until: now.advanced(by: wait), reason: error)
        return []
    }

    /// Records the end of the connection, whichever side ended it.
    ///
    /// - Returns: the waiting requests, which fail, if no further attempt follows; else none.
    mutating func lost(_ reason: RemoteSystemError, now: Instant, random: Double) -> [UInt64] {
        guard case .connected = self.phase else { return [] }
        if let opened = self.lastChange, opened.duration(to: now) >= Self.settlingTime {
            self.attempts = 0
            self.outageBegan = now
        }
        self.lastChange = now
        self.lastFailure = reason
        guard let wait = self.wait(now, random) else { return self.giveUp(reason) }
        self.phase = .waiting(until: now.advanced(by: wait), reason: reason)
        return []
    }

    /// The time until the next attempt; `nil` when none follows.
    private func wait(_ now: Instant, _ random: Double) -> Duration? {
        if let most = self.policy.attempts, self.attempts >= most { return nil }
        let left = self.policy.longestOutage - (self.outageBegan?.duration(to: now) ?? .zero)
        guard left > .zero else { return nil }
        return min(self.policy.delay(afterFailures: self.attempts, random: random), left)
    }

    private mutating func giveUp(_ error: RemoteSystemError) -> [UInt64] {
        var error = error
        error.message = "Gave up after \(self.attempts) attempt\(self.attempts == 1 ? "" : "s"). \(error.message)"
        self.phase = .gaveUp(error)
        return self.takeWaiting()
    }

    /// Shortens the wait to the policy's first delay: discovery has found the system, perhaps at another address.
    ///
    /// - Returns: whether the wait is shorter now.
    mutating func found(now: Instant) -> Bool {
        guard case .waiting(let until, let reason) = self.phase, let last = self.lastChange else { return false }
        let soonest = max(now, last.advanced(by: self.policy.firstDelay))
        guard soonest < until else { return false }
        self.phase = .waiting(until: soonest, reason: reason)
        return true
    }

    /// The end of the wait for the next attempt; `nil` when there is none.
    var wakeUp: Instant? {
        if case .waiting(let until, _) = self.phase { until } else { nil }
    }

    /// Returns what to do now.
    mutating func nextStep(now: Instant) -> Step {
        switch self.phase {
        case .idle, .gaveUp, .closed:
            return .stop
        case .connecting:
            return .connect
        case .connected:
            return .stay
        case .waiting(let until, _):
            guard until <= now else { return .wait(until: until) }
            self.connect(now)
            return .connect
        }
    }

    /// Closes the connection permanently. Returns the waiting requests, which fail.
    mutating func close() -> [UInt64] {
        if case .gaveUp = self.phase { return [] }
        self.phase = .closed
        return self.takeWaiting()
    }

    // MARK: Requests

    /// The reason why a request is not sent.
    enum Refusal: Sendable {
        case notStarted
        case tooManyWait
        /// No connection was opened before the deadline. With the error of the last failed attempt, if any.
        case expired(RemoteSystemError?)
        case closed
        case gaveUp(RemoteSystemError)
    }

    /// The reason why a new request fails at once; `nil` if it is sent or waits.
    var refusal: Refusal? {
        switch self.phase {
        case .idle: .notStarted
        case .closed: .closed
        case .gaveUp(let error): .gaveUp(error)
        case .connecting, .connected, .waiting: nil
        }
    }

    /// The generation of the connection to send a request over now; `nil` when the request has to wait.
    ///
    /// - Parameter generation: the connection over which the request was last tried. It is not used again.
    func turn(after generation: Int) -> Int? {
        guard case .connected = self.phase, self.generation > generation else { return nil }
        return self.generation
    }

    /// Adds a request to those that wait for the next connection. Returns the reason if it cannot wait.
    ///
    /// - Parameter id: the request's number. Requests with lower numbers are sent first.
    mutating func wait(_ id: UInt64) -> Refusal? {
        if let refusal = self.refusal { return refusal }
        guard self.waiting.count < self.policy.waitingRequests else { return .tooManyWait }
        self.waiting.insert(id)
        return nil
    }

    /// Removes a waiting request: its deadline has passed, or it was cancelled.
    mutating func withdraw(_ id: UInt64) {
        self.waiting.remove(id)
    }

    private mutating func takeWaiting() -> [UInt64] {
        defer { self.waiting = [] }
        return self.waiting.sorted()
    }

    /// The outcome of a request on one connection.
    enum Ending: Sendable {
        /// There is a response, or another connection could not provide one either.
        case final
        /// The connection was closed before the request was sent.
        case notSent
        /// The connection was lost after the request was sent: it may have been executed.
        case unknown
    }

    /// Returns whether to send the request over the next connection. A request that may have been executed is sent
    /// again only if it is idempotent.
    static func goesOn(after ending: Ending, isIdempotent: Bool) -> Bool {
        switch ending {
        case .final: false
        case .notSent: true
        case .unknown: isIdempotent
        }
    }
}
