// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Decides which connections a host accepts, and what handles their requests.
extension HostCore {
    func admit(_ hello: Hello, peer: PeerIdentity, own: SystemID) async -> Admission {
        let subject = Authorisation.Subject(peer, application: hello.application, own: own)
        switch self.decide(hello, subject, peer: peer, own: own) {
        case .admission(let admission): return admission
        case .referral(let application, let referral):
            return .refuse(await self.refer(hello, subject, to: application, referral))
        }
    }

    /// The decision about a hello. Only a referral takes time, so everything else is decided in a function that is not
    /// `async`: what such a function keeps for the time after an `await` is on the heap, and would be some KiB for each
    /// connection that opens.
    private enum Decision {
        case admission(Admission)
        /// To be refused, with a referral to an installed application, which may have to be started.
        case referral(InstalledApplication, ApplicationReferral)
    }

    /// What a hello leads to.
    private enum Destination {
        case presence
        case stream
        case builtIn(BuiltInService, Authorisation.Target)
        case service(AppService)
        /// A service that no application here offers.
        case unknownService
        /// An installed application, which may have to be started.
        case installed(InstalledApplication, ApplicationReferral)
        /// An application that is not installed. It may run nevertheless.
        case uninstalled(String, ApplicationReferral)
        /// An application that is not here.
        case absent(String)
    }

    private func destination(of hello: Hello) -> Destination {
        if let target = hello.targetApplication, target != self.application.id {
            guard let referral else { return .absent(target) }
            guard let application = self.installed.first(where: { $0.id == target }) else {
                return .uninstalled(target, referral)
            }
            return .installed(application, referral)
        }
        if hello.service == Presence.service { return .presence }
        if hello.service == StreamClaim.service { return .stream }
        if let builtIn = self.builtIns[hello.service] {
            return .builtIn(builtIn, hello.service == Launch.service ? .launching(schemes: nil) : .diagnosis)
        }
        if let service = self.services[hello.service] { return .service(service) }
        guard let referral, hello.targetApplication == nil,
            let application = self.installed.first(offering: hello.service)
        else { return .unknownService }
        return .installed(application, referral)
    }

    /// What the peer wants to use, for the decision.
    private func target(_ destination: Destination, _ hello: Hello, _ subject: Authorisation.Subject)
        -> Authorisation.Target
    {
        switch destination {
        case .presence: return .presence
        case .stream: return .stream
        case .builtIn(_, let target): return target
        case .service(let service):
            return .service(service.name, Authorisation.ServiceOffer(service, of: self.application.id))
        case .unknownService: return .service(hello.service, nil)
        case .installed(let application, _):
            switch subject.standing {
            // A running application may offer other services than its manifest states, so it decides. Anonymous systems
            // are refused.
            case .sameAccount, .anonymous: return .application(application.id)
            case .linked: return application.target(of: hello)
            }
        case .uninstalled(let id, let referral):
            switch subject.standing {
            case .sameAccount, .anonymous: return .application(id)
            case .linked: return referral.target(of: hello, in: id)
            }
        case .absent(let id): return .application(id)
        }
    }

    private func decide(
        _ hello: Hello,
        _ subject: Authorisation.Subject,
        peer: PeerIdentity,
        own: SystemID
    ) -> Decision {
        // Other systems do not learn that the host is full before they are authorised.
        if case .sameAccount = peer.standing, let refusal = self.refusal(to: peer, own: own) {
            return .admission(.refuse(refusal))
        }
        let destination = self.destination(of: hello)
        let target = self.target(destination, hello, subject)
        let decision = self.authorisation.decide(subject, target)
        self.context.audit(decision, about: subject, target)
        if case .refused(let reason) = decision {
            let services = self.services.values.map {
                (name: $0.name, offer: Authorisation.ServiceOffer($0, of: self.application.id))
            }
            return .admission(
                .refuse(self.authorisation.refusal(of: subject, target, for: reason, services: services))
            )
        }
        let admission: Admission
        switch destination {
        case .presence: admission = .accept(self.presence(peer, own: own))
        case .stream:
            admission = self.streamTickets.admission(
                of: hello,
                from: peer,
                application: self.application.id,
                limits: StreamLimits(self.context.limits)
            )
        case .builtIn(let builtIn, _): admission = .accept(self.accept(builtIn))
        case .service(let service):
            admission = .accept(self.accept(service, own: own, within: self.limits(for: peer)))
        // Refused above.
        case .unknownService: admission = .refuse(AnonymousConnections.refusal)
        case .installed(let application, let referral): return .referral(application, referral)
        case .uninstalled(let id, let referral):
            admission = .refuse(referral.refer(to: id, isLocal: subject.isLocal))
        case .absent(let id):
            admission = .refuse(
                Refusal(
                    .appNotInstalled,
                    code: .applicationNotFound,
                    "The application \(id) does not run here; this is \(self.application.id)."
                )
            )
        }
        return .admission(self.entered(self.limited(admission, peer: peer, own: own), peer: peer, own: own))
    }

    /// Counts the connection of an admission among the open ones.
    private func entered(_ admission: Admission, peer: PeerIdentity, own: SystemID) -> Admission {
        let connections = self.connections
        let enter = { @Sendable (connection: any AuthenticatedConnection) in
            connections.enter(connection, isOwn: peer.systemID == own)
        }
        switch admission {
        case .accept(var accepted):
            accepted.memoryBudget = self.memoryBudget
            return .accept(accepted.entering(enter, leaving: connections.leave))
        case .acceptStream(let stream): return .acceptStream(stream.entering(enter, leaving: connections.leave))
        case .refuse: return admission
        }
    }

    /// Applies the limits for peers of other accounts to an admission.
    private func limited(_ admission: Admission, peer: PeerIdentity, own: SystemID) -> Admission {
        let foreign: any ForeignConnections
        let account: AccountID?
        switch peer.standing {
        case .sameAccount: return admission
        case .linked(let id, _): (foreign, account) = (self.linkedConnections, id)
        case .anonymous:
            guard let anonymousConnections else { return .refuse(AnonymousConnections.refusal) }
            (foreign, account) = (anonymousConnections, nil)
        }
        if case .refuse = admission { return admission }
        if let refusal = self.refusal(to: peer, own: own) { return .refuse(refusal) }
        guard foreign.hasCapacity(for: peer.systemID, of: account) else { return .refuse(AnonymousConnections.full) }
        switch admission {
        case .accept(let accepted): return .accept(accepted.entering(foreign.enter, leaving: foreign.leave))
        case .acceptStream(let stream): return .acceptStream(stream.entering(foreign.enter, leaving: foreign.leave))
        case .refuse: return admission
        }
    }

    private func limits(for peer: PeerIdentity) -> ConnectionLimits? {
        switch peer.standing {
        case .sameAccount, .linked: nil
        case .anonymous: self.context.limits.forAnonymous
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

    /// Refers a caller to another application, which may be started first. That reads files and starts processes, so it
    /// does not run on the event loop of the handshake.
    private func refer(
        _ hello: Hello,
        _ subject: Authorisation.Subject,
        to application: InstalledApplication,
        _ referral: ApplicationReferral
    ) async -> Refusal {
        await withTaskExecutorPreference(self.context.environment.taskExecutor ?? globalConcurrentExecutor) {
            await referral.refer(hello, subject, to: application, self.authorisation, audit: self.context.audit)
        }
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
            incidents: self.context.incidents,
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
