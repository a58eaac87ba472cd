// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// What this side takes from its peer, and how long it waits.
package struct ConnectionLimits: Sendable, Hashable {
    /// The largest message accepted, in bytes of its frame. 1 MiB unless set; clamped to 1 KiB … 16 MiB.
    package var messageBytes: Int {
        didSet { self.messageBytes = min(max(self.messageBytes, Self.minMessageBytes), Self.maxMessageBytes) }
    }
    /// How many requests the peer may have with us at once. 128 unless set; clamped to 1 … 65 536.
    package var window = 128 {
        didSet { self.window = min(max(self.window, 1), Self.maxWindow) }
    }
    /// How many bytes of requests the peer may have with us at once; never less than one message. 8 MiB unless set.
    package var windowBytes: Int {
        get { max(self.chosenWindowBytes, self.messageBytes) }
        set { self.chosenWindowBytes = newValue }
    }
    /// How many of them are handled at the same time; 1, the least, makes handling strictly sequential.
    package var concurrentRequests = 128 {
        didSet { self.concurrentRequests = max(self.concurrentRequests, 1) }
    }
    /// Silence after which the peer counts as gone.
    package var deadPeerTime = TimeAmount.seconds(15)
    /// How long TLS and the hello may take together, from when the connection is accepted.
    package var handshakeTimeout = TimeAmount.seconds(1)
    /// How long a graceful close waits for what is under way.
    package var drainTime = TimeAmount.seconds(5)

    /// These limits as the hello tells them to the peer.
    package var peerLimits: PeerLimits {
        PeerLimits(messageBytes: self.messageBytes, window: self.window, windowBytes: self.windowBytes)
    }

    private var chosenWindowBytes = 8 << 20

    package static let minMessageBytes = 1 << 10
    package static let maxMessageBytes = 16 << 20
    package static let maxWindow = 65_536
    /// The largest frame before a connection is open (`Docs/wire-protocol.md`, section 4).
    package static let helloBytes = 8 << 10

    package init(messageBytes: Int = 1 << 20) {
        self.messageBytes = min(max(messageBytes, Self.minMessageBytes), Self.maxMessageBytes)
    }
}

/// What the peer said in its hello that it takes from us.
package struct PeerLimits: Sendable, Hashable {
    package var messageBytes: Int
    package var window: Int
    package var windowBytes: Int

    package init(messageBytes: Int, window: Int, windowBytes: Int) {
        self.messageBytes = messageBytes
        self.window = window
        self.windowBytes = windowBytes
    }
}
