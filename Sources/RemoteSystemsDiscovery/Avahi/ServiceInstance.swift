// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// One instance on one interface with one protocol: what a browser reports and what a resolver resolves.
struct ServiceInstance: Sendable, Hashable {
    /// The address family of the protocol over which the instance was seen.
    enum Family: UInt8, Sendable { case ipv4, ipv6 }

    let interface: Int32
    let family: Family
    let instance: String
}

/// A resolver's result for a service instance.
struct Resolution: Sendable, Equatable {
    /// The name of the host that offers the service. The address is that host's.
    var hostName: String
    var endpoint: DiscoveryEndpoint
    var properties: [String: [UInt8]]
}
