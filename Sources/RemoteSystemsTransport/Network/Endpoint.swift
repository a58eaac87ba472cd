// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import RemoteSystemsIdentity

/// Where a system may be reached: the transport that leads there, the place, and what connecting there takes.
///
/// Two endpoints are equal if they are the same place. What else an endpoint carries says how to connect to it, and may
/// differ between the sources that report the same place.
package struct Endpoint: Sendable {
    /// How a system counts as found that answers there.
    package enum DiscoveryType: Sendable, Hashable {
        /// On the same network.
        case proximal
        /// Beyond it, or not known.
        case cloud
    }

    /// Which systems may answer there. It narrows what the connector accepts, and never widens it.
    package enum Trust: Sendable, Hashable {
        /// Any that the connector accepts.
        case unrestricted
        /// Those of this system's account.
        case account
        /// This one.
        case system(SystemID)
    }

    /// The transport that leads there.
    package var transport: TransportKind
    /// The machine, in a form that only the transport reads. For IP it is an address, with a zone if it is link-local
    /// IPv6 (`fe80::1%eth0`), or a host name.
    package var host: String
    /// The program on that machine: what a host names when it redirects a caller (decision 0013). 0 if the transport
    /// does not distinguish programs.
    package var port: Int
    package var discoveryType = DiscoveryType.cloud
    package var trust = Trust.unrestricted
    /// How long connecting may take there; `nil` for the connector's default.
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
    /// `10.0.0.5:47474`, `[fe80::1%eth0]:47474`; of another transport `relay:HOST` or `relay:HOST:PORT`.
    package var description: String {
        guard self.transport != .ip else {
            return self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
        }
        return "\(self.transport):\(self.host)" + (self.port == 0 ? "" : ":\(self.port)")
    }
}
