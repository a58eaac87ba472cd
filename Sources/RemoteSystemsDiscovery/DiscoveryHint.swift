// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Where a system may be, as somebody announced it. Not authenticated.
public struct DiscoveryHint: Sendable, Identifiable, Equatable {
    /// What the hint is known by, unique within its source.
    public let id: String

    /// The announced instance name: chosen by whoever announces, so good for nothing but telling hints apart.
    public let instance: String

    /// Where to connect, best first, one for each address; never empty. The same machine seen on several interfaces has several.
    public var endpoints: [DiscoveryEndpoint]

    /// The announced key-value pairs (the TXT record, RFC 6763 §6), keys in lower case, at most
    /// ``DiscoveryLimits/propertyBytes`` bytes in all.
    public var properties: [String: [UInt8]]

    /// A hint with these values.
    public init(id: String, instance: String, endpoints: [DiscoveryEndpoint], properties: [String: [UInt8]] = [:]) {
        self.id = id
        self.instance = instance
        self.endpoints = endpoints
        self.properties = properties
    }
}

/// An address and port at which a system may be listening.
public struct DiscoveryEndpoint: Sendable, Hashable {
    /// The address in text form, without brackets. A link-local IPv6 address carries its scope: `fe80::1%eth0`.
    public let address: String

    /// The TCP port, 1...65535.
    public let port: Int

    /// The local interface on which the address was seen, when the source knows it.
    public let interface: DiscoveryInterface?

    /// An endpoint with these values.
    public init(address: String, port: Int, interface: DiscoveryInterface? = nil) {
        self.address = address
        self.port = port
        self.interface = interface
    }
}

extension DiscoveryEndpoint: CustomStringConvertible {
    /// The address and port as they are written in a URI: `10.0.0.1:5000`, `[fe80::1%eth0]:5000`.
    public var description: String {
        address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
    }
}

/// A network interface of this machine.
public struct DiscoveryInterface: Sendable, Hashable {
    /// The kernel's number of the interface, the scope id of link-local IPv6 addresses.
    public let index: Int

    /// The name of the interface, for example `eth0`.
    public let name: String

    /// An interface with this number and name.
    public init(index: Int, name: String) {
        self.index = index
        self.name = name
    }
}
