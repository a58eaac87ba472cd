// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The name under which a transport is registered, and by which an endpoint names it.
///
/// Part of connection tokens, so a kind keeps its name for ever. Lower case, without colons.
package struct TransportKind: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package var rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// TCP over IPv4 and IPv6.
    package static let ip = TransportKind(rawValue: "ip")

    package var description: String { self.rawValue }
}
