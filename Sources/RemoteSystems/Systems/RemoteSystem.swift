// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// A machine that applications of this account can connect to.
///
/// The value holds what was known when a watcher reported the system; it does not change afterwards. Systems are
/// identified by ``id``, never by name: two machines may have the same name.
public struct RemoteSystem: Sendable, Identifiable {
    /// The id of the system: the hash of its public key. It does not change with restarts, new addresses or renewed
    /// certificates.
    public let id: SystemID
    /// The machine's name as its owner set it. Not unique. At most 1024 bytes of UTF-8.
    public var displayName: String
    /// The kind of machine.
    public var kind: RemoteSystemKind
    /// Whether the system can be connected to. A watcher lists only available systems.
    public var status: RemoteSystemStatus
    /// The system's operating system.
    public var platform: RemoteSystemPlatform
    /// The name of the machine's manufacturer; `nil` if it is not known.
    public var manufacturerDisplayName: String?
    /// The name of the machine's model; `nil` if it is not known.
    public var modelDisplayName: String?
    /// The way in which the system was found.
    public var discoveryType: RemoteSystemDiscoveryType
    /// The relation between the system's account and this system's account.
    public var authorizationKind: RemoteSystemAuthorizationKind
    /// Whether the system is the one that this process runs on.
    public var isLocal: Bool
    /// The system's applications that can be connected to, by id in ascending order.
    public var applications: [RemoteSystemApplication]

    /// The account of the system, if proved: this system's own account, or a linked account.
    ///
    /// `nil` for any other system, whose account cannot be known.
    public let accountID: AccountID?

    /// The name of the linked account that the system belongs to, as that account stated it when it was linked; `nil`
    /// for other systems.
    public let accountName: String?

    let origin: ApplicationContext

    /// Whether the system was found on the same network: ``discoveryType`` is ``RemoteSystemDiscoveryType/proximal``.
    public var isAvailableByProximity: Bool { self.discoveryType == .proximal }

    /// Returns the application with an id.
    ///
    /// - Parameter id: the application's id, in reverse-DNS form.
    /// - Returns: the application; `nil` when the system has none with this id.
    public func application(_ id: String) -> RemoteSystemApplication? {
        self.applications.first { $0.id == id }
    }
}

extension RemoteSystem: Hashable {
    /// Returns whether the two values are equal in all properties. Compare ``id`` to find out whether they are the same
    /// system.
    public static func == (lhs: RemoteSystem, rhs: RemoteSystem) -> Bool {
        lhs.id == rhs.id && lhs.displayName == rhs.displayName && lhs.kind == rhs.kind && lhs.status == rhs.status
            && lhs.platform == rhs.platform && lhs.manufacturerDisplayName == rhs.manufacturerDisplayName
            && lhs.modelDisplayName == rhs.modelDisplayName && lhs.discoveryType == rhs.discoveryType
            && lhs.authorizationKind == rhs.authorizationKind && lhs.isLocal == rhs.isLocal
            && lhs.accountID == rhs.accountID && lhs.accountName == rhs.accountName
            && lhs.applications == rhs.applications
    }

    /// Feeds the ``id`` into the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.id)
    }
}
