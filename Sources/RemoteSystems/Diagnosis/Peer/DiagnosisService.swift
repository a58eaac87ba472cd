// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// Helps another system of the account to diagnose the connection between the two (`Docs/wire/diagnosis.md`): returns
/// this system's clock and version, reports whether it sees an advertisement, and connects back.
///
/// To prevent use as a port scanner, it connects only to the caller's own address, for each system one connection at a
/// time and one per second, and returns few details about the result. Each system has its own share of the limits, so
/// that none keeps the service busy for others.
final class DiagnosisService: Sendable {
    private struct Limits {
        var looking = KeyedLimiter<SystemID>(total: maxLookups, perKey: maxLookupsOfSystem)
        var connecting = KeyedLimiter<SystemID>(total: maxConnections, perKey: 1)
        /// One token for each system, taken when its connection has ended.
        var pauses = KeyedTokenBuckets<SystemID>(capacity: 1, rate: 1)
    }

    /// The maximum number of searches for advertisements at the same time, in total and for one system.
    static let maxLookups = 8
    static let maxLookupsOfSystem = 2
    /// The maximum number of connections at the same time, each to another system.
    static let maxConnections = 8
    private static let lookingTime = Duration.seconds(4)
    private static let connectingTime = TimeAmount.seconds(3)

    private let context: ApplicationContext
    private let advertised: AdvertisedInstances
    private let limits = Mutex(Limits())

    init(context: ApplicationContext, advertised: AdvertisedInstances) {
        self.context = context
        self.advertised = advertised
    }

    var builtIn: BuiltInService {
        BuiltInService(
            Diagnosis.service,
            concurrentRequests: 4,
            handlers: [
                Diagnosis.state.handler(self.state), Diagnosis.look.handler(self.look),
                Diagnosis.connect.handler(self.connect),
            ],
            authorize: self.authorize
        )
    }

    /// The service is only for systems of the account, whichever other systems a host accepts.
    private func authorize(_ connection: Connection) throws(WireFailure) {
        let authorisation = Authorisation(host: self.context.configuration.applicationID, allowsAnyoneNearby: false)
        guard let own = try? self.context.security().systemID,
            authorisation.decide(
                Authorisation.Subject(connection.peer, application: connection.remote.application, own: own),
                .diagnosis
            ) == .allowed
        else {
            throw WireFailure("Only systems of the account may use this service.", code: .notAuthorized)
        }
    }

    private func state(_: EmptyMessage, _ caller: BuiltInCaller) -> Diagnosis.State {
        Diagnosis.State(
            time: Date(),
            version: SoftwareVersion.current,
            address: caller.connection.channel.transportPeer.address,
            advertised: self.advertised.all.sorted()
        )
    }

    // MARK: Looking for an advertisement

    private func look(
        _ request: Diagnosis.Look,
        _ caller: BuiltInCaller
    ) async throws(WireFailure) -> Diagnosis.Looked {
        let system = caller.connection.peer.systemID
        guard self.limits.withLock({ $0.looking.enter(system) }) else {
            throw WireFailure("Too many lookups are running. Try again in a moment.", code: .busy, canRetry: true)
        }
        defer { self.limits.withLock { $0.looking.leave(system) } }
        return Diagnosis.Looked(
            isSeen: await InstanceLookup.sees([request.instance], by: self.context, within: Self.lookingTime)
        )
    }

    // MARK: Connecting back

    private func connect(
        _ request: Diagnosis.Connect,
        _ caller: BuiltInCaller
    ) async throws(WireFailure) -> Diagnosis.Connected {
        guard var endpoint = caller.connection.channel.transportPeer.endpoint else {
            throw WireFailure("The caller's address is not known.", code: .hostFailed)
        }
        let (system, time) = (caller.connection.peer.systemID, self.context.environment.time)
        let isFree = self.limits.withLock { limits in
            guard limits.pauses.permits(system, at: time.now) else { return false }
            return limits.connecting.enter(system)
        }
        guard isFree else {
            throw WireFailure("Another connection is being tried. Try again in a second.", code: .busy, canRetry: true)
        }
        defer {
            self.limits.withLock { limits in
                limits.connecting.leave(system)
                limits.pauses.take(of: system, at: time.now)
            }
        }
        endpoint.port = request.port
        let outcome = await self.outcome(of: endpoint, expecting: system)
        return Diagnosis.Connected(outcome: outcome.rawValue)
    }

    private func outcome(of endpoint: Endpoint, expecting system: SystemID) async -> BackConnection {
        do {
            var connector = try await self.context.connector()
            connector.timeoutLimit = Self.connectingTime
            let back = try await connector.connect(
                to: [endpoint],
                expecting: system,
                hello: self.context.hello(
                    service: Presence.service,
                    targetApplication: nil,
                    limits: connector.limits
                ),
                // The description of the system is not needed.
                handler: { _, _ in Response() }
            )
            await back.abortAndWait(.completed)
            return .reached
        } catch {
            return BackConnection(error)
        }
    }
}
