// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The attacks under which peers are measured.
package enum AttackName: String, Codable, CaseIterable, Sendable {
    /// TCP connections that send nothing.
    case silentConnections = "silent-connections"
    /// TLS handshakes without a certificate.
    case handshakes = "handshakes"
    /// Handshakes with the certificate of another account, and a hello.
    case foreignHellos = "foreign-hellos"
    /// Connections of a member, each with most of a large message.
    case halfMessages = "half-messages"
    /// Requests of a member, 64 in flight.
    case requests
    /// Changes of a member's description, 100 KB each.
    case descriptions
    /// Announcements of a discovery source: unknown tags, and copies of a system's tag at other addresses.
    case announcements

    /// Whether a server without discovery can be attacked, too.
    package var concernsConnectionsOnly: Bool { self != .descriptions && self != .announcements }
}
