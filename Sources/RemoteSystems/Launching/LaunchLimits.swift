// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Limits the launches of other systems, at the same time and over time: each may start a program, or ask the user.
///
/// Each system has its own share. The systems of a linked account have one share together, and half the rate. Only the
/// limit in total applies to programs of this system, which control the machine anyway.
///
/// A launch that comes too early waits for a short time, so that a user who opens some more URIs loses none.
///
/// A value type without a clock; times are arguments.
struct LaunchLimits: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The reason why a launch is refused. Each one passes.
    enum Refusal: Error, Hashable {
        /// Too many launches of all systems together are under way.
        case full
        /// Too many launches of the caller are under way.
        case fullForCaller
        /// The caller launches too often. After the duration, a launch would start at once.
        case tooOften(retryAfter: Duration)
    }

    /// The maximum number of launches at the same time, in total and of one other system. Those that wait count.
    static let maxInFlight = 64
    static let maxInFlightOfSystem = 12
    /// The launches that one other system may request at once. One more is permitted every second.
    static let burst = 20
    /// The maximum time for which a launch waits for its turn.
    static let maxWait = Duration.seconds(5)

    private var inFlight = KeyedLimiter<QuotaHolder>(
        total: Self.maxInFlight,
        perKey: Self.maxInFlightOfSystem,
        sharesOfFree: 2
    )
    private var pace = KeyedTokenBuckets<QuotaHolder>(capacity: Double(Self.burst), rate: 1)

    /// Counts a launch. Launches of one caller get their turns in the order of these calls.
    ///
    /// - Returns: the time at which the launch may start.
    /// - Throws: if it exceeds a limit, or would wait for too long or beyond the deadline. Then it does not count.
    mutating func begin(_ caller: AppServiceCaller, deadline: Instant, now: Instant) throws(Refusal) -> Instant {
        let holder = caller.quotaHolder
        var start = now
        if caller.isLocal {
            guard self.inFlight.count < Self.maxInFlight else { throw .full }
        } else {
            switch self.inFlight.capacity(for: holder) {
            case .free: break
            case .full: throw .full
            case .fullForKey: throw .fullForCaller
            }
            start = self.pace.nextTime(of: holder, after: now)
            guard start <= now || start <= min(now + Self.maxWait, deadline) else {
                throw .tooOften(retryAfter: start - now)
            }
            self.pace.take(caller.authorizationKind == .linked ? 2 : 1, of: holder, at: now)
        }
        self.inFlight.add(1, for: holder)
        return start
    }

    /// Counts the end of a launch that has begun.
    mutating func end(_ caller: AppServiceCaller) { self.inFlight.leave(caller.quotaHolder) }
}

extension LaunchLimits.Refusal {
    /// What the user of the launching system reads: whose limit it is, which launches it counts, and when
    /// a retry helps.
    func text(for caller: AppServiceCaller) -> String {
        let isLinked = caller.authorizationKind == .linked
        let callers = isLinked ? "the systems of your account" : "your system"
        switch self {
        case .full:
            return "Too many launches of all systems are under way on the system that should open the URI. "
                + "Try again in a moment."
        case .fullForCaller:
            return "Too many launches of \(callers) are under way on the system that should open the URI. "
                + "Try again when one of them has ended."
        case .tooOften(let pause):
            let burst = isLinked ? LaunchLimits.burst / 2 : LaunchLimits.burst
            let interval = isLinked ? "every two seconds" : "a second"
            let (seconds, rest) = pause.components
            return "The system that should open the URI opens \(burst) URIs for \(callers) at once, then one "
                + "\(interval). Try again in \(rest > 0 ? seconds + 1 : seconds) s."
        }
    }
}
