// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// What a host knows while it runs: its services and the connections to them.
actor HostCore {
    private let local: LocalSystem
    private let services: [String: AppService]
    private let metrics: [String: ServiceMetrics]
    private let answers: RememberedAnswers
    private let builtIns: [String: any BuiltInService]
    private var application: SystemDescription.Application
    private let uriSchemes: [String]
    private let facts: MachineFacts
    /// Every open connection, noted the moment it opens, so that a shutdown misses none.
    nonisolated let connections: HostConnections
    private var watchers: [ObjectIdentifier: Connection] = [:]
    /// Systems of other accounts; `nil` where none is let in.
    private let guests: AnonymousGuests?
    nonisolated let referral: ApplicationReferral?
    private var installed: [InstalledApplication] = []
    private var systemDisplayName: String?
    private(set) var isClosing = false
    /// Whether a description was found too large for a watcher, which is said aloud once.
    private var hasOutgrownWatchers = false
    let port = OneShot<Int>()

    init(
        local: LocalSystem,
        services: [AppService],
        builtIns: [any BuiltInService] = [],
        referral: ApplicationReferral? = nil,
        application: SystemDescription.Application,
        allowsAnonymous: Bool = false
    ) {
        self.referral = referral
        self.guests = allowsAnonymous ? AnonymousGuests() : nil
        self.systemDisplayName = local.configuration.systemDisplayName
        self.local = local
        self.connections = HostConnections(
            ConnectionPlaces(
                limit: ProcessRoom.connections(wanted: local.configuration.connectionLimit),
                share: local.configuration.connectionLimitPerSystem
            ),
            logger: local.logger
        )
        self.answers = RememberedAnswers(local.environment)
        self.facts = local.environment.facts ?? .read()
        self.services = Dictionary(services.map { ($0.name, $0) }) { first, _ in first }
        self.metrics = self.services.mapValues { ServiceMetrics(service: $0.name) }
        self.builtIns = Dictionary(builtIns.map { ($0.name, $0) }) { first, _ in first }
        self.application = application
        self.uriSchemes = application.uriSchemes
    }

    /// What others would refuse or leave out is better refused here, where somebody can see it.
    nonisolated func validate() throws(RemoteSystemError) {
        func misuse(_ text: String) -> RemoteSystemError { RemoteSystemError(.misuse, text, side: .local) }
        guard self.local.configuration.applicationID.isName else {
            throw misuse("An application id takes \(String.nameForm).")
        }
        for (name, service) in self.services {
            guard name.isName else { throw misuse("A service's name takes \(String.nameForm).") }
            let texts = [service.options.version, service.options.summary].compactMap(\.self)
            guard texts.allSatisfy({ (1...SystemDescription.mostTextBytes).contains($0.utf8.count) }) else {
                throw misuse("A service's version and summary take 1 to \(SystemDescription.mostTextBytes) bytes each.")
            }
            guard name != Presence.service, name != Launch.service, self.builtIns[name] == nil else {
                throw misuse("The service name \(name) is taken.")
            }
        }
        guard self.services.count <= SystemDescription.mostServices else {
            throw misuse("A host offers at most \(SystemDescription.mostServices) services.")
        }
        guard self.uriSchemes.count <= SystemDescription.mostSchemes else {
            throw misuse("A host opens URIs of at most \(SystemDescription.mostSchemes) schemes.")
        }
        for scheme in self.uriSchemes where !LaunchURI.isScheme(scheme) {
            throw misuse("\(scheme) is no URI scheme (RFC 3986, section 3.1): letters, digits, '+', '-' and '.'.")
        }
    }

    // MARK: Taking connections

    func admit(_ hello: Hello, peer: PeerIdentity, own: SystemID) async -> Admission {
        let admission =
            peer.isAnonymous
            ? self.admitAnonymous(hello, peer: peer, own: own) : await self.admitSystem(hello, peer: peer, own: own)
        guard case .accept(let accepted) = admission else { return admission }
        let connections = self.connections
        return .accept(
            accepted.entering({ connections.enter($0, isOwn: peer.systemID == own) }, leaving: connections.leave)
        )
    }

    /// Whoever it is, and whatever it wants.
    private func refusal(to peer: PeerIdentity, own: SystemID) -> Refusal? {
        guard !self.isClosing else {
            return Refusal(.appUnavailable, "The application is shutting down.", canRetry: true)
        }
        return self.connections.refusal(to: peer.systemID, isOwn: peer.systemID == own)
    }

    private func admitSystem(_ hello: Hello, peer: PeerIdentity, own: SystemID) async -> Admission {
        if let refusal = self.refusal(to: peer, own: own) { return .refuse(refusal) }
        if let package = hello.package, package != self.application.id {
            if let referral {
                guard let application = self.installed.first(where: { $0.id == package }) else {
                    return .refuse(referral.refer(to: package, isLocal: peer.systemID == own))
                }
                return .refuse(await referral.refer(hello, to: application, isLocal: peer.systemID == own))
            }
            return .refuse(
                Refusal(.appNotInstalled, "The application \(package) is not here; this is \(self.application.id).")
            )
        }
        if hello.service == Presence.service { return .accept(self.presence(peer: peer)) }
        if let builtIn = self.builtIns[hello.service] { return .accept(self.accept(builtIn)) }
        guard let service = self.services[hello.service] else {
            if let referral, hello.package == nil, let application = self.installed.first(offering: hello.service) {
                return .refuse(await referral.refer(hello, to: application, isLocal: peer.systemID == own))
            }
            return .refuse(
                Refusal(
                    .appServiceUnavailable,
                    "The application \(self.application.id) offers no service \(hello.service)."
                )
            )
        }
        let isLocal = peer.systemID == own
        let host = self.application.id
        if let refusal = service.refusal(application: hello.application, isLocal: isLocal, host: host) {
            return .refuse(refusal)
        }
        return .accept(self.accept(service, own: own))
    }

    /// A system of another account gets what is offered to anyone, and learns nothing of what else there is.
    private func admitAnonymous(_ hello: Hello, peer: PeerIdentity, own: SystemID) -> Admission {
        guard let guests, hello.package == nil || hello.package == self.application.id else {
            return .refuse(AnonymousGuests.refusal)
        }
        let accepted: AcceptedConnection
        if hello.service == Presence.service {
            accepted = self.anonymousPresence()
        } else if let service = self.services[hello.service], service.isForAnyone {
            accepted = self.accept(service, own: own, within: self.local.limits.forAnonymous)
        } else {
            return .refuse(AnonymousGuests.refusal)
        }
        if let refusal = self.refusal(to: peer, own: own) { return .refuse(refusal) }
        guard guests.hasRoom(for: peer.systemID) else { return .refuse(AnonymousGuests.full) }
        return .accept(accepted.entering(guests.enter, leaving: guests.leave))
    }

    private func accept(
        _ service: AppService,
        own: SystemID,
        within limits: ConnectionLimits? = nil
    ) -> AcceptedConnection {
        var limits = limits ?? self.local.limits
        limits.concurrentRequests = min(service.concurrentRequests ?? limits.window, limits.window)
        let serving = ServingConnection(
            service: service,
            answers: self.answers,
            metrics: self.metrics[service.name],
            own: own,
            logger: self.local.logger,
            requestTimeout: TimeAmount(self.local.configuration.requestTimeout)
        )
        return AcceptedConnection(
            acceptance: Acceptance(
                application: self.application.id,
                limits: limits.peerLimits,
                schema: service.schema.valueSet
            ),
            limits: limits,
            immediateHandler: serving.respondAtOnce,
            handler: serving.respond,
            opened: serving.opened
        )
    }

    private func accept(_ service: any BuiltInService) -> AcceptedConnection {
        var limits = self.local.limits
        limits.window = min(limits.window, service.concurrentRequests)
        return AcceptedConnection(
            acceptance: Acceptance(application: self.application.id, limits: limits.peerLimits, schema: nil),
            limits: limits,
            handler: { request, connection in await service.respond(to: request, on: connection) },
            opened: { _ in }
        )
    }

    /// Closes every connection gracefully, or at once when the task is cancelled, and returns when all are closed.
    func closeAll() async {
        self.isClosing = true
        await self.referral?.starter.stop()
        await withTaskCancellationHandler {
            // What was admitted just before may open while the others close.
            while case let open = self.connections.allOrShut(), !open.isEmpty {
                await withDiscardingTaskGroup { group in
                    for connection in open {
                        group.addTask {
                            if Task.isCancelled { await connection.abortAndWait() } else { await connection.close() }
                        }
                    }
                }
            }
        } onCancel: {
            for connection in self.connections.all { connection.abort() }
        }
        self.answers.stop()
    }

    // MARK: Presence

    private func presence(peer: PeerIdentity) -> AcceptedConnection {
        var limits = self.local.limits
        limits.window = min(limits.window, 8)
        return AcceptedConnection(
            acceptance: Acceptance(application: self.application.id, limits: limits.peerLimits, schema: nil),
            limits: limits,
            handler: { request, connection in await self.answer(request, from: connection) },
            opened: { connection in
                Task(executorPreference: self.local.environment.taskExecutor) { await self.watched(by: connection) }
            }
        )
    }

    /// Tells a system of another account once what is offered to it, and nothing else.
    private func anonymousPresence() -> AcceptedConnection {
        var limits = self.local.limits.forAnonymous
        limits.window = 1
        return AcceptedConnection(
            acceptance: Acceptance(application: self.application.id, limits: limits.peerLimits, schema: nil),
            limits: limits,
            handler: { _, _ in Reply(status: .failure, failure: WireFailure("This request is not known here.")) },
            opened: { connection in
                Task(executorPreference: self.local.environment.taskExecutor) { await self.tell(connection) }
            }
        )
    }

    private func watched(by connection: Connection) async {
        // It has said goodbye to its watchers, or is about to: who would hear of it now would lose it at once.
        guard !self.isClosing else { return }
        let id = ObjectIdentifier(connection)
        self.watchers[id] = connection
        connection.onClose { _ in
            Task(executorPreference: self.local.environment.taskExecutor) { await self.unwatched(id) }
        }
        await self.tell(connection)
    }

    private func unwatched(_ id: ObjectIdentifier) {
        self.watchers[id] = nil
    }

    /// Ends the connections of watchers, not as one who goes: they look for the host where it is said to be now, and list it meanwhile.
    func sendWatchersOn() async {
        await withDiscardingTaskGroup { group in
            for watcher in self.watchers.values { group.addTask { await watcher.close(.cancelled) } }
        }
    }

    private func tell(_ connection: Connection) async {
        do {
            _ = try await connection.send(self.description(to: connection).valueSet, timeout: .seconds(10))
        } catch {
            var level = Logger.Level.debug
            if (error as? TransportError)?.code == .messageTooLarge, !self.hasOutgrownWatchers {
                self.hasOutgrownWatchers = true
                level = .warning
            }
            self.local.logger.log(level: level, "A watcher could not be told", metadata: ["reason": "\(error)"])
        }
    }

    private func answer(_ request: IncomingRequest, from connection: Connection) async -> Reply {
        if request.message["Type"]?.string == LocalSystem.expelledType {
            return await self.local.exchangeExpulsions(request.message, with: connection.peer)
        }
        guard request.message["Type"]?.string == "renew", let signing = request.message["Request"]?.data else {
            return Reply(status: .failure, failure: WireFailure("This request is not known here."))
        }
        do {
            let authority = try self.local.store().authority()
            let certificate = try authority.renew(Array(signing), for: connection.peer, now: Date())
            return Reply(message: ["Certificate": .data(Data(certificate))])
        } catch {
            self.local.logger.notice("A certificate was not renewed", metadata: ["reason": "\(error)"])
            return Reply(status: .failure, failure: WireFailure("The certificate was not renewed: \(error)"))
        }
    }

    func update(attributes: [String: String]) async {
        guard attributes != self.application.attributes else { return }
        self.application.attributes = attributes
        await self.tellWatchers()
    }

    func update(uriSchemes: [String]) async {
        guard uriSchemes != self.application.uriSchemes else { return }
        self.application.uriSchemes = uriSchemes
        await self.tellWatchers()
    }

    func update(systemDisplayName: String?) async {
        guard systemDisplayName != self.systemDisplayName else { return }
        self.systemDisplayName = systemDisplayName
        await self.tellWatchers()
    }

    func update(installed: [InstalledApplication]) async {
        guard installed != self.installed else { return }
        self.installed = installed
        await self.tellWatchers()
    }

    /// Tells every watcher what this process is, since something in it changed.
    func tellWatchers() async {
        await withDiscardingTaskGroup { group in
            for watcher in self.watchers.values {
                group.addTask { await self.tell(watcher) }
            }
        }
    }

    private func description(to connection: Connection) -> SystemDescription {
        let identity = try? self.local.security().identity
        var description = SystemDescription(
            displayName: self.systemDisplayName ?? self.facts.displayName,
            kind: self.facts.kind,
            platform: .linux,
            manufacturer: self.facts.manufacturer,
            model: self.facts.model,
            isAuthority: identity?.isAuthority ?? false,
            application: self.application,
            expulsions: self.local.expulsions?.number ?? 0
        )
        if connection.peer.isAnonymous {
            return description.forAnyone(self.services.values.filter(\.isForAnyone).map(\.name))
        }
        // As many as the watcher takes in one message: others must not cost it the description of the machine.
        let isLocal = connection.peer.systemID == identity?.systemID
        var room = connection.remote.limits.messageBytes / 2
        for application in self.referral?.running(beside: self.application.id, isLocal: isLocal) ?? [] {
            room -= application.utf8.count + 3
            guard room > 0 else { break }
            description.running.append(application)
        }
        for application in self.installed.prefix(SystemDescription.mostInstalled) {
            let part = application.description(isLocal: isLocal)
            room -= (try? part.valueSet.encoded().count) ?? room
            guard room > 0 else { break }
            description.installed.append(part)
        }
        return description
    }
}

extension [InstalledApplication] {
    fileprivate func first(offering service: String) -> InstalledApplication? {
        self.first { $0.services.contains { $0.name == service } }
    }
}
