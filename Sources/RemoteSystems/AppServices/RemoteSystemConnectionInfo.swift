// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Facts of an open connection.
public struct RemoteSystemConnectionInfo: Sendable, Hashable {
    /// Who is at the other end.
    public let peer: AppServiceCaller
    /// Whether the other end is on the same network, or on this machine.
    public let isProximal: Bool
    /// The address at the other end, in text form.
    public let address: String
    /// The largest message that the other end takes, in bytes on the wire.
    public let messageLimit: Int
    /// How many requests the other end takes at once.
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
