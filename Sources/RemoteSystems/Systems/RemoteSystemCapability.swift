// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A capability of a system (one of Project Rome's `KnownRemoteSystemCapabilities`).
public struct RemoteSystemCapability: RawRepresentable, Sendable, Hashable {
    /// The name of the capability, as Project Rome defines it.
    public var rawValue: String

    /// Creates a capability with a name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An application on the system offers an app service to other systems.
    public static let appService = RemoteSystemCapability(rawValue: "appService")
    /// An application on the system opens URIs that other systems launch.
    public static let launchURI = RemoteSystemCapability(rawValue: "launchURI")
    /// The system takes part in remote sessions. No system does yet.
    public static let remoteSession = RemoteSystemCapability(rawValue: "remoteSession")
    /// The system shares spatial entities. No system does.
    public static let spatialEntity = RemoteSystemCapability(rawValue: "spatialEntity")
}

extension RemoteSystemCapability: CustomStringConvertible {
    /// The name of the capability, as in ``rawValue``.
    public var description: String { self.rawValue }
}

extension RemoteSystem {
    /// Returns whether the system has a capability, according to what its applications have published. Sends nothing.
    ///
    /// - Parameter capability: the capability to look for.
    /// - Returns: `false` for a capability that this version does not know.
    public func supports(_ capability: RemoteSystemCapability) -> Bool {
        switch capability {
        case .appService:
            self.applications.contains { application in
                application.services.contains { $0.supportsRemote || self.isLocal }
            }
        case .launchURI:
            self.applications.contains { !$0.uriSchemes.isEmpty }
        default:
            false
        }
    }
}
