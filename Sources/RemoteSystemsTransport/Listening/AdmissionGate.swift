// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Limits the number of connections whose peer is not authenticated yet.
///
/// Without the limit, any machine that can reach the port could hold any number of half-open connections (compare
/// CVE-2020-26164). Connections beyond the limit are closed at once; earlier ones are not affected. A connection counts
/// from TCP's accept until it is open, or until the timeout of its hello elapses
/// (``ConnectionLimits/handshakeTimeout``). By default, 128 connections are admitted in all and 32 for one peer key. A
/// single peer therefore cannot exclude others, and the waiting connections use a few hundred KiB at most.
/// `Docs/wire-protocol.md`, section 3, and `Docs/security-model.md` document the limit.
struct AdmissionGate {
    private let total: Int
    private let perPeer: Int
    private var count = 0
    private var byPeer: [PeerKey: Int] = [:]

    /// - Parameters:
    ///   - total: the maximum number of connections of all peers together. Defaults to 128. Each listener has one gate.
    ///   - perPeer: the maximum number of connections of peers with the same key. Defaults to 32.
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
