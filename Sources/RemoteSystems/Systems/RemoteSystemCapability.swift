// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Something that a system may be able to do (one of Project Rome's `KnownRemoteSystemCapabilities`).
public struct RemoteSystemCapability: RawRepresentable, Sendable, Hashable {
    /// The capability's name.
    public var rawValue: String

    /// A capability with this name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An application on it offers an app service to other systems.
    public static let appService = RemoteSystemCapability(rawValue: "appService")
    /// An application on it opens URIs that are sent to it.
    public static let launchURI = RemoteSystemCapability(rawValue: "launchURI")
    /// It takes part in sessions of several systems. No system does yet.
    public static let remoteSession = RemoteSystemCapability(rawValue: "remoteSession")
    /// It shares places in the room around it. No system does.
    public static let spatialEntity = RemoteSystemCapability(rawValue: "spatialEntity")
}

extension RemoteSystemCapability: CustomStringConvertible {
    /// The capability's name.
    public var description: String { self.rawValue }
}

extension RemoteSystem {
    /// Whether the system can do this, as far as its applications have told; always known at once, nobody is asked.
    ///
    /// A capability that is not known here is one that the system does not have.
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
