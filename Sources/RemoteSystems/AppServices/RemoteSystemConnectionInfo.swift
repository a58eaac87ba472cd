// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Information about an open connection.
public struct RemoteSystemConnectionInfo: Sendable, Hashable {
    /// The authenticated system at the other end of the connection.
    public let peer: AppServiceCaller
    /// Whether the peer is on the same network or on this machine.
    public let isProximal: Bool
    /// The peer's network address as text, without the port.
    public let address: String
    /// The maximum message size that the peer accepts, in bytes on the wire.
    public let messageLimit: Int
    /// The maximum number of concurrent requests that the peer accepts.
    public let requestWindow: Int

    package init(peer: AppServiceCaller, isProximal: Bool, address: String, messageLimit: Int, requestWindow: Int) {
        self.peer = peer
        self.isProximal = isProximal
        self.address = address
        self.messageLimit = messageLimit
        self.requestWindow = requestWindow
    }

    init(_ connection: Connection, own: SystemID) {
        self.peer = AppServiceCaller(connection, own: own)
        let peer = connection.channel.transportPeer
        self.isProximal = peer.isProximal
        self.address = peer.address
        self.messageLimit = connection.remote.limits.messageBytes
        self.requestWindow = connection.remote.limits.window
    }
}

extension AppServiceCaller {
    init(_ connection: Connection, own: SystemID) {
        self.init(
            systemID: connection.peer.systemID,
            standing: connection.peer.standing,
            isLocal: connection.peer.systemID == own,
            claimedApplicationID: connection.remote.application
        )
    }
}
