// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// One instance seen on one interface with one protocol: what Avahi tells of, and what a resolver is made for.
struct ServiceInstance: Sendable, Hashable {
    enum Family: UInt8, Sendable { case ipv4, ipv6 }

    let interface: Int32
    let family: Family
    let instance: String
}

/// What a resolver has found out about a sighting.
struct Resolution: Sendable, Equatable {
    /// The name of the host that is said to offer it, which belongs to the address.
    var hostName: String
    var endpoint: DiscoveryEndpoint
    var properties: [String: [UInt8]]
}
