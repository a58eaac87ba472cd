// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

extension Channel {
    /// Whether the channel stays open when the peer has ended its half of the connection.
    ///
    /// While it does, this side can still send close_notify, so that the peer can tell the end of what we sent from a lost
    /// connection. Once this side closes, TLS must take the peer's end for the end of all, or it would wait for nothing.
    ///
    /// On the channel's event loop. Channels in memory have no halves.
    func outlivesPeersHalf(_ outlives: Bool) {
        try? self.syncOptions?.setOption(.allowRemoteHalfClosure, value: outlives)
    }
}
