// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity

/// Which systems a watcher tells of.
///
/// Filters of one sort widen each other (two kinds: either will do), filters of different sorts narrow each other. No
/// filter means every system.
public struct RemoteSystemFilter: Sendable, Hashable {
    enum Rule: Sendable, Hashable {
        case kind(RemoteSystemKind)
        case discoveryType(RemoteSystemDiscoveryType)
        case status(RemoteSystemStatus)
        case authorizationKind(RemoteSystemAuthorizationKind)
        case platform(RemoteSystemPlatform)
        case application(String)
        case service(String)
        case remoteOnly
        case account(AccountID)
        case localVisibility(RemoteSystemLocalVisibilityKind)

        /// Rules of one sort have one number.
        var sort: Int {
            switch self {
            case .kind: 0
            case .discoveryType: 1
            case .status: 2
            case .authorizationKind: 3
            case .platform: 4
            case .application: 5
            case .service: 6
            case .remoteOnly: 7
            case .account: 8
            case .localVisibility: 9
            }
        }
    }

    let rule: Rule

    /// Systems of this kind.
    public static func kind(_ kind: RemoteSystemKind) -> RemoteSystemFilter { .init(rule: .kind(kind)) }
    /// Systems found this way; ``RemoteSystemDiscoveryType/any`` lets all through.
    public static func discoveryType(_ type: RemoteSystemDiscoveryType) -> RemoteSystemFilter {
        .init(rule: .discoveryType(type))
    }
    /// Systems with this status.
    public static func status(_ status: RemoteSystemStatus) -> RemoteSystemFilter { .init(rule: .status(status)) }
    /// Systems of the same user, or of anybody nearby. Only a watcher with a filter for
    /// ``RemoteSystemAuthorizationKind/anonymous`` looks for systems of others; those that it connects to learn the ids of
    /// this system and of its account.
    public static func authorizationKind(_ kind: RemoteSystemAuthorizationKind) -> RemoteSystemFilter {
        .init(rule: .authorizationKind(kind))
    }
    /// Systems that run this.
    public static func platform(_ platform: RemoteSystemPlatform) -> RemoteSystemFilter {
        .init(rule: .platform(platform))
    }
    /// Systems on which this application runs.
    public static func application(_ id: String) -> RemoteSystemFilter { .init(rule: .application(id)) }
    /// Systems on which an application offers this app service.
    public static func service(_ name: String) -> RemoteSystemFilter { .init(rule: .service(name)) }
    /// Other machines than this one.
    public static let remoteOnly = RemoteSystemFilter(rule: .remoteOnly)

    /// Systems of this account. Each configuration has one account, so this leaves out the systems of anybody nearby, whose
    /// account cannot be known.
    public static func account(_ id: AccountID) -> RemoteSystemFilter { .init(rule: .account(id)) }
    /// Whether this machine is told of when nothing but the watching application is on it.
    public static func localVisibility(_ kind: RemoteSystemLocalVisibilityKind) -> RemoteSystemFilter {
        .init(rule: .localVisibility(kind))
    }

    func matches(_ system: RemoteSystem) -> Bool {
        switch self.rule {
        case .kind(let kind): system.kind == kind
        case .discoveryType(let type): type == .any || system.discoveryType == type
        case .status(let status): system.status == status
        case .authorizationKind(let kind): system.authorizationKind == kind
        case .platform(let platform): system.platform == platform
        case .application(let id): system.application(id) != nil
        case .service(let name): system.applications.contains { $0.services.contains { $0.name == name } }
        case .remoteOnly: !system.isLocal
        case .account(let id): system.accountID == id
        case .localVisibility(let kind):
            kind != .hideLocalApp || !system.isLocal
                || system.applications.contains { $0.id != system.origin.configuration.applicationID }
        }
    }
}

extension Sequence<RemoteSystemFilter> {
    /// Whether systems of other accounts are looked for, too.
    var wantAnonymous: Bool { self.contains { $0.rule == .authorizationKind(.anonymous) } }

    func allow(_ system: RemoteSystem) -> Bool {
        Dictionary(grouping: self, by: \.rule.sort).values.allSatisfy { alternatives in
            alternatives.contains { $0.matches(system) }
        }
    }
}
