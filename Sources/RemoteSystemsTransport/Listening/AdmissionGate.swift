// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Limits the number of connections whose peer is not authenticated yet.
///
/// Without the limit, any machine that can reach the port could hold any number of half-open connections (compare
/// CVE-2020-26164). Connections beyond the limit are closed at once; earlier ones are not affected. A connection counts
/// from TCP's accept until it is open, or until the timeout of its hello elapses
/// (``ConnectionLimits/helloTimeout``). By default, 128 connections are admitted in all and 32 for one peer key. A
/// single peer therefore cannot exclude others, and the waiting connections use a few hundred KiB at most.
/// `Docs/wire-protocol.md`, section 3, and `Docs/security-model.md` document the limit.
final class AdmissionGate: Sendable {
    private let connections: Mutex<KeyedLimiter<PeerKey>>

    /// Creates a gate without connections.
    ///
    /// - Parameters:
    ///   - total: the maximum number of connections of all peers together. Defaults to 128. Each listener has one gate.
    ///   - perPeer: the maximum number of connections of peers with the same key. Defaults to 32.
    init(total: Int = 128, perPeer: Int = 32) {
        self.connections = Mutex(KeyedLimiter(total: total, perKey: perPeer))
    }

    func enter(_ peer: PeerKey) -> Bool { self.connections.withLock { $0.enter(peer) } }
    func leave(_ peer: PeerKey) { self.connections.withLock { $0.leave(peer) } }
}
