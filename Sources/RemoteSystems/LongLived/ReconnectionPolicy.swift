// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The rules by which a ``LongLivedConnection`` reconnects after a loss or gives up.
///
/// The defaults suit most uses. ``LongLivedConnection/start()`` throws ``RemoteSystemError/Code/invalidArgument`` when
/// a value is outside its valid range.
public struct ReconnectionPolicy: Sendable, Hashable {
    /// The wait before the first new attempt, before jitter. Defaults to 250 ms. Valid range: 10 ms–1 h.
    public var firstDelay = Duration.milliseconds(250)
    /// The factor by which the wait grows after each failed attempt. Defaults to 2. Valid range: 1–10.
    public var factor = 2.0
    /// The maximum wait between two attempts, before jitter. Defaults to 30 s. Valid range: ``firstDelay``–24 h.
    public var longestDelay = Duration.seconds(30)
    /// The random part of each wait. A wait is longer or shorter by up to this fraction, so that systems that lost the
    /// same host do not reconnect at the same moment. Defaults to 0.25. Valid range: 0–1.
    public var jitter = 0.25
    /// The maximum number of consecutive failed attempts. Defaults to `nil`: only ``longestOutage`` limits them. Valid
    /// range: 1 or more.
    public var attempts: Int?
    /// The maximum time for which the connection tries, from the loss or the start on. Defaults to 24 h. Valid range: 1
    /// s–365 days.
    public var longestOutage = Duration.seconds(24 * 3600)
    /// The maximum number of requests that wait for the connection. Further requests are not sent. Defaults to 128.
    /// Valid range: 0–4096.
    public var waitingRequests = 128

    /// Creates a policy with the default values.
    public init() {}

    /// Returns the wait after a number of consecutive failed attempts.
    ///
    /// - Parameter random: a number between 0 and 1.
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
