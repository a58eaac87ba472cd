// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Examines the connection to another system with its help: its state, whether it sees this system, and whether it can
/// connect to it.
struct PeerExamination: Sendable {
    let context: ApplicationContext
    let request: RemoteSystemConnectionRequest
    /// This system's port to connect back to; 0 for any free port.
    let port: Int

    /// The maximum time for which the two systems look for each other's advertisements.
    private static let lookingTime = Duration.seconds(4)
    /// Long enough for a busy system, about which the findings would otherwise say nothing.
    private static let responseTimeout = TimeAmount.seconds(30)

    private var time: TimeSource { self.context.environment.time }

    func facts() async -> PeerFacts {
        // A system that is not found has no address; the finding states this.
        let target = ((try? await self.request.located()) ?? self.request).diagnosisTarget
        guard case .usable = IdentityFacts.read(self.context) else {
            return PeerFacts(name: target.name, way: .noAccount)
        }
        do {
            let connector = try await self.context.connector()
            let connection = try await connector.connect(
                to: target.endpoints,
                expecting: target.systemID,
                calling: Diagnosis.service,
                from: self.context
            )
            // Without it, two systems that do not recognise each other's announcements keep different revocations. A
            // failure has its own finding: the connection above has the same endpoint and certificates.
            async let exchange: Void? = try? TrustExchange(context: self.context)
                .run(with: target.endpoints, expecting: connection.peer.systemID)
            let facts = await self.facts(over: connection, name: target.name)
            _ = await exchange
            await connection.abortAndWait(.completed)
            return facts
        } catch {
            await self.context.account.untilRootsAreStored()
            let isOfLink = ((error as? TransportError)?.cause as? TrustError) == .linkedAccount
            let end = await isOfLink ? self.endOfLink(with: target) : nil
            return self.facts(target, after: end ?? error)
        }
    }

    /// Returns the refusal of a system whose account has withdrawn its link with this one; `nil` if it has not.
    ///
    /// Such a system no longer carries the link's tag in its announcements, so programs that use the link do not find
    /// it and cannot learn that the link has ended.
    private func endOfLink(with target: RemoteSystemConnectionRequest.DiagnosisTarget) async -> TransportError? {
        do {
            var connector = try await self.context.connector()
            connector.accepted = [.linked]
            let connection = try await connector.connect(
                to: target.endpoints,
                expecting: target.systemID,
                calling: Presence.service,
                from: self.context
            )
            await connection.abortAndWait(.completed)
            return nil
        } catch {
            guard let refusal = error as? TransportError, let notice = refusal.withdrawal else { return nil }
            let account = self.context.account
            await account.untilRootsAreStored()
            await account.learnWithdrawal(notice).value
            return refusal
        }
    }

    private func facts(_ target: RemoteSystemConnectionRequest.DiagnosisTarget, after error: any Error) -> PeerFacts {
        let error =
            error as? TransportError
            ?? TransportError(.unreachable, "\(target.name) was not reached: \(error)", side: .local)
        // Older hosts do not have the service.
        let isOld = error.code == .refused && error.openStatus == .appServiceUnavailable
        var facts = PeerFacts(name: target.name, way: isOld ? .cannotHelp : .failed(error))
        facts.address = target.endpoints.first?.host
        facts.isNeighbour = facts.address.flatMap { LocalNetworks.contains($0) }
        return facts
    }

    private func facts(over connection: Connection, name: String) async -> PeerFacts {
        var facts = PeerFacts(name: name, way: .open)
        facts.address = connection.channel.transportPeer.endpoint?.host
        facts.isNeighbour = facts.address.flatMap { LocalNetworks.contains($0) }
        facts.version = connection.remote.version
        facts.isThisSystem = (try? self.context.security().systemID) == connection.peer.systemID
        let started = Date()
        guard let state = await self.ask(Diagnosis.state, EmptyMessage(), over: connection) else { return facts }
        let ended = Date()
        facts.software = String(state.version.prefix(32))
        facts.clockAhead = state.time.timeIntervalSince(started) - ended.timeIntervalSince(started) / 2
        facts.clockDoubt = ended.timeIntervalSince(started)
        let names = state.advertised.prefix(8)
        facts.isAdvertised = !names.isEmpty
        await self.exchange(&facts, names: Set(names), over: connection)
        return facts
    }

    /// Runs a host, for the other system to see and to connect to.
    private func exchange(_ facts: inout PeerFacts, names: Set<String>, over connection: Connection) async {
        let wanted = self.port
        let host: (host: RemoteSystemHost, task: Task<Void, any Error>, port: Int)
        if let own = await self.start(port: wanted) {
            host = own
        } else if wanted != 0, let own = await self.start(port: 0) {
            // A program of this system may listen on the port. The other system then connects to that program.
            host = own
            facts.isPortTaken = self.context.account.running?.listening.contains { $0.port == wanted } != true
        } else {
            return
        }
        defer { host.task.cancel() }
        let port = wanted == 0 ? host.port : wanted
        async let weSeeIt = InstanceLookup.sees(names, by: self.context, within: Self.lookingTime)
        async let itSeesUs = self.look(for: host.host, over: connection)
        async let outcome = self.connectBack(to: port, over: connection)
        facts.port = port
        facts.connectsBack = await outcome
        facts.itSeesUs = await itSeesUs
        let isSeen = await weSeeIt
        facts.weSeeIt = facts.isAdvertised ? isSeen : nil
        host.task.cancel()
        _ = await host.task.result
    }

    private func start(port: Int) async -> (host: RemoteSystemHost, task: Task<Void, any Error>, port: Int)? {
        var configuration = self.context.configuration
        // All parts share one mDNS stack.
        configuration.discovery.sources = self.context.account.sources
        // Not the application's own id: its callers would find none of its services. Watchers ignore this id.
        configuration.applicationID = Diagnosis.service
        var options = RemoteSystemHost.Options()
        options.port = port
        // Several diagnoses may run at the same time.
        options.allowsSeveralProcesses = true
        let host = RemoteSystemHost(configuration, services: [], options: options)
        let task = Task { try await host.run() }
        guard let port = try? await host.port else {
            task.cancel()
            return nil
        }
        return (host, task, port)
    }

    private func look(for host: RemoteSystemHost, over connection: Connection) async -> Bool? {
        // The instance name is known a moment after the host listens; on a busy machine, after seconds.
        for _ in 0..<500 where host.advertised.all.isEmpty { try? await self.time.sleep(for: .milliseconds(20)) }
        guard let instance = host.advertised.all.first else { return nil }
        return await self.ask(Diagnosis.look, Diagnosis.Look(instance: instance), over: connection)?.isSeen
    }

    private func connectBack(to port: Int, over connection: Connection) async -> BackConnection? {
        await self.ask(Diagnosis.connect, Diagnosis.Connect(port: port), over: connection)
            .flatMap { BackConnection(rawValue: $0.outcome) }
    }

    /// Sends a request, up to four times while the other system is busy. Returns `nil` when it returns no result.
    private func ask<Request, Response>(
        _ method: BuiltInMethod<Request, Response>,
        _ request: Request,
        over connection: Connection
    ) async -> Response? {
        for _ in 0..<4 {
            do {
                return try await method.call(request, over: connection, timeout: Self.responseTimeout)
            } catch BuiltInCallError.failed(_, let failure?) where failure.canRetry {
                try? await self.time.sleep(for: .milliseconds(1100))
            } catch {
                return nil
            }
        }
        return nil
    }
}

extension RemoteSystemConnectionRequest {
    struct DiagnosisTarget: Sendable {
        var name: String
        var endpoints: [Endpoint]
        var systemID: SystemID?
    }

    /// The endpoints of the target's system, independent of its services.
    var diagnosisTarget: DiagnosisTarget {
        switch self.target {
        case .system(let system):
            DiagnosisTarget(
                name: system.displayName,
                endpoints: system.applications.flatMap(\.endpoints),
                systemID: system.id
            )
        case .application(let application):
            DiagnosisTarget(
                name: application.displayName,
                endpoints: application.endpoints,
                systemID: application.systemID
            )
        case .token(let token):
            DiagnosisTarget(name: token.systemID.short, endpoints: token.endpoints, systemID: token.systemID)
        case .address(let endpoint, let systemID):
            DiagnosisTarget(
                name: "\(endpoint)",
                endpoints: [endpoint],
                systemID: systemID
            )
        }
    }
}
