// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Limits how fast the subscribers sharing it receive state beyond their first window, in all and from each system, so
/// that large or busy states of some publishers do not take the processor time of all other connections.
///
/// Applying 100 KiB takes the event loop about a millisecond, which everything else on it has to wait.
package final class StatePace: Sendable {
    /// The number of bytes that may be granted at once, and in a second.
    package static let burst = 4 << 20
    package static let rate = 4 << 20
    /// The same for one system. At once as much as it can have published in all (``StateBudget``).
    package static let burstOfPeer = 2 << 20
    package static let rateOfPeer = 256 << 10

    private struct Tokens {
        var all: TokenBucket
        var peers = KeyedTokenBuckets<String>(
            capacity: Double(StatePace.burstOfPeer),
            rate: Double(StatePace.rateOfPeer)
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
    func delay(granting bytes: Int, to peer: String, now: ContinuousClock.Instant = .now) -> Duration? {
        self.tokens.withLock { tokens in
            let time = max(tokens.all.nextTime(after: now), tokens.peers.nextTime(of: peer, after: now))
            guard time <= now else { return time - now }
            tokens.all.take(Double(bytes), at: now)
            tokens.peers.take(Double(bytes), of: peer, at: now)
            return nil
        }
    }
}
