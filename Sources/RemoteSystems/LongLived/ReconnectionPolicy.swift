// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// How a ``LongLivedConnection`` comes back after a loss: how soon, how often, for how long.
///
/// The defaults are meant to be used. A value out of its range counts as the nearest one in it.
public struct ReconnectionPolicy: Sendable, Hashable {
    /// The wait before the first new attempt; 250 ms unless set. Between 10 ms and an hour.
    public var firstDelay = Duration.milliseconds(250)
    /// What each wait is multiplied by after an attempt that failed; 2 unless set. Between 1 and 10.
    public var factor = 2.0
    /// The longest wait between two attempts, before it is spread; 30 s unless set. At least ``firstDelay``, at most a day.
    public var longestDelay = Duration.seconds(30)
    /// The part of each wait by which it is made longer or shorter at random, so that those who lost the same host do not
    /// come back at the same moment; 0.25 unless set. Between 0 and 1.
    public var jitter = 0.25
    /// How many attempts in a row may fail before it gives up; `nil`, the default, sets no bound beside
    /// ``longestOutage``. At least 1.
    public var attempts: Int?
    /// How long it tries before it gives up, from the loss or the start on; a day unless set. Between a second and a year.
    public var longestOutage = Duration.seconds(24 * 3600)
    /// How many requests may wait for the connection at a time; 128 unless set. Those beyond are not sent. Between 0 and 4096.
    public var waitingRequests = 128

    /// The defaults.
    public init() {}

    /// Every value in its range.
    var inRange: ReconnectionPolicy {
        var policy = self
        policy.firstDelay = min(max(self.firstDelay, .milliseconds(10)), .seconds(3600))
        policy.factor = self.factor.isFinite ? min(max(self.factor, 1), 10) : 2
        policy.longestDelay = min(max(self.longestDelay, policy.firstDelay), .seconds(24 * 3600))
        policy.jitter = self.jitter.isFinite ? min(max(self.jitter, 0), 1) : 0.25
        policy.attempts = self.attempts.map { max($0, 1) }
        policy.longestOutage = min(max(self.longestOutage, .seconds(1)), .seconds(365 * 24 * 3600))
        policy.waitingRequests = min(max(self.waitingRequests, 0), 4096)
        return policy
    }

    /// The wait after this many attempts have failed in a row.
    ///
    /// - Parameter random: between 0 and 1.
    func delay(afterFailures failures: Int, random: Double) -> Duration {
        var delay = self.firstDelay
        var left = failures - 1
        while left > 0, delay < self.longestDelay, self.factor > 1 {
            delay = delay * self.factor
            left -= 1
        }
        return min(delay, self.longestDelay) * (1 - self.jitter + 2 * self.jitter * random)
    }
}
