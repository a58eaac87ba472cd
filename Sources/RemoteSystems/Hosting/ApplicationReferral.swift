// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Refers callers to other applications of this machine.
///
/// A caller is redirected to the port at which the application accepts connections itself. The application is started
/// first if necessary (`Docs/decisions/0013-redirect-by-port.md`).
struct ApplicationReferral: Sendable {
    let running: RunningApplications
    let starter: ApplicationStarter
    /// Whether this host listens on the loopback interface only. Every caller is then on this machine and can reach
    /// every port.
    let isOnLoopback: Bool

    /// Redirects a caller to the port of a running application.
    static func redirect(to application: String, port: Int) -> Refusal {
        Refusal(
            .appUnavailable,
            code: .applicationElsewhere,
            "The application \(application) takes this connection at port \(port).",
            canRetry: true,
            port: port
        )
    }

    /// The ids of other applications that run here and that the receiver of the list can reach, in ascending order. At
    /// most ``SystemDescription/maxRunning``. Those in ``programs(isLocal:)`` are left out.
    func running(beside own: String, isLocal: Bool) -> [String] {
        let processes = self.running.registered?.processes ?? []
        let reachable = processes.filter { self.isReachable($0, isLocal: isLocal) }
        let others = Set(reachable.map(\.application))
            .subtracting(self.programs(isLocal: isLocal).map(\.application.id)).subtracting([own])
        return Array(others.sorted().prefix(SystemDescription.maxRunning))
    }

    /// The registered programs that the receiver of the list can reach.
    func programs(isLocal: Bool) -> [SystemDescription.Program] {
        self.running.registered?.programs(includesLoopback: isLocal || self.isOnLoopback) ?? []
    }

    private func isReachable(_ application: RunningApplication, isLocal: Bool) -> Bool {
        isLocal || self.isOnLoopback || application.isOnLoopback != true
    }

    /// Refers a caller to a running application. Returns `nil` when the application does not run.
    private func referToRunning(_ id: String, isLocal: Bool) -> Refusal? {
        let processes = self.running.processes(of: id)
        if let process = processes.first(where: { self.isReachable($0, isLocal: isLocal) }) {
            return Self.redirect(to: id, port: process.port)
        }
        guard !processes.isEmpty else { return nil }
        return Refusal(
            .appUnavailable,
            code: .applicationOnLoopback,
            "The application \(id) runs there, and listens for its own machine only. "
                + "Its configuration decides on which network it listens.",
            canRetry: true
        )
    }

    /// Responds to a hello for an installed application, once the application runs or has failed to start.
    ///
    /// - Parameter audit: records the decision whether the application may be started.
    func refer(
        _ hello: Hello,
        _ subject: Authorisation.Subject,
        to application: InstalledApplication,
        _ authorisation: Authorisation,
        audit: (Authorisation.Decision, Authorisation.Subject, Authorisation.Target) -> Void
    ) async -> Refusal {
        let isLocal = subject.isLocal
        // A running application checks the caller itself.
        if let response = self.referToRunning(application.id, isLocal: isLocal) { return response }
        let authorisation = Authorisation(
            host: application.id,
            allowsAnyoneNearby: authorisation.allowsAnyoneNearby
        )
        let target = application.target(of: hello)
        let decision = authorisation.decide(subject, target)
        audit(decision, subject, target)
        if case .refused(let reason) = decision {
            let services = application.services.map {
                (name: $0.name, offer: Authorisation.ServiceOffer($0, of: application.id))
            }
            return authorisation.refusal(of: subject, target, for: reason, services: services)
        }
        switch await self.starter.bringUp(application.id, for: subject) {
        case .running(let port):
            return self.referToRunning(application.id, isLocal: isLocal)
                ?? Self.redirect(to: application.id, port: port)
        case .failed(let text):
            return Refusal(.appUnavailable, code: .applicationNotStarted, text, canRetry: true)
        }
    }

    /// Responds to a hello for an application that is not installed. It may run nevertheless.
    func refer(to application: String, isLocal: Bool) -> Refusal {
        self.referToRunning(application, isLocal: isLocal)
            ?? Refusal(
                .appNotInstalled,
                code: .applicationNotFound,
                "The application \(application) is neither installed nor running there."
            )
    }
}

extension ApplicationReferral {
    /// Creates the referral of a machine's host daemon. Returns `nil` for a host that serves one application only.
    init?(_ options: RemoteSystemHost.Options, running: RunningApplications?, context: ApplicationContext) {
        guard let installed = options.installedApplications, let running else { return nil }
        self.init(
            running: running,
            starter: ApplicationStarter(
                installed: installed,
                running: running,
                timeout: options.startTimeout,
                environment: context.environment,
                logger: context.logger,
                incidents: context.incidents
            ),
            isOnLoopback: context.configuration.network == .loopback
        )
    }
}

extension ApplicationReferral {
    /// What a system of another account wants to use in an application that is not installed: a service or a scheme
    /// that the application registered with this process.
    func target(of hello: Hello, in id: String) -> Authorisation.Target {
        let programs = self.programs(isLocal: false).map(\.application).filter { $0.id == id }
        let schemes = programs.flatMap(\.uriSchemes)
        if hello.service == Launch.service, !schemes.isEmpty { return .launching(schemes: schemes) }
        guard programs.contains(where: { $0.services.contains { $0.name == hello.service } }) else {
            return .application(id)
        }
        // The application decides again, and knows which callers it admits.
        return .service(
            hello.service,
            Authorisation.ServiceOffer(application: id, supportsRemote: true, callers: .account)
        )
    }
}

extension InstalledApplication {
    /// What a caller wants to use in the application.
    func target(of hello: Hello) -> Authorisation.Target {
        if hello.service == Launch.service, !self.uriSchemes.isEmpty { return .launching(schemes: self.uriSchemes) }
        return .service(
            hello.service,
            self.services.first { $0.name == hello.service }.map { Authorisation.ServiceOffer($0, of: self.id) }
        )
    }

    /// The description that other systems receive. Systems other than this one get only the services that they may
    /// call.
    func description(isLocal: Bool) -> SystemDescription.Application {
        SystemDescription.Application(
            id: self.id,
            displayName: self.displayName,
            attributes: self.attributes,
            services: self.services.filter { $0.supportsRemote || isLocal }.map {
                RemoteSystemApplication.Service(
                    name: $0.name,
                    requestSchema: $0.requestSchema,
                    responseSchema: $0.responseSchema,
                    pushRequestSchema: $0.pushRequestSchema,
                    pushResponseSchema: $0.pushResponseSchema,
                    version: $0.version,
                    summary: $0.summary
                )
            },
            uriSchemes: self.uriSchemes,
            publisher: self.publisher
        )
    }
}
