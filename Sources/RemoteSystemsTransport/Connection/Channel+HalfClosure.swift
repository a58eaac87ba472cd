// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

extension Channel {
    /// Sets whether the channel stays open after the peer has closed its half of the connection.
    ///
    /// While the channel stays open, this side can still send `close_notify`, with which the peer distinguishes the end
    /// of the data from a lost connection. When this side closes, the peer's half-closure must end the channel;
    /// otherwise TLS would wait for a `close_notify` that never arrives.
    ///
    /// Called on the channel's event loop. Channels in memory do not support half-closure.
    func outlivesPeersHalf(_ outlives: Bool) {
        try? self.syncOptions?.setOption(.allowRemoteHalfClosure, value: outlives)
    }
}
