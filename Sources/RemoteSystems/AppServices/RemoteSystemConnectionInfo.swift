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

    init(_ connection: Connection, own: SystemID) {
        self.peer = AppServiceCaller(connection, own: own)
        self.isProximal = connection.channel.isProximal
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
    /// Whether the peer's address is one that only neighbours have: loopback, link-local or private (RFC 1918, RFC 4193).
    var isProximal: Bool {
        guard var text = self.remoteAddress?.ipAddress?.lowercased() else { return false }
        if text.hasPrefix("::ffff:") { text.removeFirst(7) }
        let octets = text.split(separator: ".").compactMap { UInt8($0) }
        guard octets.count == 4 else {
            return text == "::1" || text.hasPrefix("fe80:") || text.hasPrefix("fc") || text.hasPrefix("fd")
        }
        switch (octets[0], octets[1]) {
        case (10, _), (127, _), (169, 254), (172, 16...31), (192, 168): return true
        default: return false
        }
    }
}
