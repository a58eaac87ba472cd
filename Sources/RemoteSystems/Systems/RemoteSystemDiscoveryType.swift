// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The way in which a system was found.
///
/// The raw values are those of Project Rome and never change. An unknown value is kept.
public struct RemoteSystemDiscoveryType: NumberedEnumeration {
    /// The number of the type, as Project Rome defines it. Unknown numbers are kept.
    public var rawValue: Int

    /// Creates a type with a number, which may be unknown to this version.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The system was found in any way. No system has this type; it serves as a filter
    /// (``RemoteSystemFilter/discoveryType(_:)``).
    public static let any = RemoteSystemDiscoveryType(rawValue: 0)
    /// The system was found on the same network, by mDNS.
    public static let proximal = RemoteSystemDiscoveryType(rawValue: 1)
    /// The system was found beyond the same network: by an address that was configured, or through a relay.
    public static let cloud = RemoteSystemDiscoveryType(rawValue: 2)
    /// The system was found by physical proximity. Not supported on Linux yet.
    public static let spatiallyProximal = RemoteSystemDiscoveryType(rawValue: 3)

    static let names = ["any", "proximal", "cloud", "spatiallyProximal"]
}
