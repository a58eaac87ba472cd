// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The rules by which a connection comes back, and by which requests wait for it.
///
/// A value without I/O or a clock; times are arguments, in the driver's clock, and so is chance.
struct LongLivedConnectionStateMachine {
    typealias Instant = ContinuousClock.Instant

    enum Phase: Sendable {
        case idle
        case connecting
        case connected
        case waiting(until: Instant, reason: RemoteSystemError)
        case gaveUp(RemoteSystemError)
        case closed
    }

    /// What the driver does until something happens.
    enum Step: Sendable {
        case connect
        /// The connection is open: wait for its end.
        case stay
        case wait(until: Instant)
        case stop
    }

    /// A connection that ends sooner than this was no end of the outage: a host that takes connections and drops them is
    /// not asked at a higher rate than one that takes none.
    static var settlingTime: Duration { .seconds(10) }

    private let policy: ReconnectionPolicy
    private(set) var phase = Phase.idle
    /// Attempts since the outage began.
    private(set) var attempts = 0
    /// Which connection it is, counted from 1.
    private(set) var generation = 0
    private var outageBegan: Instant?
    private var lastChange: Instant?
    /// Requests that wait, by number.
    private var waiting: Set<UInt64> = []
    /// Why there is no connection, since there was one.
    private(set) var lastFailure: RemoteSystemError?

    init(policy: ReconnectionPolicy) {
        self.policy = policy
    }

    // MARK: The connection's life

    /// Returns false if it was started before.
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

    enum OnOpened: Equatable {
        /// These requests have their turn, in this order.
        case stay(release: [UInt64])
        /// It was closed meanwhile: give the new connection up.
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

    /// An attempt came to nothing.
    ///
    /// - Parameter isFinal: whether no further attempt can change it.
    /// - Returns: the requests that fail with it, if that was the last.
    mutating func failed(_ error: RemoteSystemError, isFinal: Bool, now: Instant, random: Double) -> [UInt64] {
        guard case .connecting = self.phase else { return [] }
        self.lastFailure = error
        guard !isFinal, let wait = self.wait(now, random) else { return self.giveUp(error) }
        self.phase = .waiting(until: now.advanced(by: wait), reason: error)
        return []
    }

    /// The connection ended, whoever ended it.
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

    /// How long until the next attempt; `nil` when there is to be none.
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

    /// The system has been seen, perhaps elsewhere: no reason to wait longer than the first delay.
    ///
    /// - Returns: whether the wait is shorter now.
    mutating func found(now: Instant) -> Bool {
        guard case .waiting(let until, let reason) = self.phase, let last = self.lastChange else { return false }
        let soonest = max(now, last.advanced(by: self.policy.firstDelay))
        guard soonest < until else { return false }
        self.phase = .waiting(until: soonest, reason: reason)
        return true
    }

    /// When the wait for the next attempt is over; `nil` when there is none.
    var wakeUp: Instant? {
        if case .waiting(let until, _) = self.phase { until } else { nil }
    }

    /// What to do now.
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

    /// Nothing is to come any more. Returns the requests that fail with it.
    mutating func close() -> [UInt64] {
        if case .gaveUp = self.phase { return [] }
        self.phase = .closed
        return self.takeWaiting()
    }

    // MARK: Requests

    /// Why a request is not sent.
    enum Refusal: Sendable {
        case notStarted
        case tooManyWait
        /// There was no connection in time, for this reason, if an attempt has failed.
        case expired(RemoteSystemError?)
        case closed
        case gaveUp(RemoteSystemError)
    }

    /// Why no request is sent any more, or yet; `nil` while they are.
    var refusal: Refusal? {
        switch self.phase {
        case .idle: .notStarted
        case .closed: .closed
        case .gaveUp(let error): .gaveUp(error)
        case .connecting, .connected, .waiting: nil
        }
    }

    /// The connection to send a request over now; `nil` when it has to wait.
    ///
    /// - Parameter generation: the connection over which it was tried last, which is of no use any more.
    func turn(after generation: Int) -> Int? {
        guard case .connected = self.phase, self.generation > generation else { return nil }
        return self.generation
    }

    /// A request waits for the next connection, unless there is a reason why it cannot.
    ///
    /// - Parameter id: its number; those with lower ones have their turn first.
    mutating func wait(_ id: UInt64) -> Refusal? {
        if let refusal = self.refusal { return refusal }
        guard self.waiting.count < self.policy.waitingRequests else { return .tooManyWait }
        self.waiting.insert(id)
        return nil
    }

    /// Its deadline has passed, or nobody waits for it any more.
    mutating func withdraw(_ id: UInt64) {
        self.waiting.remove(id)
    }

    private mutating func takeWaiting() -> [UInt64] {
        defer { self.waiting = [] }
        return self.waiting.sorted()
    }

    /// What became of a request on one connection.
    enum Ending: Sendable {
        /// There is an answer, or there can be none on another connection either.
        case final
        /// The connection was closed before: it was not sent.
        case notSent
        /// The connection was lost after it was sent: it may have been carried out.
        case unknown
    }

    /// Whether it is to be sent over the next connection. What may have been carried out is sent again only if it says
    /// that it may be.
    static func goesOn(after ending: Ending, isIdempotent: Bool) -> Bool {
        switch ending {
        case .final: false
        case .notSent: true
        case .unknown: isIdempotent
        }
    }
}
