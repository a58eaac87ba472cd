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
    /// The name of the transport that leads to the address. `ip` for TCP over IPv4 and IPv6. An endpoint of a transport
    /// that this process does not have is skipped.
    public let transport: String

    /// The address in the transport's own form. For `ip` it is in text form, without brackets; a link-local IPv6 address
    /// carries its scope: `fe80::1%eth0`.
    public let address: String

    /// The port. For `ip` the TCP port, 1...65535; 0 for a transport whose addresses have none.
    public let port: Int

    /// The local interface on which the address was seen, when the source knows it.
    public let interface: DiscoveryInterface?

    /// How long connecting may take, where that differs from the configured time. Valid range: 1 ms–10 min; a value
    /// beyond it counts as the nearest one within.
    public let connectTimeout: Duration?

    /// An endpoint with these values.
    ///
    /// - Parameters:
    ///   - address: the address in the transport's own form.
    ///   - port: the port; 0 for a transport whose addresses have none.
    ///   - interface: the local interface on which the address was seen, if known.
    ///   - transport: the name of the transport. Defaults to `ip`.
    ///   - connectTimeout: how long connecting may take; `nil`, the default, for the configured time.
    public init(
        address: String,
        port: Int,
        interface: DiscoveryInterface? = nil,
        transport: String = "ip",
        connectTimeout: Duration? = nil
    ) {
        self.address = address
        self.port = port
        self.interface = interface
        self.transport = transport
        self.connectTimeout = connectTimeout
    }
}

extension DiscoveryEndpoint: CustomStringConvertible {
    /// The address and port as they are written in a URI: `10.0.0.1:5000`, `[fe80::1%eth0]:5000`. Those of another
    /// transport follow its name: `relay:ADDRESS` or `relay:ADDRESS:PORT`.
    public var description: String {
        guard transport != "ip" else { return address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)" }
        return "\(transport):\(address)" + (port == 0 ? "" : ":\(port)")
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
