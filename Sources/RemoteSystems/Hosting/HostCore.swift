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
    private var application: SystemDescription.Application
    private let facts = MachineFacts.read()
    private var connections: [ObjectIdentifier: Connection] = [:]
    private var watchers: [ObjectIdentifier: Connection] = [:]
    private var isClosing = false
    let port = OneShot<Int>()

    init(local: LocalSystem, services: [AppService], application: SystemDescription.Application) {
        self.local = local
        self.services = Dictionary(services.map { ($0.name, $0) }) { first, _ in first }
        self.metrics = self.services.mapValues { ServiceMetrics(service: $0.name) }
        self.application = application
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
        guard let service = self.services[hello.service] else {
            return .refuse(
                Refusal(
                    .appServiceUnavailable,
                    "The application \(self.application.id) offers no service \(hello.service)."
                )
            )
        }
        return .accept(self.accept(service, own: own))
    }

    private func accept(_ service: AppService, own: SystemID) -> AcceptedConnection {
        var limits = self.local.limits
        limits.concurrentRequests = min(service.concurrentRequests ?? limits.window, limits.window)
        let serving = ServingConnection(
            service: service,
            metrics: self.metrics[service.name],
            own: own,
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

    private nonisolated func track(_ connection: Connection) {
        Task { await self.opened(connection) }
    }

    private func opened(_ connection: Connection) async {
        let id = ObjectIdentifier(connection)
        self.connections[id] = connection
        connection.onClose { _ in Task { await self.closed(id) } }
        if self.isClosing { await connection.close() }
    }

    private func closed(_ id: ObjectIdentifier) {
        self.connections[id] = nil
        self.watchers[id] = nil
    }

    /// Closes every connection gracefully and returns when all are closed.
    func closeAll() async {
        self.isClosing = true
        await withDiscardingTaskGroup { group in
            for connection in self.connections.values {
                group.addTask { await connection.close() }
            }
        }
    }

    // MARK: Presence

    private func presence(peer: PeerIdentity) -> AcceptedConnection {
        var limits = self.local.limits
        limits.window = min(limits.window, 8)
        return AcceptedConnection(
            acceptance: Acceptance(application: self.application.id, limits: limits.peerLimits, schema: nil),
            limits: limits,
            handler: { request, connection in await self.answer(request, from: connection) },
            opened: { connection in Task { await self.watched(by: connection) } }
        )
    }

    private func watched(by connection: Connection) async {
        self.watchers[ObjectIdentifier(connection)] = connection
        await self.opened(connection)
        await self.tell(connection)
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
