// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The name under which a transport is registered, and with which an endpoint refers to it.
///
/// Connection tokens contain it, so the name of a kind never changes. It is lower-case and has no colon.
package struct TransportKind: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package var rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// TCP over IPv4 and IPv6.
    package static let ip = TransportKind(rawValue: "ip")

    /// A Unix socket that only one user's programs of one machine can reach (``LocalTransport``).
    package static let local = TransportKind(rawValue: "local")

    package var description: String { self.rawValue }
}
