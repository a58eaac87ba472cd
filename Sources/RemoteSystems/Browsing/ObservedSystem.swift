// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// A system as its connected processes describe it and its machine.
struct ObservedSystem: Sendable, Hashable {
    /// A connected process of the system.
    struct Part: Sendable, Hashable {
        /// The name of the process's instance.
        var name: String
        var description: SystemDescription
        var endpoints: [Endpoint]
        /// The endpoint of the last connection over which the process was authenticated.
        var authenticated: Endpoint?
        var discoveryType: RemoteSystemDiscoveryType
        /// The relation of the process's system to this system.
        var standing: Standing.Kind
        /// The account of the process's system, if proved.
        var account: AccountID?

        init(
            name: String,
            _ instance: SystemBrowserStateMachine.Instance,
            _ description: SystemDescription
        ) {
            self.name = name
            self.description = description
            self.endpoints = instance.endpoints
            self.authenticated = instance.authenticated
            self.discoveryType = instance.discoveryType
            self.standing = instance.standing
            self.account = instance.account
        }

        /// The order in which processes determine the system's name: the host daemon first, then by application id. The
        /// instance names are random and change daily, so they decide only last.
        var rank: (Int, String, String) {
            let application = self.description.application.id
            return (application == RemoteSystemHost.machineApplicationID ? 0 : 1, application, self.name)
        }
    }

    let id: SystemID
    /// The processes that have described themselves, ordered by ``Part/rank``. Empty for a system that is gone.
    var parts: [Part]
}

extension RemoteSystem {
    /// Creates the system that a watcher lists; `nil` if no process remains.
    ///
    /// - Parameters:
    ///   - wanted: the relations of the systems that the watcher wants.
    ///   - origin: the application context of connections to the system.
    init?(_ observed: ObservedSystem, wanted: Set<Standing.Kind>, ownSystem: SystemID, origin: ApplicationContext) {
        var parts = observed.parts.filter { wanted.contains($0.standing) }
        // A system of our account is described only by processes of our account, and a system of a linked account only
        // by processes whose account is proved.
        for standing in [Standing.Kind.sameAccount, .linked] where parts.contains(where: { $0.standing == standing }) {
            parts.removeAll { $0.standing != standing }
        }
        guard let first = parts.first else { return nil }
        var applications: [String: RemoteSystemApplication] = [:]
        for part in parts {
            let id = part.description.application.id
            if applications[id] == nil {
                applications[id] = RemoteSystemApplication(
                    part.description.application,
                    in: part,
                    true,
                    observed,
                    origin
                )
            } else {
                let known = applications[id]?.endpoints ?? []
                applications[id]?.endpoints += part.endpoints.filter { !known.contains($0) }
            }
        }
        // Running applications that a host describes are reached through it.
        for part in parts {
            for program in part.description.programs where applications[program.application.id] == nil {
                applications[program.application.id] = RemoteSystemApplication(
                    program.application,
                    in: part,
                    true,
                    observed,
                    origin
                )
            }
        }
        // Installed applications without a connection are reached through the process that can start them, which also
        // knows whether they run.
        for part in parts {
            for installed in part.description.installed where applications[installed.id] == nil {
                let isRunning = part.description.running.contains(installed.id)
                applications[installed.id] = RemoteSystemApplication(installed, in: part, isRunning, observed, origin)
            }
        }
        // Only the host daemon vouches, and a program not for itself.
        let daemon = parts.first { $0.description.application.id == RemoteSystemHost.machineApplicationID }
        for installed in daemon?.description.installed ?? [] where applications[installed.id]?.isRunning == false {
            applications[installed.id]?.publisher = installed.publisher ?? .unproven(nil)
        }
        for program in daemon?.description.programs ?? [] {
            applications[program.application.id]?.publisher = program.publisher
        }
        self.init(
            id: observed.id,
            displayName: first.description.displayName,
            kind: first.description.kind,
            status: .available,
            platform: first.description.platform,
            manufacturerDisplayName: first.description.manufacturer,
            modelDisplayName: first.description.model,
            discoveryType: parts.contains { $0.discoveryType == .proximal } ? .proximal : first.discoveryType,
            authorizationKind: RemoteSystemAuthorizationKind(first.standing),
            isLocal: observed.id == ownSystem,
            applications: applications.values.sorted { $0.id < $1.id },
            accountID: first.accountID(origin),
            accountName: first.standing == .linked
                ? first.account.flatMap { origin.account.links[$0]?.name } : nil,
            origin: origin
        )
    }
}

extension ObservedSystem.Part {
    fileprivate func accountID(_ origin: ApplicationContext) -> AccountID? {
        switch self.standing {
        case .sameAccount: try? origin.security().identity.accountID
        case .linked: self.account
        case .anonymous: nil
        }
    }
}

extension RemoteSystemApplication {
    fileprivate init(
        _ application: SystemDescription.Application,
        in part: ObservedSystem.Part,
        _ isRunning: Bool,
        _ system: ObservedSystem,
        _ origin: ApplicationContext
    ) {
        self.init(
            application,
            isRunning: isRunning,
            on: system.id,
            endpoints: part.endpoints,
            authenticated: part.authenticated,
            origin: origin,
            standing: part.standing
        )
    }
}
