// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// A machine of the same account that can be talked to now.
///
/// A value: what was known when the watcher told of it. Systems are told apart by ``id``, never by name: two
/// machines may well have the same name.
public struct RemoteSystem: Sendable, Identifiable {
    /// The hash of the system's key. It stays the same over restarts, new addresses and renewed certificates.
    public let id: SystemID
    /// The machine's name as its owner set it; not unique.
    public var displayName: String
    /// What sort of machine it is.
    public var kind: RemoteSystemKind
    /// Whether it can be talked to. Systems that a watcher lists are available.
    public var status: RemoteSystemStatus
    /// What it runs.
    public var platform: RemoteSystemPlatform
    /// Who made the machine, if it says.
    public var manufacturerDisplayName: String?
    /// The machine's model, if it says.
    public var modelDisplayName: String?
    /// How it was found.
    public var discoveryType: RemoteSystemDiscoveryType
    /// Whose it is.
    public var authorizationKind: RemoteSystemAuthorizationKind
    /// Whether it is the machine that this program runs on.
    public var isLocal: Bool
    /// The applications on it that can be talked to, by id in ascending order.
    public var applications: [RemoteSystemApplication]

    let origin: ApplicationContext

    /// The account that it belongs to: this system's own, as it has proved; `nil` for a system of somebody else, whose
    /// account cannot be known.
    public var accountID: AccountID? {
        guard self.authorizationKind == .sameUser else { return nil }
        return try? self.origin.security().identity.accountID
    }

    /// Whether it was found on the same network.
    public var isAvailableByProximity: Bool { self.discoveryType == .proximal }

    /// The application with this id.
    public func application(_ id: String) -> RemoteSystemApplication? {
        self.applications.first { $0.id == id }
    }
}

extension RemoteSystem: Hashable {
    /// Equal when everything that is known of the two is equal.
    public static func == (lhs: RemoteSystem, rhs: RemoteSystem) -> Bool {
        lhs.id == rhs.id && lhs.displayName == rhs.displayName && lhs.kind == rhs.kind && lhs.status == rhs.status
            && lhs.platform == rhs.platform && lhs.manufacturerDisplayName == rhs.manufacturerDisplayName
            && lhs.modelDisplayName == rhs.modelDisplayName && lhs.discoveryType == rhs.discoveryType
            && lhs.authorizationKind == rhs.authorizationKind && lhs.isLocal == rhs.isLocal
            && lhs.applications == rhs.applications
    }

    /// Hashes the id.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.id)
    }
}
