// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// A stream's buffer limit and its timeouts.
package struct StreamLimits: Sendable, Hashable {
    /// The number of unread bytes at which the stream stops reading from the network. In bytes. Defaults to 256 KiB.
    package var bufferedBytes = 256 << 10
    /// The timeout after which a silent peer counts as lost. It does not run while this side does not read. Defaults to
    /// 15 s.
    package var deadPeerTime = TimeAmount.seconds(15)
    /// The maximum time for which a peer that is alive may read nothing. Defaults to 5 min.
    package var stallTimeout = TimeAmount.minutes(5)
    /// The time to wait for the peer's close after an abort, and the time for which a closing host waits for a stream.
    /// Defaults to 5 s.
    package var drainTime = TimeAmount.seconds(5)

    /// The maximum length of an accepted frame, in bytes without the length field: a DATA frame, and 1 KiB for
    /// additions of later versions.
    static let frameBytes = Frame.maxDataBytes + 1024

    /// The limits in the hello and the accept. The window has no meaning on a stream.
    package static let peerLimits = PeerLimits(
        messageBytes: Self.frameBytes,
        window: 1,
        windowBytes: Self.frameBytes
    )

    package init() {}

    /// Creates limits with the timeouts of a connection for messages.
    package init(_ limits: ConnectionLimits) {
        self.deadPeerTime = limits.deadPeerTime
        self.drainTime = limits.drainTime
    }
}
