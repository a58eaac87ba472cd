// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// The limits of what this side accepts from its peer, and the timeouts of a connection.
///
/// The defaults are those of the public configuration. A test compares them.
package struct ConnectionLimits: Sendable, Hashable {
    /// The maximum size of an accepted message, in bytes of its frame. Defaults to 1 MiB. Clamped to 1 KiB–16 MiB.
    package var messageBytes: Int {
        didSet { self.messageBytes = min(max(self.messageBytes, Self.minMessageBytes), Self.maxMessageBytes) }
    }
    /// The maximum number of the peer's outstanding requests. Defaults to 128. Clamped to 1–65 536.
    package var window = 128 {
        didSet { self.window = min(max(self.window, 1), Self.maxWindow) }
    }
    /// The maximum size of the peer's outstanding requests together, in bytes. Defaults to 8 MiB. At least
    /// ``messageBytes``.
    package var windowBytes: Int {
        get { max(self.chosenWindowBytes, self.messageBytes) }
        set { self.chosenWindowBytes = newValue }
    }
    /// The maximum number of requests that are handled concurrently. Defaults to 128. Minimum: 1, which handles
    /// requests strictly in sequence.
    package var concurrentRequests = 128 {
        didSet { self.concurrentRequests = max(self.concurrentRequests, 1) }
    }
    /// The timeout after which a silent peer counts as lost. Defaults to 15 s.
    package var deadPeerTime = TimeAmount.seconds(15)
    /// The timeout for TLS and the hello together, from when the connection is accepted. Defaults to 1 s.
    package var helloTimeout = TimeAmount.seconds(1)
    /// The time in which a frame must arrive whole, from its first byte. A long frame has more: the time that it takes
    /// at 16 KiB a second. Defaults to 30 s.
    package var frameTime = TimeAmount.seconds(30)
    /// The time for which a graceful close waits for outstanding work. Defaults to 5 s.
    package var drainTime = TimeAmount.seconds(5)

    /// The limits that the hello sends to the peer.
    package var peerLimits: PeerLimits {
        PeerLimits(messageBytes: self.messageBytes, window: self.window, windowBytes: self.windowBytes)
    }

    private var chosenWindowBytes = 8 << 20

    package static let minMessageBytes = 1 << 10
    package static let maxMessageBytes = 16 << 20
    package static let maxWindow = 65_536
    /// The maximum length of a frame before a connection is open, in bytes (`Docs/wire-protocol.md`, section 4).
    package static let helloBytes = 8 << 10

    package init(messageBytes: Int = 1 << 20) {
        self.messageBytes = min(max(messageBytes, Self.minMessageBytes), Self.maxMessageBytes)
    }
}

/// The limits that the peer stated in its hello or accept.
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
