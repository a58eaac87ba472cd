// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// What a host knows while it runs: its services and the connections to them.
actor HostCore {
    private let local: LocalSystem
    private let services: [String: AppService]
    private let metrics: [String: ServiceMetrics]
    private let answers = RememberedAnswers()
    private let builtIns: [String: any BuiltInService]
    private var application: SystemDescription.Application
    private let facts = MachineFacts.read()
    /// Every open connection, noted the moment it opens, so that a shutdown misses none.
    private nonisolated let connections = Mutex<[ObjectIdentifier: Connection]>([:])
    private var watchers: [ObjectIdentifier: Connection] = [:]
    private var isClosing = false
    let port = OneShot<Int>()

    init(
        local: LocalSystem,
        services: [AppService],
        builtIns: [any BuiltInService] = [],
        application: SystemDescription.Application
    ) {
        self.local = local
        self.services = Dictionary(services.map { ($0.name, $0) }) { first, _ in first }
        self.metrics = self.services.mapValues { ServiceMetrics(service: $0.name) }
        self.builtIns = Dictionary(builtIns.map { ($0.name, $0) }) { first, _ in first }
        self.application = application
    }

    /// What others would refuse or leave out is better refused here, where somebody can see it.
    nonisolated func validate() throws(RemoteSystemError) {
        func misuse(_ text: String) -> RemoteSystemError { RemoteSystemError(.misuse, text, side: .local) }
        guard (1...256).contains(self.local.configuration.applicationID.utf8.count) else {
            throw misuse("An application id takes 1 to 256 bytes.")
        }
        for (name, service) in self.services {
            guard (1...256).contains(name.utf8.count) else { throw misuse("A service's name takes 1 to 256 bytes.") }
            let texts = [service.options.version, service.options.summary].compactMap(\.self)
            guard texts.allSatisfy({ (1...SystemDescription.mostTextBytes).contains($0.utf8.count) }) else {
                throw misuse("A service's version and summary take 1 to \(SystemDescription.mostTextBytes) bytes each.")
            }
            guard name != Presence.service, self.builtIns[name] == nil else {
                throw misuse("The service name \(name) is taken.")
            }
        }
        guard self.services.count <= SystemDescription.mostServices else {
            throw misuse("A host offers at most \(SystemDescription.mostServices) services.")
        }
    }

    // MARK: Taking connections

    func admit(_ hello: Hello, peer: PeerIdentity, own: SystemID) -> Admission {
        guard !self.isClosing else {
            return .refuse(Refusal(.appUnavailable, "The application is shutting down.", canRetry: true))
        }
        if let package = hello.package, package != self.application.id {
            return .refuse(
                Refusal(.appNotInstalled, "The application \(package) is not here; this is \(self.application.id).")
            )
        }
        if hello.service == Presence.service { return .accept(self.presence(peer: peer)) }
        if let builtIn = self.builtIns[hello.service] { return .accept(self.accept(builtIn)) }
        guard let service = self.services[hello.service] else {
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

    private func accept(_ service: AppService, own: SystemID) -> AcceptedConnection {
        var limits = self.local.limits
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
            handler: { request, connection in await serving.respond(to: request, on: connection) },
            opened: { connection in
                connection.assumeIsolated { serving.opened($0) }
                self.track(connection)
            }
        )
    }

    private func accept(_ service: any BuiltInService) -> AcceptedConnection {
        var limits = self.local.limits
        limits.window = min(limits.window, service.concurrentRequests)
        return AcceptedConnection(
            acceptance: Acceptance(application: self.application.id, limits: limits.peerLimits, schema: nil),
            limits: limits,
            handler: { request, connection in await service.respond(to: request, on: connection) },
            opened: { self.track($0) }
        )
    }

    private nonisolated func track(_ connection: Connection) {
        let id = ObjectIdentifier(connection)
        self.connections.withLock { $0[id] = connection }
        connection.onClose { _ in self.connections.withLock { $0[id] = nil } }
    }

    /// Closes every connection gracefully and returns when all are closed.
    func closeAll() async {
        self.isClosing = true
        // What was admitted just before may open while the others close.
        while case let open = self.connections.withLock({ Array($0.values) }), !open.isEmpty {
            await withDiscardingTaskGroup { group in
                for connection in open {
                    group.addTask { await connection.close() }
                }
            }
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
                self.track(connection)
                Task { await self.watched(by: connection) }
            }
        )
    }

    private func watched(by connection: Connection) async {
        let id = ObjectIdentifier(connection)
        self.watchers[id] = connection
        connection.onClose { _ in Task { await self.unwatched(id) } }
        await self.tell(connection)
    }

    private func unwatched(_ id: ObjectIdentifier) {
        self.watchers[id] = nil
    }

    private func tell(_ connection: Connection) async {
        do {
            _ = try await connection.send(self.description().valueSet, timeout: .seconds(10))
        } catch {
            self.local.logger.debug("A watcher could not be told", metadata: ["reason": "\(error)"])
        }
    }

    private func answer(_ request: IncomingRequest, from connection: Connection) -> Reply {
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
        await withDiscardingTaskGroup { group in
            for watcher in self.watchers.values {
                group.addTask { await self.tell(watcher) }
            }
        }
    }

    private func description() -> SystemDescription {
        let identity = try? self.local.security().identity
        return SystemDescription(
            displayName: self.local.configuration.systemDisplayName ?? self.facts.displayName,
            kind: self.facts.kind,
            platform: .linux,
            manufacturer: self.facts.manufacturer,
            model: self.facts.model,
            isAuthority: identity?.isAuthority ?? false,
            application: self.application
        )
    }
}
