// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// What is known of a system: what each of its processes that is connected to says of itself and of the machine.
struct ObservedSystem: Sendable, Hashable {
    /// A process.
    struct Part: Sendable, Hashable {
        /// The instance by which it is known here.
        var name: String
        var description: SystemDescription
        var endpoints: [Endpoint]
        var discoveryType: RemoteSystemDiscoveryType
        /// What its system is to this one.
        var standing: Standing.Kind

        init(
            name: String,
            _ instance: SystemBrowserStateMachine.Instance,
            _ description: SystemDescription
        ) {
            self.name = name
            self.description = description
            self.endpoints = instance.endpoints
            self.discoveryType = instance.discoveryType
            self.standing = instance.standing
        }

        /// What a system is called must not depend on the random names that its processes have for a day: the process
        /// that speaks for the machine decides, else that of the application with the first id.
        var rank: (Int, String, String) {
            let application = self.description.application.id
            return (application == RemoteSystemHost.machineApplicationID ? 0 : 1, application, self.name)
        }
    }

    let id: SystemID
    /// Those that have described themselves, by ``Part/rank``. Empty for a system that is gone.
    var parts: [Part]
}

extension RemoteSystem {
    /// A system as a watcher lists it; `nil` when no part is left to tell of.
    ///
    /// - Parameters:
    ///   - includesAnonymous: whether the watcher wants to see systems of other accounts.
    ///   - origin: what connections to it are made with.
    init?(_ observed: ObservedSystem, includesAnonymous: Bool, ownSystem: SystemID, origin: ApplicationContext) {
        var parts = observed.parts
        // What others say of a system that is ours as well does not count.
        if !includesAnonymous || parts.contains(where: \.standing.isAccountProved) {
            parts.removeAll { !$0.standing.isAccountProved }
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
        // What is installed and not connected to is to be had from the process that starts it, which knows whether it
        // runs.
        for part in parts {
            for installed in part.description.installed where applications[installed.id] == nil {
                let isRunning = part.description.running.contains(installed.id)
                applications[installed.id] = RemoteSystemApplication(installed, in: part, isRunning, observed, origin)
            }
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
            origin: origin
        )
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
            origin: origin,
            standing: part.standing
        )
    }
}
