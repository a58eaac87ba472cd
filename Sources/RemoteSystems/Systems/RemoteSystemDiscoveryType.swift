// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// How a system was found.
///
/// The raw values are those of Project Rome and never change. An unknown value is kept.
public struct RemoteSystemDiscoveryType: NumberedEnumeration {
    /// The raw value.
    public var rawValue: Int

    /// Creates a type with a raw value.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Found in any way.
    public static let any = RemoteSystemDiscoveryType(rawValue: 0)
    /// On the same network, by mDNS.
    public static let proximal = RemoteSystemDiscoveryType(rawValue: 1)
    /// Beyond the same network: by an address that was configured, or through a relay.
    public static let cloud = RemoteSystemDiscoveryType(rawValue: 2)
    /// By physical proximity. Not supported on Linux yet.
    public static let spatiallyProximal = RemoteSystemDiscoveryType(rawValue: 3)

    static let names = ["any", "proximal", "cloud", "spatiallyProximal"]
}
