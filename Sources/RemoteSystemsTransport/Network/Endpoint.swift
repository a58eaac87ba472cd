// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import RemoteSystemsIdentity

/// An address at which a system may be reachable: the transport, the host and port, and options for connecting.
///
/// Two endpoints are equal if transport, host and port are equal. The options may differ between the sources that
/// report the same endpoint.
package struct Endpoint: Sendable {
    /// The classification of a system that is found at the endpoint.
    package enum DiscoveryType: Sendable, Hashable {
        /// On the same network.
        case proximal
        /// On another network, or unknown.
        case cloud
    }

    /// The systems that the endpoint may lead to. This value can only narrow what the connector accepts.
    package enum Trust: Sendable, Hashable {
        /// Any system that the connector accepts.
        case unrestricted
        /// Systems of this system's account.
        case account
        /// Only the system with this id.
        case system(SystemID)
    }

    /// The kind of the transport to connect with.
    package var transport: TransportKind
    /// The machine, in a form that only the transport interprets. For IP it is a host name or an address, with a zone
    /// if the address is link-local IPv6 (`fe80::1%eth0`).
    package var host: String
    /// The program on that machine; a host may redirect a caller to another port (decision 0013). 0 if the transport
    /// does not distinguish programs.
    package var port: Int
    package var discoveryType = DiscoveryType.cloud
    package var trust = Trust.unrestricted
    /// The timeout for connecting; `nil` for the connector's default.
    package var connectTimeout: TimeAmount?

    package init(transport: TransportKind, host: String, port: Int) {
        self.transport = transport
        self.host = host
        self.port = port
    }

    /// An endpoint on an IP network.
    package init(host: String, port: Int) {
        self.init(transport: .ip, host: host, port: port)
    }
}

extension Endpoint: Hashable {
    package static func == (lhs: Endpoint, rhs: Endpoint) -> Bool {
        lhs.port == rhs.port && lhs.host == rhs.host && lhs.transport == rhs.transport
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.transport)
        hasher.combine(self.host)
        hasher.combine(self.port)
    }
}

extension Endpoint: CustomStringConvertible {
    /// The endpoint as text: `10.0.0.5:47474`, `[fe80::1%eth0]:47474`; for other transports `relay:HOST` or
    /// `relay:HOST:PORT`.
    package var description: String {
        guard self.transport != .ip else {
            return self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
        }
        return "\(self.transport):\(self.host)" + (self.port == 0 ? "" : ":\(self.port)")
    }
}
