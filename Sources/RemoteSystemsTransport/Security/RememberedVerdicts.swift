// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsIdentity

/// The trusted peers by their certificates, so that a signature is verified once and not for each connection.
///
/// A verdict depends on the certificates, the trust store and the time alone. So these verdicts belong to one state of
/// the trust store, and are valid from the time of the verdict until the trust in the peer ends.
struct RememberedVerdicts: Sendable {
    private struct Entry: Sendable {
        var peer: PeerIdentity
        var start: Date
    }

    /// The maximum number of verdicts. When it is exceeded, all verdicts are forgotten. Only systems of trusted
    /// accounts can produce verdicts.
    static var maxEntries: Int { 512 }

    private var entries: [TrustStore.Presented: Entry] = [:]
    /// A number that grows with each change of the trust.
    private(set) var version = 0

    var count: Int { self.entries.count }

    /// Returns the peer if it was trusted before and is still; otherwise its certificates have to be judged.
    func peer(
        presenting presented: TrustStore.Presented,
        accepting accepted: Set<Standing.Kind>,
        now: Date
    ) -> PeerIdentity? {
        guard let entry = self.entries[presented], accepted.contains(entry.peer.standing.kind),
            entry.start <= now, now < entry.peer.expiry
        else { return nil }
        return entry.peer
    }

    /// Remembers the verdict about a peer whose account is known. An anonymous peer is not remembered: anyone can
    /// create any number of them. Neither is a verdict from which root keys are to be learned, which changes the trust.
    mutating func remember(_ verdict: TrustStore.Verdict, presenting presented: TrustStore.Presented, now: Date) {
        guard verdict.peer.standing.kind != .anonymous, verdict.learned == nil else { return }
        if self.entries.count >= Self.maxEntries { self.entries.removeAll() }
        self.entries[presented] = Entry(peer: verdict.peer, start: now)
    }

    /// Forgets all verdicts, because the trust has changed.
    mutating func removeAll() {
        self.entries.removeAll()
        self.version += 1
    }
}
