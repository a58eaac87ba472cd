// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

/// The peer keys from which systems of an account have connected, for which a port keeps places. A value without I/O or
/// a clock.
///
/// The table is bounded. When it is full, a new key replaces the least recently used one of the system, or linked
/// account, that has the most. So a malicious system with many addresses displaces the keys of others only down to an
/// equal share. A key counts for the first system that connected from it. There is no timeout: a member that returns
/// after a week needs the place as much.
struct KnownPeerKeys {
    private struct Entry {
        let holder: QuotaHolder
        var lastUse: UInt64
    }

    /// The maximum number of keys.
    static let maxKeys = 1_024

    private var entries: [PeerKey: Entry] = [:]
    private var uses: UInt64 = 0

    var count: Int { self.entries.count }

    func contains(_ key: PeerKey) -> Bool { self.entries[key] != nil }

    /// Notes that a system has connected from the key.
    mutating func use(_ key: PeerKey, by holder: QuotaHolder) {
        self.uses += 1
        self.entries[key, default: Entry(holder: holder, lastUse: 0)].lastUse = self.uses
        if self.entries.count > Self.maxKeys { self.removeOne() }
    }

    private mutating func removeOne() {
        var counts: [QuotaHolder: Int] = [:]
        for entry in self.entries.values { counts[entry.holder, default: 0] += 1 }
        let most = counts.values.max()
        let candidates = self.entries.filter { counts[$0.value.holder] == most }
        guard let oldest = candidates.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
        self.entries[oldest.key] = nil
    }
}
