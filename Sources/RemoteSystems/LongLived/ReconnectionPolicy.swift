// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// How a ``LongLivedConnection`` comes back after a loss: how soon, how often, for how long.
///
/// The defaults are meant to be used. ``LongLivedConnection/start()`` fails with ``RemoteSystemError/Code/invalidArgument`` when
/// a value is outside its valid range.
public struct ReconnectionPolicy: Sendable, Hashable {
    /// The wait before the first new attempt; defaults to 250 ms. Valid range: 10 ms–1 h.
    public var firstDelay = Duration.milliseconds(250)
    /// What each wait is multiplied by after an attempt that failed; defaults to 2. Valid range: 1–10.
    public var factor = 2.0
    /// The longest wait between two attempts, before it is spread; defaults to 30 s. Valid range:
    /// ``firstDelay``–24 h.
    public var longestDelay = Duration.seconds(30)
    /// The part of each wait by which it is made longer or shorter at random, so that those who lost the same host do not
    /// come back at the same moment; defaults to 0.25. Valid range: 0–1.
    public var jitter = 0.25
    /// How many attempts in a row may fail before it gives up; `nil`, the default, sets no bound beside
    /// ``longestOutage``. Valid range: 1 or more.
    public var attempts: Int?
    /// How long it tries before it gives up, from the loss or the start on; defaults to a day. Valid range:
    /// 1 s–365 days.
    public var longestOutage = Duration.seconds(24 * 3600)
    /// How many requests may wait for the connection at a time; defaults to 128. Those beyond are not sent. Valid range:
    /// 0–4096.
    public var waitingRequests = 128

    /// The defaults.
    public init() {}

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
