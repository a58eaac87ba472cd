// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Bounds how many connections may be at the stage at which their peer is not authenticated.
///
/// Without it, any machine that can reach the port could hold any number of half-open connections (CVE-2020-26164 and the
/// like). Connections beyond the bound are closed at once; those that are open already are not touched. A connection is at
/// that stage from TCP's accept until it is open, or until its hello's time is over (1 s unless set): at the defaults 128 of
/// them in all and 32 of one peer key, so a single peer cannot keep others out, and what waits there holds a few hundred
/// KiB at most. `Docs/wire-protocol.md`, section 3, tells callers; `Docs/security-model.md` lists it among the limits.
struct AdmissionGate {
    private let total: Int
    private let perPeer: Int
    private var count = 0
    private var byPeer: [PeerKey: Int] = [:]

    /// - Parameters:
    ///   - total: how many connections of all peers together; a listener has one gate.
    ///   - perPeer: how many of peers with one key.
    init(total: Int = 128, perPeer: Int = 32) {
        self.total = total
        self.perPeer = perPeer
    }

    mutating func enter(_ peer: PeerKey) -> Bool {
        guard self.count < self.total, self.byPeer[peer, default: 0] < self.perPeer else { return false }
        self.count += 1
        self.byPeer[peer, default: 0] += 1
        return true
    }

    mutating func leave(_ peer: PeerKey) {
        guard let here = self.byPeer[peer] else { return }
        self.count -= 1
        self.byPeer[peer] = here > 1 ? here - 1 : nil
    }
}
