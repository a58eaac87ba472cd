// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity

/// Which systems a watcher tells of.
///
/// Filters of one sort widen each other (two kinds: either will do), filters of different sorts narrow each other. Each
/// ``matching(_:)`` is a sort of its own. No filter means every system.
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
        case matching(Predicate)

        /// Rules that widen each other are of one sort.
        enum Sort: Hashable {
            case kind, discoveryType, status, authorizationKind, platform, application, service, remoteOnly, account
            case localVisibility
            case matching(Predicate)
        }

        var sort: Sort {
            switch self {
            case .kind: .kind
            case .discoveryType: .discoveryType
            case .status: .status
            case .authorizationKind: .authorizationKind
            case .platform: .platform
            case .application: .application
            case .service: .service
            case .remoteOnly: .remoteOnly
            case .account: .account
            case .localVisibility: .localVisibility
            case .matching(let predicate): .matching(predicate)
            }
        }
    }

    /// A closure, equal to itself alone.
    final class Predicate: Sendable, Hashable {
        let body: @Sendable (RemoteSystem) -> Bool

        init(_ body: @escaping @Sendable (RemoteSystem) -> Bool) { self.body = body }

        static func == (lhs: Predicate, rhs: Predicate) -> Bool { lhs === rhs }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
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

    /// Systems for which the closure returns true.
    ///
    /// ```swift
    /// let filter = RemoteSystemFilter.matching { $0.applications.contains { $0.attributes["room"] == "kitchen" } }
    /// ```
    ///
    /// The watcher calls it when a system is found and whenever something about a system changes; a listed system that no longer
    /// matches is reported as removed. Return at once, without waiting for anything: the watcher waits for it. The same closure
    /// must return the same for the same system. A filter made so is equal to copies of itself alone.
    public static func matching(_ predicate: @escaping @Sendable (RemoteSystem) -> Bool) -> RemoteSystemFilter {
        .init(rule: .matching(Predicate(predicate)))
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
        case .matching(let predicate): predicate.body(system)
        }
    }
}

extension [RemoteSystemFilter] {
    /// The filters of a watcher that looks for one system with this standing. Anonymous systems are listed only if a
    /// filter names them.
    static func listing(_ standing: Standing.Kind) -> [RemoteSystemFilter] {
        standing.isAccountProved ? [] : [.authorizationKind(RemoteSystemAuthorizationKind(standing))]
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
