// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// An advertisement that was received and is not authenticated: it states where a system may be.
public struct DiscoveryHint: Sendable, Identifiable, Equatable {
    /// The id of the hint, unique within its source.
    public let id: String

    /// The advertised instance name (DNS-SD's name for one advertised service).
    ///
    /// The advertiser chooses it freely, so use it only to distinguish hints.
    public let instance: String

    /// The endpoints to connect to, best first, one for each address. Never empty.
    ///
    /// A machine that is seen on several interfaces has several endpoints.
    public var endpoints: [DiscoveryEndpoint]

    /// The advertised key-value pairs (the TXT record, RFC 6763 §6), keys in lower case.
    ///
    /// All pairs together have at most ``DiscoveryLimits/propertyBytes`` bytes. Defaults to none.
    public var properties: [String: [UInt8]]

    /// Creates a hint, for implementations of ``DiscoverySource``.
    ///
    /// - Parameters:
    ///   - id: The hint's id, unique within its source.
    ///   - instance: The advertised instance name.
    ///   - endpoints: Where to connect, best first. Must not be empty.
    ///   - properties: The advertised key-value pairs, keys in lower case. Defaults to none.
    public init(id: String, instance: String, endpoints: [DiscoveryEndpoint], properties: [String: [UInt8]] = [:]) {
        self.id = id
        self.instance = instance
        self.endpoints = endpoints
        self.properties = properties
    }
}

/// An address and port at which a system may be listening.
public struct DiscoveryEndpoint: Sendable, Hashable {
    /// The name of the transport for the address. `ip` is TCP over IPv4 and IPv6.
    ///
    /// An endpoint whose transport this process does not support is skipped.
    public let transport: String

    /// The address in the transport's own form. For `ip`: text form without brackets, with the scope for a link-local
    /// IPv6 address, such as `fe80::1%eth0`.
    public let address: String

    /// The port. For `ip`: the TCP port, 1–65535. For a transport whose addresses have no port: 0.
    public let port: Int

    /// The local interface on which the address was seen; `nil` if the source does not know it.
    public let interface: DiscoveryInterface?

    /// The maximum time for connecting. Valid range: 1 ms–10 min; a value outside is replaced by the nearest limit.
    ///
    /// `nil` for the configured time.
    public let connectTimeout: Duration?

    /// Creates an endpoint from its address and port.
    ///
    /// - Parameters:
    ///   - address: The address in the transport's own form.
    ///   - port: The port; 0 for a transport whose addresses have no port.
    ///   - interface: The local interface on which the address was seen. Defaults to `nil`: not known.
    ///   - transport: The name of the transport. Defaults to `ip`.
    ///   - connectTimeout: The maximum time for connecting. Defaults to `nil`, the configured time. Valid range: 1
    ///     ms–10 min.
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
    /// The address and port as in a URI: `10.0.0.1:5000`, `[fe80::1%eth0]:5000`. For other transports, the transport's
    /// name comes first: `relay:ADDRESS` or `relay:ADDRESS:PORT`.
    public var description: String {
        guard transport != "ip" else { return address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)" }
        return "\(transport):\(address)" + (port == 0 ? "" : ":\(port)")
    }
}

/// A network interface of this machine.
public struct DiscoveryInterface: Sendable, Hashable {
    /// The kernel's index of the interface, which is the scope id of link-local IPv6 addresses.
    public let index: Int

    /// The name of the interface, for example `eth0`.
    public let name: String

    /// Creates an interface.
    ///
    /// - Parameters:
    ///   - index: The kernel's index of the interface.
    ///   - name: The name of the interface, for example `eth0`.
    public init(index: Int, name: String) {
        self.index = index
        self.name = name
    }
}
