// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Limits how often peers make this process verify signatures of what they publish in the topic `trust`, and how often
/// linked accounts make it store something.
///
/// A signature takes about a tenth of a millisecond, and what is new waits for the account's files, in one queue for
/// all peers. Each stored change also ends the TLS sessions of all peers, and is published to the account's systems.
struct TrustPace {
    typealias Instant = ContinuousClock.Instant

    /// The changes of the topic by one system: 64 at once, since each of its connections begins with one, then 4 a
    /// second.
    private var changes = KeyedTokenBuckets<SystemID>(capacity: 64, rate: 4)
    /// The changes by all systems of a linked account: as many as four of them. One system leaves turns for others.
    private var changesOfLinked = KeyedTokenBuckets<AccountID>(capacity: 256, rate: 16)
    /// The changes of a linked account that were stored: 8 at once, then one in 10 seconds.
    private var stored = KeyedTokenBuckets<AccountID>(capacity: 8, rate: 0.1)
    /// What one system knows of linked accounts: 48 at once, as many as two systems with all links differ in, then two
    /// a second. One record has a hundred signatures at most.
    private var linked = KeyedTokenBuckets<SystemID>(capacity: 48, rate: 2)

    /// Takes a token for a change of the topic.
    ///
    /// - Parameter account: the linked account that the system belongs to; `nil` for this account.
    /// - Returns: the delay after which to try again; `nil` if there was one.
    mutating func delay(of system: SystemID, _ account: AccountID?, at now: Instant) -> Duration? {
        var time = self.changes.nextTime(of: system, after: now)
        if let account { time = max(time, self.changesOfLinked.nextTime(of: account, after: now)) }
        guard time <= now else { return time - now }
        self.changes.take(of: system, at: now)
        if let account { self.changesOfLinked.take(of: account, at: now) }
        return nil
    }

    /// Returns the delay after which a further change of a linked account may be stored; `nil` if it may be stored now.
    func delayOfStoring(of account: AccountID, at now: Instant) -> Duration? {
        let time = self.stored.nextTime(of: account, after: now)
        return time > now ? time - now : nil
    }

    /// Takes a token for a change of a linked account that was stored. Only what is new takes one, which is not known
    /// before it is verified. So several connections of the account may store more at once, and then wait for longer.
    mutating func noteStored(of account: AccountID, at now: Instant) {
        self.stored.take(of: account, at: now)
    }

    /// Takes a token for what a system knows of a linked account.
    ///
    /// - Returns: the delay after which to try again; `nil` if there was one.
    mutating func delayOfLinked(from system: SystemID, at now: Instant) -> Duration? {
        self.linked.tryTake(system, at: now) ? nil : max(self.linked.nextTime(of: system, after: now) - now, .zero)
    }
}
