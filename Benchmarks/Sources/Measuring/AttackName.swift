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
    /// Requests of a member, 64 in flight, each with a new idempotency key.
    case keyedRequests = "keyed-requests"
    /// Requests of a member for a new certificate.
    case renewals
    /// A host daemon of a member, which describes new programs all the time.
    case referrals
    /// TCP connections that send nothing, at the port for joining.
    case joiningPort = "joining-port"
    /// Announcements: unknown tags, and copies of a system's tag at other addresses.
    case announcements
    /// Announcements with tags of the discovery key that a revoked system knows.
    case formerTags = "former-tags"

    /// Whether a bare server can be attacked in the same way, too: as much work with connections and messages.
    package var hasControl: Bool {
        switch self {
        case .silentConnections, .handshakes, .foreignHellos, .halfMessages, .requests, .keyedRequests, .joiningPort:
            true
        case .descriptions, .renewals, .referrals, .announcements, .formerTags: false
        }
    }
}
