// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// The state of a running host: its services, and the connections to them.
actor HostCore {
    private let context: ApplicationContext
    private let services: [String: AppService]
    /// Whether two of the services have the same name.
    private let hasDuplicate: Bool
    private let metrics: [String: ServiceMetrics]
    private let rules: [String: MessageRules]
    private let responses: IdempotencyCache
    private let builtIns: [String: any BuiltInService]
    private var application: SystemDescription.Application
    private let uriSchemes: [String]
    private let facts: MachineFacts
    /// Every open connection, recorded the moment it opens, so that a shutdown closes all of them.
    nonisolated let connections: HostConnections
    /// The streams that this host offers to other systems.
    nonisolated let streamTickets: StreamTickets
    private var watchers: [ObjectIdentifier: Connection] = [:]
    /// The published state of the host; `nil` until ``begin()``.
    private(set) var publications: HostPublications?
    /// The connections of systems of other accounts; `nil` where none are accepted.
    private let anonymousConnections: AnonymousConnections?
    nonisolated let referral: ApplicationReferral?
    private var installed: [InstalledApplication] = []
    private var systemDisplayName: String?
    private(set) var isClosing = false
    /// Whether the description exceeded the maximum size. Logged once.
    private var hasOutgrownTopic = false
    /// The version of the registered programs that was published last.
    private var publishedPrograms: UInt64?
    let port = Promise<Int>()

    init(
        context: ApplicationContext,
        services: [AppService],
        builtIns: [any BuiltInService] = [],
        referral: ApplicationReferral? = nil,
        application: SystemDescription.Application,
        allowsAnonymous: Bool = false
    ) {
        self.referral = referral
        self.anonymousConnections = allowsAnonymous ? AnonymousConnections() : nil
        self.systemDisplayName = context.configuration.systemDisplayName
        self.context = context
        self.connections = HostConnections(
            ConnectionQuota(
                limit: FileDescriptorBudget.connections(wanted: context.configuration.limits.connections),
                share: context.configuration.limits.connectionsPerSystem
            ),
            logger: context.logger
        )
        self.streamTickets = StreamTickets(network: context.account.network)
        self.responses = IdempotencyCache(context.environment)
        self.facts = context.environment.facts ?? .read()
        self.services = Dictionary(services.map { ($0.name, $0) }) { first, _ in first }
        self.hasDuplicate = self.services.count < services.count
        self.rules = self.services.mapValues { MessageRules(published: $0.schemas) }
        self.metrics = self.services.mapValues { ServiceMetrics(service: $0.name) }
        self.builtIns = Dictionary(builtIns.map { ($0.name, $0) }) { first, _ in first }
        self.application = application
        self.uriSchemes = application.uriSchemes
    }

    /// Checks the configuration and the services, so that a mistake is reported here instead of being refused or
    /// dropped by peers.
    nonisolated func validate() throws(RemoteSystemError) {
        func misuse(_ text: String) -> RemoteSystemError { RemoteSystemError(.misuse, text, side: .local) }
        try self.context.configuration.validate()
        guard !self.hasDuplicate else {
            throw .invalidArgument("Two services of the host have the same name. Give each service a name of its own.")
        }
        for (name, service) in self.services {
            try service.validate()
            guard name != Presence.service, name != Launch.service, name != StreamClaim.service,
                self.builtIns[name] == nil
            else {
                throw misuse("The service name \(name) is reserved.")
            }
        }
        guard self.services.count <= SystemDescription.maxServices else {
            throw misuse("A host offers at most \(SystemDescription.maxServices) services.")
        }
        guard self.uriSchemes.count <= SystemDescription.maxSchemes else {
            throw misuse("A host opens URIs of at most \(SystemDescription.maxSchemes) schemes.")
        }
        for scheme in self.uriSchemes where !LaunchURI.isScheme(scheme) {
            throw misuse("\(scheme) is not a URI scheme (RFC 3986, section 3.1): letters, digits, '+', '-' and '.'.")
        }
    }

    // MARK: Accepting connections

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
                return .refuse(await referral.refer(hello, to: application, isLocal: peer.systemID == own))
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
                return .refuse(await referral.refer(hello, to: application, isLocal: peer.systemID == own))
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

    private func accept(_ service: any BuiltInService) -> EstablishedConnection {
        var limits = self.context.limits
        limits.window = min(limits.window, service.concurrentRequests)
        return EstablishedConnection(
            acceptance: Acceptance(application: self.application.id, limits: limits.peerLimits),
            limits: limits,
            handler: { request, connection in await service.respond(to: request, on: connection) },
            opened: { _ in }
        )
    }

    /// Closes every connection and returns when all are closed. Gracefully, or at once when the task is cancelled.
    ///
    /// - Parameter first: what to do before that, when nothing is published any more.
    func close(first: () async -> Void) async {
        self.isClosing = true
        await first()
        await self.referral?.starter.stop()
        await withTaskCancellationHandler {
            // A connection that was admitted just before may open while the others close.
            while case let open = self.connections.allOrShut(), !open.isEmpty {
                await withDiscardingTaskGroup { group in
                    for connection in open {
                        group.addTask {
                            if Task.isCancelled {
                                await connection.abortAndWait()
                            } else {
                                await connection.close(.completed)
                            }
                        }
                    }
                }
            }
        } onCancel: {
            for connection in self.connections.all { connection.abort(.cancelled, reason: nil) }
        }
        self.responses.stop()
    }

    // MARK: Presence

    /// Starts publishing the host's description. Watchers receive nothing before this call.
    func begin() throws {
        self.publications = try HostPublications(allowsAnonymous: self.anonymousConnections != nil)
        self.publish()
        self.publishTrust()
    }

    private func presence(peer: PeerIdentity, own: SystemID) -> EstablishedConnection {
        // Running applications are polled once a second; a new watcher gets the present list.
        if self.referral != nil { self.publish() }
        var limits = self.context.limits
        limits.window = min(limits.window, 8)
        // A side that subscribes must accept state frames of `minLimit` bytes, even if messages are limited to fewer.
        limits.messageBytes = max(limits.messageBytes, StateLimits.minLimit)
        return EstablishedConnection(
            acceptance: Acceptance(application: self.application.id, limits: limits.peerLimits),
            limits: limits,
            handler: { request, connection in await self.response(request, from: connection) },
            opened: { [publications, context] connection in
                publications?.publish(to: peer.systemID == own ? .local : .account, on: connection)
                Task(executorPreference: context.environment.taskExecutor) {
                    await self.watched(by: connection)
                    await context.account.followTrust(over: connection, logger: context.logger)
                }
            }
        )
    }

    /// Publishes to a system of another account only what is offered to it.
    private func anonymousPresence() -> EstablishedConnection {
        let limits = self.context.limits.forAnonymous
        return EstablishedConnection(
            acceptance: Acceptance(application: self.application.id, limits: limits.peerLimits),
            limits: limits,
            handler: { _, _ in .requestUnknown },
            opened: { [publications] connection in publications?.publish(to: .anonymous, on: connection) }
        )
    }

    private func watched(by connection: Connection) {
        guard !self.isClosing else { return }
        let id = ObjectIdentifier(connection)
        self.watchers[id] = connection
        connection.onClose { _ in
            Task(executorPreference: self.context.environment.taskExecutor) { await self.unwatched(id) }
        }
    }

    private func unwatched(_ id: ObjectIdentifier) {
        self.watchers[id] = nil
    }

    /// Closes the connections of watchers with `cancelled` instead of `completed`. The watchers keep the host listed
    /// and reconnect to its advertised address.
    func sendWatchersOn() async {
        await withDiscardingTaskGroup { group in
            for watcher in self.watchers.values { group.addTask { await watcher.close(.cancelled) } }
        }
    }

    /// Publishes the description of this process, if it has changed.
    func publish() {
        do {
            guard let publications, try !publications.update(self.description), !self.hasOutgrownTopic else { return }
            self.hasOutgrownTopic = true
            self.context.logger.warning(
                """
                The description of the services and applications is too large to be published completely; schemas are \
                left out first. The maximum is 1 MiB in total, and 16 KiB for each schema and installed application.
                """
            )
        } catch {
            self.context.logger.warning(
                "The host's description could not be published",
                metadata: ["reason": "\(error)"]
            )
        }
    }

    /// Publishes the registered programs, if they have changed since they were last published. Does nothing while the
    /// host closes: watchers then connect to the programs themselves.
    func publishPrograms() {
        guard !self.isClosing, let version = self.referral?.running.registered?.version,
            version != self.publishedPrograms
        else { return }
        self.publishedPrograms = version
        self.publish()
    }

    /// Publishes the revocation list and the account's root keys.
    func publishTrust() {
        do {
            let roots = try self.context.security().trust.own.roots
            try self.publications?.update(self.context.account.revocations, roots: roots)
        } catch {
            self.context.logger.warning("The revocation list could not be published", metadata: ["reason": "\(error)"])
        }
    }

    private func response(_ request: IncomingRequest, from connection: Connection) async -> Response {
        guard request.message["Type"]?.string == "renew" else {
            return .requestUnknown
        }
        guard let signing = request.message["Request"]?.data else {
            return Response(
                status: .failure,
                failure: WireFailure("The certificate request is missing, or is not data.", code: .requestInvalid)
            )
        }
        do {
            let store = try self.context.account.store()
            // Reading the key file and signing run on the account's queue: every connection waits for this actor.
            let certificate = try await self.context.account.accountQueue.run { [peer = connection.peer] in
                try store.authority().renew(Array(signing), for: peer, now: Date())
            }
            return Response(message: ["Certificate": .data(Data(certificate))])
        } catch {
            self.context.logger.notice("A certificate was not renewed", metadata: ["reason": "\(error)"])
            // The error's message may name files of this machine, so the peer gets only its code.
            let code = (error as? IdentityError).map { " (\($0.code))" } ?? ""
            return Response(
                status: .failure,
                failure: WireFailure("The certificate was not renewed\(code).", code: .renewalRefused)
            )
        }
    }

    func update(attributes: [String: String]) async {
        guard attributes != self.application.attributes else { return }
        self.application.attributes = attributes
        self.publish()
    }

    func update(uriSchemes: [String]) async {
        guard uriSchemes != self.application.uriSchemes else { return }
        self.application.uriSchemes = uriSchemes
        self.publish()
    }

    func update(systemDisplayName: String?) async {
        guard systemDisplayName != self.systemDisplayName else { return }
        self.systemDisplayName = systemDisplayName
        self.publish()
    }

    func update(installed: [InstalledApplication]) async {
        guard installed != self.installed else { return }
        self.installed = installed
        self.publish()
    }

    private func description(for group: HostPublications.Group) -> SystemDescription {
        let identity = try? self.context.security().identity
        var description = SystemDescription(
            displayName: self.systemDisplayName ?? self.facts.displayName,
            kind: self.facts.kind,
            platform: .linux,
            manufacturer: self.facts.manufacturer,
            model: self.facts.model,
            isAuthority: identity?.isAuthority ?? false,
            application: self.application
        )
        guard group != .anonymous else {
            return description.forAnyone(self.services.values.filter(\.isForAnyone).map(\.name))
        }
        let isLocal = group == .local
        let running = self.referral?.running(beside: self.application.id, isLocal: isLocal) ?? []
        description.running = Array(running.prefix(SystemDescription.maxRunning))
        description.programs = self.referral?.programs(isLocal: isLocal) ?? []
        description.installed = self.installed.prefix(SystemDescription.maxInstalled)
            .map { $0.description(isLocal: isLocal) }
        return description
    }
}

extension [InstalledApplication] {
    fileprivate func first(offering service: String) -> InstalledApplication? {
        self.first { $0.services.contains { $0.name == service } }
    }
}
