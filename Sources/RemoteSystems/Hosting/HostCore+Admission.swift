// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Decides which connections a host accepts, and what handles their requests.
extension HostCore {
    func admit(_ hello: Hello, peer: PeerIdentity, own: SystemID) async -> Admission {
        let admission: Admission =
            switch peer.standing {
            case .sameAccount: await self.admitSystem(hello, peer: peer, own: own)
            case .linked(_, let grants): self.admitLinked(hello, peer: peer, granted: grants, own: own)
            case .anonymous: self.admitAnonymous(hello, peer: peer, own: own)
            }
        let connections = self.connections
        let enter = { @Sendable (connection: any AuthenticatedConnection) in
            connections.enter(connection, isOwn: peer.systemID == own)
        }
        switch admission {
        case .accept(let accepted): return .accept(accepted.entering(enter, leaving: connections.leave))
        case .acceptStream(let stream): return .acceptStream(stream.entering(enter, leaving: connections.leave))
        case .refuse: return admission
        }
    }

    /// The refusals that apply to every peer and every service.
    private func refusal(to peer: PeerIdentity, own: SystemID) -> Refusal? {
        guard !self.isClosing else {
            return Refusal(
                .appUnavailable,
                code: .applicationClosing,
                "The application is shutting down.",
                canRetry: true
            )
        }
        return self.connections.refusal(to: peer.systemID, isOwn: peer.systemID == own)
    }

    private func admitSystem(_ hello: Hello, peer: PeerIdentity, own: SystemID) async -> Admission {
        if let refusal = self.refusal(to: peer, own: own) { return .refuse(refusal) }
        if let targetApplication = hello.targetApplication, targetApplication != self.application.id {
            if let referral {
                guard let application = self.installed.first(where: { $0.id == targetApplication }) else {
                    return .refuse(referral.refer(to: targetApplication, isLocal: peer.systemID == own))
                }
                return .refuse(await self.refer(hello, to: application, referral, isLocal: peer.systemID == own))
            }
            return .refuse(
                Refusal(
                    .appNotInstalled,
                    code: .applicationNotFound,
                    "The application \(targetApplication) does not run here; this is \(self.application.id)."
                )
            )
        }
        if hello.service == Presence.service { return .accept(self.presence(peer: peer, own: own)) }
        if hello.service == StreamClaim.service {
            return self.streamTickets.admission(
                of: hello,
                from: peer,
                application: self.application.id,
                limits: StreamLimits(self.context.limits)
            )
        }
        if let builtIn = self.builtIns[hello.service] { return .accept(self.accept(builtIn)) }
        guard let service = self.services[hello.service] else {
            if let referral, hello.targetApplication == nil,
                let application = self.installed.first(offering: hello.service)
            {
                return .refuse(await self.refer(hello, to: application, referral, isLocal: peer.systemID == own))
            }
            return .refuse(self.unknownService(hello, isLocal: peer.systemID == own))
        }
        let isLocal = peer.systemID == own
        let host = self.application.id
        if let refusal = service.refusal(application: hello.application, isLocal: isLocal, host: host) {
            return .refuse(refusal)
        }
        return .accept(self.accept(service, own: own))
    }

    /// Refers a caller to another application, which may be started first. That reads files and starts processes, so it
    /// does not run on the event loop of the handshake.
    private func refer(
        _ hello: Hello,
        to application: InstalledApplication,
        _ referral: ApplicationReferral,
        isLocal: Bool
    ) async -> Refusal {
        await withTaskExecutorPreference(self.context.environment.taskExecutor ?? globalConcurrentExecutor) {
            await referral.refer(hello, to: application, isLocal: isLocal)
        }
    }

    /// The refusal of an unknown service. It names only the services that the caller may call.
    private func unknownService(_ hello: Hello, isLocal: Bool) -> Refusal {
        let host = self.application.id
        let callable = self.services.values.filter {
            $0.refusal(application: hello.application, isLocal: isLocal, host: host) == nil
        }
        return Refusal(noService: hello.service, in: host, callable: callable.map(\.name))
    }

    /// Admits a system of a linked account to the services that were granted to that account. Any other service or
    /// application gets the same refusal, so that the caller does not learn which of them exist.
    private func admitLinked(_ hello: Hello, peer: PeerIdentity, granted: Grants, own: SystemID) -> Admission {
        guard hello.targetApplication == nil || hello.targetApplication == self.application.id,
            granted.services.contains(hello.service), let service = self.services[hello.service],
            service.refusal(application: hello.application, isLocal: false, host: self.application.id) == nil
        else { return .refuse(AnonymousConnections.refusal) }
        if let refusal = self.refusal(to: peer, own: own) { return .refuse(refusal) }
        return .accept(self.accept(service, own: own))
    }

    /// Admits a system of another account to the services that are offered to anyone. Any other service or application
    /// gets the same refusal, so that the caller does not learn which of them exist.
    private func admitAnonymous(_ hello: Hello, peer: PeerIdentity, own: SystemID) -> Admission {
        guard let anonymousConnections, hello.targetApplication == nil || hello.targetApplication == self.application.id
        else {
            return .refuse(AnonymousConnections.refusal)
        }
        let accepted: EstablishedConnection
        if hello.service == Presence.service {
            accepted = self.anonymousPresence()
        } else if let service = self.services[hello.service], service.isForAnyone {
            accepted = self.accept(service, own: own, within: self.context.limits.forAnonymous)
        } else {
            return .refuse(AnonymousConnections.refusal)
        }
        if let refusal = self.refusal(to: peer, own: own) { return .refuse(refusal) }
        guard anonymousConnections.hasCapacity(for: peer.systemID) else { return .refuse(AnonymousConnections.full) }
        return .accept(accepted.entering(anonymousConnections.enter, leaving: anonymousConnections.leave))
    }

    private func accept(
        _ service: AppService,
        own: SystemID,
        within limits: ConnectionLimits? = nil
    ) -> EstablishedConnection {
        var limits = limits ?? self.context.limits
        limits.concurrentRequests = min(service.concurrentRequests ?? limits.window, limits.window)
        let serving = ServingConnection(
            service: service,
            rules: self.rules[service.name] ?? MessageRules(published: service.schemas),
            responses: self.responses,
            interceptors: self.context.configuration.interceptors,
            metrics: self.metrics[service.name],
            own: own,
            logger: self.context.logger,
            requestTimeout: TimeAmount(self.context.configuration.transport.requestTimeout),
            streamTickets: self.streamTickets
        )
        return EstablishedConnection(
            acceptance: Acceptance(
                application: self.application.id,
                limits: limits.peerLimits,
                schemas: service.schemas.published
            ),
            limits: limits,
            handler: RequestHandler(immediately: serving.respondAtOnce, serving.respond),
            opened: serving.opened
        )
    }

    private func accept(_ service: BuiltInService) -> EstablishedConnection {
        var limits = self.context.limits
        limits.window = min(limits.window, service.concurrentRequests)
        return EstablishedConnection(
            acceptance: Acceptance(application: self.application.id, limits: limits.peerLimits),
            limits: limits,
            handler: { request, connection in await service.respond(to: request, on: connection) },
            opened: { _ in }
        )
    }
}

extension [InstalledApplication] {
    fileprivate func first(offering service: String) -> InstalledApplication? {
        self.first { $0.services.contains { $0.name == service } }
    }
}
