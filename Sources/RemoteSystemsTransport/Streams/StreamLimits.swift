// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// What a stream holds in memory, and how long it waits.
package struct StreamLimits: Sendable, Hashable {
    /// The stream stops reading from the network while it holds this much that was not read from it. In bytes. Defaults to 256 KiB.
    package var bufferedBytes = 256 << 10
    /// Silence after which the peer counts as gone; not counted while this side itself does not read. Defaults to 15 s.
    package var deadPeerTime = TimeAmount.seconds(15)
    /// The longest time in which a peer that is alive takes nothing of what is sent. Defaults to 5 min.
    package var stallTimeout = TimeAmount.minutes(5)
    /// How long the end of a stream waits for the peer after an abort, and a closing host for a stream. Defaults to 5 s.
    package var drainTime = TimeAmount.seconds(5)

    /// The longest frame that a stream accepts, in bytes without the length field: DATA, and something for later versions.
    static let frameBytes = Frame.maxDataBytes + 1024

    /// As the hello and the accept tell them. The window means nothing on a stream.
    package static let peerLimits = PeerLimits(
        messageBytes: Self.frameBytes,
        window: 1,
        windowBytes: Self.frameBytes
    )

    package init() {}

    /// With the times of other connections.
    package init(_ limits: ConnectionLimits) {
        self.deadPeerTime = limits.deadPeerTime
        self.drainTime = limits.drainTime
    }
}
