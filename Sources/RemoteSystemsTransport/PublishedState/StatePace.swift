// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import Synchronization

/// Limits how fast the subscribers sharing it receive state beyond their first window, in all and from each holder of a
/// quota, so that large or busy states of some publishers do not take the processor time of all other connections.
///
/// Applying 100 KiB takes the event loop about a millisecond, which everything else on it has to wait.
package final class StatePace: Sendable {
    /// The number of bytes that may be granted at once, and in a second.
    package static let burst = 4 << 20
    package static let rate = 4 << 20
    /// The same for one holder. At once as much as it can have published in all (``StateBudget``).
    package static let burstOfHolder = 2 << 20
    package static let rateOfHolder = 256 << 10

    private struct Tokens {
        var all: TokenBucket
        var holders = KeyedTokenBuckets<QuotaHolder>(
            capacity: Double(StatePace.burstOfHolder),
            rate: Double(StatePace.rateOfHolder)
        )
    }

    private let tokens: Mutex<Tokens>

    package init(now: ContinuousClock.Instant = .now) {
        self.tokens = Mutex(
            Tokens(all: TokenBucket(capacity: Double(Self.burst), rate: Double(Self.rate), now: now))
        )
    }

    /// Counts a grant of credit.
    ///
    /// - Returns: the delay after which to try again; `nil` if the grant may be sent now.
    func delay(granting bytes: Int, to holder: QuotaHolder, now: ContinuousClock.Instant = .now) -> Duration? {
        self.tokens.withLock { tokens in
            let time = max(tokens.all.nextTime(after: now), tokens.holders.nextTime(of: holder, after: now))
            guard time <= now else { return time - now }
            tokens.all.take(Double(bytes), at: now)
            tokens.holders.take(Double(bytes), of: holder, at: now)
            return nil
        }
    }
}
