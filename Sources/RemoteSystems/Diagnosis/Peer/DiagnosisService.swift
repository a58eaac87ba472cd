// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// Helps another system of the account to diagnose the connection between the two (`Docs/wire/diagnosis.md`): returns
/// this system's clock and version, reports whether it sees an advertisement, and connects back.
///
/// To prevent use as a port scanner, it connects only to the caller's own address, one connection at a time, one per
/// second, and returns few details about the result.
final class DiagnosisService: BuiltInService {
    static let name = "remote-systems.diagnosis"

    private struct Limits {
        var looking = 0
        var isConnecting = false
        var nextConnection: ContinuousClock.Instant?
    }

    private static let maxConcurrentLookups = 4
    private static let lookingTime = Duration.seconds(4)
    private static let connectingTime = TimeAmount.seconds(3)
    private static let pause = Duration.seconds(1)

    private let context: ApplicationContext
    private let advertised: AdvertisedInstances
    private let limits = Mutex(Limits())

    init(context: ApplicationContext, advertised: AdvertisedInstances) {
        self.context = context
        self.advertised = advertised
    }

    var name: String { Self.name }
    var concurrentRequests: Int { 4 }

    func respond(to request: IncomingRequest, on connection: Connection) async -> Response {
        // The service is only for systems of the account, whichever other systems a host accepts.
        guard let identity = try? self.context.security().identity,
            connection.peer.standing == .sameAccount(identity.accountID)
        else {
            return Self.failure("Only systems of the account may use this service.", .notAuthorized)
        }
        switch request.message["Type"]?.string {
        case "state": return Response(message: self.state(connection))
        case "look":
            guard let instance = request.message["Instance"]?.string, (1...63).contains(instance.utf8.count) else {
                return Self.failure("The instance's name is missing.", .requestInvalid)
            }
            return await self.look(for: instance)
        case "connect":
            guard let port = request.message["Port"]?.unsignedInteger, let port = Int(exactly: port),
                (1...65_535).contains(port)
            else {
                return Self.failure("The port is missing.", .requestInvalid)
            }
            return await self.connect(to: port, connection)
        default: return Self.failure("This request is not known here.", .requestUnknown)
        }
    }

    private static func failure(_ text: String, _ code: FailureCode, canRetry: Bool = false) -> Response {
        Response(status: .failure, failure: WireFailure(text, code: code, canRetry: canRetry))
    }

    private func state(_ connection: Connection) -> ValueSet {
        [
            "Time": .date(Date()),
            "Version": .string(SoftwareVersion.current),
            "Address": .string(connection.channel.transportPeer.address),
            "Advertised": .array(self.advertised.all.sorted().map { .string($0) }),
        ]
    }

    // MARK: Looking for an advertisement

    private func look(for instance: String) async -> Response {
        let isFree = self.limits.withLock { limits in
            guard limits.looking < Self.maxConcurrentLookups else { return false }
            limits.looking += 1
            return true
        }
        guard isFree else {
            return Self.failure("Too many lookups are running. Try again in a moment.", .busy, canRetry: true)
        }
        defer { self.limits.withLock { $0.looking -= 1 } }
        let isSeen = await InstanceLookup.sees([instance], by: self.context, within: Self.lookingTime)
        return Response(message: ["Seen": .bool(isSeen)])
    }

    // MARK: Connecting back

    private func connect(to port: Int, _ connection: Connection) async -> Response {
        guard var endpoint = connection.channel.transportPeer.endpoint else {
            return Self.failure("The caller's address is not known.", .hostFailed)
        }
        let time = self.context.environment.time
        let isFree = self.limits.withLock { limits in
            guard !limits.isConnecting, limits.nextConnection.map({ $0 <= time.now }) ?? true else { return false }
            limits.isConnecting = true
            return true
        }
        guard isFree else {
            return Self.failure("Another connection is being tried. Try again in a second.", .busy, canRetry: true)
        }
        defer {
            self.limits.withLock { limits in
                limits.isConnecting = false
                limits.nextConnection = time.now + Self.pause
            }
        }
        endpoint.port = port
        let outcome = await self.outcome(of: endpoint, expecting: connection.peer.systemID)
        return Response(message: ["Outcome": .string(outcome.rawValue)])
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
