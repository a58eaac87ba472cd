// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Callers of other applications of this machine: sent to the port at which the application takes the connection itself,
/// after it was started if it has to be (`Docs/decisions/0013-redirect-by-port.md`).
struct ApplicationReferral: Sendable {
    let running: RunningApplications
    let starter: ApplicationStarter
    /// Whether the machine is spoken for on the loopback interface alone, where every caller reaches everything.
    let isOnLoopback: Bool

    /// Why a caller may not have the application started; `nil` when it may.
    static func refusal(
        of application: InstalledApplication,
        to hello: Hello,
        isLocal: Bool
    ) -> Refusal? {
        if hello.service == Launch.service, !application.uriSchemes.isEmpty { return nil }
        guard let service = application.services.first(where: { $0.name == hello.service }) else {
            let callable = application.services.filter {
                ($0.supportsRemote || isLocal) && $0.callers.include(hello.application, of: application.id)
            }
            return Refusal(noService: hello.service, in: application.id, callable: callable.map(\.name))
        }
        guard service.supportsRemote || isLocal else {
            return Refusal(
                .remoteSystemNotSupportedByApp,
                code: .callerNotLocal,
                "The application \(application.id) offers the service \(service.name) to its own machine only."
            )
        }
        guard service.callers.include(hello.application, of: application.id) else {
            return Refusal(
                .remoteSystemNotSupportedByApp,
                code: .callerNotListed,
                "The application \(application.id) offers the service \(service.name) to certain applications only, "
                    + "and \(hello.application) is none of them."
            )
        }
        return nil
    }

    /// Where a caller of a running application goes.
    static func redirect(to application: String, port: Int) -> Refusal {
        Refusal(
            .appUnavailable,
            code: .applicationElsewhere,
            "The application \(application) takes this connection at port \(port).",
            canRetry: true,
            port: port
        )
    }

    /// The other applications that run here and can be reached by whom it is told, as many as are told of.
    func running(beside own: String, isLocal: Bool) -> [String] {
        let reachable = self.running.all().filter { self.isReachable($0, isLocal: isLocal) }
        let others = Set(reachable.map(\.application)).subtracting([own])
        return Array(others.sorted().prefix(SystemDescription.maxRunning))
    }

    private func isReachable(_ application: RunningApplication, isLocal: Bool) -> Bool {
        isLocal || self.isOnLoopback || application.isOnLoopback != true
    }

    /// Sends a caller on to an application that runs; `nil` when it does not.
    private func referToRunning(_ id: String, isLocal: Bool) -> Refusal? {
        let processes = self.running.all().filter { $0.application == id }
        if let process = processes.first(where: { self.isReachable($0, isLocal: isLocal) }) {
            return Self.redirect(to: id, port: process.port)
        }
        guard !processes.isEmpty else { return nil }
        return Refusal(
            .appUnavailable,
            code: .applicationOnLoopback,
            "The application \(id) runs there, and listens for its own machine only. Its owner decides on which network it listens.",
            canRetry: true
        )
    }

    /// Answers a hello for an installed application, once it runs or has failed to start.
    func refer(_ hello: Hello, to application: InstalledApplication, isLocal: Bool) async -> Refusal {
        // One that runs decides for itself.
        if let response = self.referToRunning(application.id, isLocal: isLocal) { return response }
        if let refusal = Self.refusal(of: application, to: hello, isLocal: isLocal) { return refusal }
        switch await self.starter.bringUp(application.id) {
        case .running(let port):
            return self.referToRunning(application.id, isLocal: isLocal)
                ?? Self.redirect(to: application.id, port: port)
        case .failed(let text):
            return Refusal(.appUnavailable, code: .applicationNotStarted, text, canRetry: true)
        }
    }

    /// Answers a hello for an application that is not installed: it may run nevertheless.
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
    /// For a host that speaks for the machine; `nil` for one that speaks for itself.
    init?(_ options: RemoteSystemHost.Options, running: RunningApplications?, context: ApplicationContext) {
        guard let installed = options.installedApplications, let running else { return nil }
        self.init(
            running: running,
            starter: ApplicationStarter(
                installed: installed,
                running: running,
                timeout: options.startTimeout,
                environment: context.environment,
                logger: context.logger
            ),
            isOnLoopback: context.configuration.network == .loopback
        )
    }
}

extension InstalledApplication {
    /// What a system is told of it: to other machines, only what they may call.
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
            uriSchemes: self.uriSchemes
        )
    }
}
