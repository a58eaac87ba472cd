// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Limits how often peers make this process verify signatures of what they publish in the topic `trust`.
///
/// A signature takes about a tenth of a millisecond, and what is new waits for the account's files, in one queue for
/// all peers.
struct TrustPace {
    typealias Instant = ContinuousClock.Instant

    /// The changes of the topic: 64 at once, since each connection of a system begins with one, then 4 a second. The
    /// systems of a linked account count together.
    private var changes = KeyedTokenBuckets<QuotaHolder>(capacity: 64, rate: 4)
    /// What one system knows of linked accounts: 48 at once, as many as two systems with all links differ in, then two
    /// a second. One record has a hundred signatures at most.
    private var linked = KeyedTokenBuckets<SystemID>(capacity: 48, rate: 2)

    /// Takes a token for a change of the topic.
    ///
    /// - Returns: the delay after which to try again; `nil` if there was one.
    mutating func delay(of holder: QuotaHolder, at now: Instant) -> Duration? {
        self.changes.tryTake(holder, at: now) ? nil : max(self.changes.nextTime(of: holder, after: now) - now, .zero)
    }

    /// Takes a token for what a system knows of a linked account.
    ///
    /// - Returns: the delay after which to try again; `nil` if there was one.
    mutating func delayOfLinked(from system: SystemID, at now: Instant) -> Duration? {
        self.linked.tryTake(system, at: now) ? nil : max(self.linked.nextTime(of: system, after: now) - now, .zero)
    }
}
