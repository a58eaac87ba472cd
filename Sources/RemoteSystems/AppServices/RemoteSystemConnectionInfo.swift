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

    init(_ connection: Connection, caller: AppServiceCaller, isProximal: Bool) {
        self.peer = caller
        self.isProximal = isProximal
        self.address = connection.channel.remoteAddress?.ipAddress ?? "?"
        self.messageLimit = connection.remote.limits.messageBytes
        self.requestWindow = connection.remote.limits.window
    }
}

extension AppServiceCaller {
    init(_ connection: Connection, own: SystemID) {
        self.init(
            systemID: connection.peer.systemID,
            accountID: connection.peer.accountID,
            isLocal: connection.peer.systemID == own,
            claimedApplicationID: connection.remote.application
        )
    }
}

extension Channel {
    /// Whether the peer's address is one that only neighbours have: loopback, link-local or private.
    var isProximal: Bool {
        switch self.remoteAddress {
        case .v4(let address):
            let ip = unsafe UInt32(bigEndian: address.address.sin_addr.s_addr)
            return ip >> 24 == 127 || ip >> 24 == 10 || ip >> 20 == 0xac1 || ip >> 16 == 0xc0a8 || ip >> 16 == 0xa9fe
        case .v6:
            let text = self.remoteAddress?.ipAddress?.lowercased() ?? ""
            return text == "::1" || text.hasPrefix("fe80:") || text.hasPrefix("fc") || text.hasPrefix("fd")
                || text.hasPrefix("::ffff:")
        default:
            return false
        }
    }
}
