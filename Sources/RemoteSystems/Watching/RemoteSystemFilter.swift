// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity

/// A condition for the systems that a watcher reports.
///
/// Filters of the same sort are alternatives: a system must match one of them. Filters of different sorts must all
/// match. For example, `[.kind(.desktop), .kind(.laptop), .remoteOnly]` matches every desktop computer or laptop except
/// this machine. Each ``matching(_:)`` is a sort of its own. Without filters every system is reported.
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

        /// Rules of the same sort are alternatives.
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

    /// A closure that is equal only to itself.
    final class Predicate: Sendable, Hashable {
        let body: @Sendable (RemoteSystem) -> Bool

        init(_ body: @escaping @Sendable (RemoteSystem) -> Bool) { self.body = body }

        static func == (lhs: Predicate, rhs: Predicate) -> Bool { lhs === rhs }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    let rule: Rule

    /// Matches systems of this kind.
    ///
    /// - Parameter kind: the kind of machine. Add further filters of this sort for alternatives.
    public static func kind(_ kind: RemoteSystemKind) -> RemoteSystemFilter { .init(rule: .kind(kind)) }
    /// Matches systems by how they were found.
    ///
    /// - Parameter type: the discovery type; ``RemoteSystemDiscoveryType/any`` matches all systems.
    public static func discoveryType(_ type: RemoteSystemDiscoveryType) -> RemoteSystemFilter {
        .init(rule: .discoveryType(type))
    }
    /// Matches systems with this status.
    ///
    /// - Parameter status: the status. A watcher lists only available systems.
    public static func status(_ status: RemoteSystemStatus) -> RemoteSystemFilter { .init(rule: .status(status)) }
    /// Matches systems of this account, of linked accounts, or of other accounts nearby.
    ///
    /// Without this filter, a watcher reports only systems of this account. With a filter for
    /// ``RemoteSystemAuthorizationKind/linked`` it also looks for systems of linked accounts. With a filter for
    /// ``RemoteSystemAuthorizationKind/anonymous`` it also connects to nearby systems of other accounts. These systems
    /// then learn the ids of this system and of its account.
    ///
    /// - Parameter kind: the relation between the system's account and this system's account.
    public static func authorizationKind(_ kind: RemoteSystemAuthorizationKind) -> RemoteSystemFilter {
        .init(rule: .authorizationKind(kind))
    }
    /// Matches systems with this operating system.
    ///
    /// - Parameter platform: the operating system.
    public static func platform(_ platform: RemoteSystemPlatform) -> RemoteSystemFilter {
        .init(rule: .platform(platform))
    }
    /// Matches systems on which this application runs or is installed.
    ///
    /// - Parameter id: the application's id. If it is not valid, ``RemoteSystemWatcher/start()`` throws
    ///   ``RemoteSystemError/Code/invalidArgument``.
    public static func application(_ id: String) -> RemoteSystemFilter { .init(rule: .application(id)) }
    /// Matches systems on which an application offers this app service.
    ///
    /// - Parameter name: the service's name. If it is not valid, ``RemoteSystemWatcher/start()`` throws
    ///   ``RemoteSystemError/Code/invalidArgument``.
    public static func service(_ name: String) -> RemoteSystemFilter { .init(rule: .service(name)) }
    /// Matches all systems except this one.
    public static let remoteOnly = RemoteSystemFilter(rule: .remoteOnly)

    /// Matches systems of the account with this id: this system's own account, or a linked one.
    ///
    /// Systems of a linked account match only in a watcher that also has the filter ``authorizationKind(_:)`` for
    /// ``RemoteSystemAuthorizationKind/linked``.
    public static func account(_ id: AccountID) -> RemoteSystemFilter { .init(rule: .account(id)) }
    /// Decides whether this machine is reported when the watching application is its only application.
    ///
    /// - Parameter kind: ``RemoteSystemLocalVisibilityKind/hideLocalApp`` to leave this machine out in this case.
    public static func localVisibility(_ kind: RemoteSystemLocalVisibilityKind) -> RemoteSystemFilter {
        .init(rule: .localVisibility(kind))
    }

    /// Matches systems for which a closure returns `true`.
    ///
    /// ```swift
    /// let filter = RemoteSystemFilter.matching { $0.applications.contains { $0.attributes["room"] == "kitchen" } }
    /// ```
    ///
    /// A listed system that no longer matches is reported as removed. The filter is equal only to copies of itself.
    ///
    /// - Parameter predicate: called by the watcher when a system is found and whenever a system changes. It must not
    ///   block, because the watcher waits for it, and it must return the same result for equal systems.
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
    /// The filters of a watcher that looks for one system with this standing. Systems of other accounts are listed only
    /// if a filter names them.
    static func listing(_ standing: Standing.Kind) -> [RemoteSystemFilter] {
        standing == .sameAccount ? [] : [.authorizationKind(RemoteSystemAuthorizationKind(standing))]
    }
}

extension Sequence<RemoteSystemFilter> {
    /// The relations of the systems that the watcher looks for.
    var wanted: Set<Standing.Kind> {
        Set(
            Standing.Kind.allCases.filter { kind in
                kind == .sameAccount
                    || self.contains { $0.rule == .authorizationKind(RemoteSystemAuthorizationKind(kind)) }
            }
        )
    }

    func allow(_ system: RemoteSystem) -> Bool {
        Dictionary(grouping: self, by: \.rule.sort).values.allSatisfy { alternatives in
            alternatives.contains { $0.matches(system) }
        }
    }
}
