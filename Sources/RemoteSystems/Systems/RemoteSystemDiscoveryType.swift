// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The way a system was found.
///
/// The numbers are Project Rome's and never change. A number that this version does not know is kept as it is.
public struct RemoteSystemDiscoveryType: RawRepresentable, Sendable, Hashable {
    /// The number.
    public var rawValue: Int

    /// A status with this number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Any way.
    public static let any = RemoteSystemDiscoveryType(rawValue: 0)
    /// On the same network, by mDNS.
    public static let proximal = RemoteSystemDiscoveryType(rawValue: 1)
    /// Beyond the same network: by an address that was configured, or through a relay.
    public static let cloud = RemoteSystemDiscoveryType(rawValue: 2)
    /// By being physically near; not offered on Linux yet.
    public static let spatiallyProximal = RemoteSystemDiscoveryType(rawValue: 3)
}

extension RemoteSystemDiscoveryType: CustomStringConvertible {
    /// The status's name, or its number when it has none here.
    public var description: String {
        switch self {
        case .any: "any"
        case .proximal: "proximal"
        case .cloud: "cloud"
        case .spatiallyProximal: "spatiallyProximal"
        default: "remoteSystemDiscoveryType \(self.rawValue)"
        }
    }
}
