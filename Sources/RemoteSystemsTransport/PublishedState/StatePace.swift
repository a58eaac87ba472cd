// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Limits how fast the subscribers sharing it receive state beyond their first window, so that large states of some
/// publishers do not take the processor time of all other connections.
package final class StatePace: Sendable {
    /// The number of bytes that may be granted at once, and in a second.
    package static let burst = 4 << 20
    package static let rate = 4 << 20

    private let tokens: Mutex<TokenBucket>

    package init() {
        self.tokens = Mutex(TokenBucket(capacity: Double(Self.burst), rate: Double(Self.rate), now: .now))
    }

    /// Counts a grant of credit.
    ///
    /// - Returns: the delay after which to try again; `nil` if the grant may be sent now.
    func delay(granting bytes: Int) -> Duration? {
        self.tokens.withLock { tokens in
            let now = ContinuousClock.now
            guard tokens.permits(at: now) else { return tokens.nextTime(after: now) - now }
            tokens.take(Double(bytes), at: now)
            return nil
        }
    }
}
