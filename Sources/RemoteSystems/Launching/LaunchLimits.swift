// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Limits the launches of other systems, at the same time and over time: each may start a program, or ask the user.
///
/// Each system has its own share. The systems of a linked account have one share together, and half the rate. Only the
/// limit in total applies to programs of this system, which control the machine anyway.
///
/// A value type without a clock; times are arguments.
struct LaunchLimits: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The maximum number of launches at the same time, in total and of one other system.
    static let maxInFlight = 64
    static let maxInFlightOfSystem = 12
    /// The launches that one other system may request at once. One more is permitted every second.
    static let burst = 20

    private var inFlight = KeyedLimiter<QuotaHolder>(
        total: Self.maxInFlight,
        perKey: Self.maxInFlightOfSystem,
        sharesOfFree: 2
    )
    private var pace = KeyedTokenBuckets<QuotaHolder>(capacity: Double(Self.burst), rate: 1)

    /// Counts a launch.
    ///
    /// - Returns: whether it is within the limits. One that is refused does not count.
    mutating func begin(_ caller: AppServiceCaller, now: Instant) -> Bool {
        let holder = caller.quotaHolder
        if caller.isLocal {
            guard self.inFlight.count < Self.maxInFlight else { return false }
        } else {
            guard self.inFlight.capacity(for: holder) == .free, self.pace.permits(holder, at: now) else { return false }
            self.pace.take(caller.authorizationKind == .linked ? 2 : 1, of: holder, at: now)
        }
        self.inFlight.add(1, for: holder)
        return true
    }

    /// Counts the end of a launch that has begun.
    mutating func end(_ caller: AppServiceCaller) { self.inFlight.leave(caller.quotaHolder) }
}
