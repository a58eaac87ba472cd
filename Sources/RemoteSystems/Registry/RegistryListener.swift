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

/// Accepts the registrations of programs at the host daemon's Unix socket.
///
/// The kernel has verified that a caller belongs to this user (``LocalTransport``), and TLS that it belongs to this
/// system.
final class RegistryListener: Sendable {
    private let programs: ProgramRegistry
    private let locks: ApplicationLocks
    private let context: ApplicationContext
    private let topics: HostTopics
    private let advertised: AdvertisedInstances
    /// Publishes the registered programs, if they have changed.
    private let publish: @Sendable () async -> Void
    /// Whether this process advertises the machine now.
    private let isAdvertised: @Sendable () -> Bool
    /// Compares programs with manifests; `nil` if this daemon vouches for none.
    private let vouching: (any PublisherVouching)?
    /// Limits the descriptions of all programs together.
    private let budget: StateBudget
    private let state = Mutex((listener: Listener?.none, open: [Int: Connection](), hasEnded: false))

    init(
        _ programs: ProgramRegistry,
        running: RunningApplications,
        context: ApplicationContext,
        topics: HostTopics,
        advertised: AdvertisedInstances,
        vouching: (any PublisherVouching)? = nil,
        budget: StateBudget = StateBudget(total: 16 << 20, perHolder: 16 << 20),
        isAdvertised: @escaping @Sendable () -> Bool,
        publish: @escaping @Sendable () async -> Void
    ) {
        self.programs = programs
        self.locks = ApplicationLocks(running: running)
        self.context = context
        self.topics = topics
        self.advertised = advertised
        self.vouching = vouching
        self.budget = budget
        self.isAdvertised = isAdvertised
        self.publish = publish
    }

    /// Starts listening. Without the socket the daemon works, too: programs then advertise themselves, and the daemon
    /// knows a program only by the lock of its id.
    func start(at place: RegistryPlace) async {
        do {
            let security = try self.context.security()
            try place.makeDirectory()
            let listener = try await Listener.start(
                host: nil,
                port: 0,
                security: security,
                limits: self.limits,
                logger: self.context.logger,
                network: place.network(self.context.environment)
            ) { hello, peer in self.admit(hello, peer, own: security.systemID) }
            self.state.withLock { $0.listener = listener }
        } catch {
            self.context.logger.warning(
                "Programs of this machine cannot register with this host; they advertise themselves",
                metadata: ["reason": "\(error)"]
            )
        }
    }

    /// Stops listening and closes all connections.
    func stop() async {
        let listener = self.state.withLock { state in
            state.hasEnded = true
            return state.listener.take()
        }
        await listener?.stop()
        for connection in self.state.withLock({ Array($0.open.values) }) { connection.abort(.cancelled, reason: nil) }
    }

    private var limits: ConnectionLimits {
        var limits = self.context.limits
        // The registration, and the vouchers of continuations that run at the same time.
        limits.window = 8
        // This side subscribes, and must accept state frames.
        limits.messageBytes = max(limits.messageBytes, StateLimits.minLimit)
        return limits
    }

    // MARK: One program

    private func admit(_ hello: Hello, _ peer: PeerIdentity, own: SystemID) -> Admission {
        guard peer.systemID == own else {
            return .refuse(
                Refusal(
                    .notAuthorized,
                    code: .callerNotLocal,
                    "Only programs of this system register here."
                )
            )
        }
        guard hello.service == Registry.service else {
            return .refuse(Refusal(noService: hello.service, in: RemoteSystemHost.machineApplicationID, callable: []))
        }
        guard hello.application.isName, hello.application != self.context.configuration.applicationID else {
            return .refuse(
                Refusal(
                    .notAuthorized,
                    code: .callerNotListed,
                    "The application \(hello.application.withoutControlCharacters) cannot register here."
                )
            )
        }
        guard self.programs.hasCapacity else { return .refuse(Self.full) }
        let limits = self.limits
        let number = Mutex<ProgramRegistry.Number?>(nil)
        let name = hello.application
        return .accept(
            EstablishedConnection(
                acceptance: Acceptance(
                    application: self.context.configuration.applicationID,
                    limits: limits.peerLimits
                ),
                limits: limits,
                handler: { request, _ in
                    guard let number = number.withLock({ $0 }) else { return .requestUnknown }
                    return await self.response(to: request, from: number)
                },
                opened: { connection in
                    let entered = self.enter(connection, name)
                    number.withLock { $0 = entered }
                }
            )
        )
    }

    private static let full = Refusal(
        .remoteSystemUnavailable,
        code: .tooManyConnections,
        "The maximum number of programs is registered with this host daemon.",
        canRetry: true
    )

    /// Called on the connection's event loop when it opens.
    private func enter(_ connection: Connection, _ application: String) -> ProgramRegistry.Number? {
        let process = ProgramProcess(pid: connection.channel.transportPeer.processID ?? 0)
        guard let number = self.programs.enter(application, process) else {
            connection.abort(.resourceLimitsExceeded, reason: nil)
            return nil
        }
        let isOver = self.state.withLock { state in
            state.open[number] = connection
            return state.hasEnded
        }
        connection.onClose { _ in self.leave(number) }
        guard !isOver else {
            connection.abort(.cancelled, reason: nil)
            return nil
        }
        Task(executorPreference: self.context.environment.taskExecutor) {
            await self.follow(number, application, process, over: connection)
        }
        return number
    }

    private func leave(_ number: ProgramRegistry.Number) {
        self.state.withLock { _ = $0.open.removeValue(forKey: number) }
        self.programs.leave(number)
        Task(executorPreference: self.context.environment.taskExecutor) { await self.publish() }
    }

    /// Receives the description of a program until its connection ends.
    private func follow(
        _ number: ProgramRegistry.Number,
        _ application: String,
        _ process: ProgramProcess,
        over connection: Connection
    ) async {
        guard self.locks.areHeld(application, by: process.pid) else {
            return self.reject(connection, application, "It does not hold the lock of this application id.")
        }
        // Before the program describes itself, so that it is never published without its publisher.
        await self.vouch(number, application, process)
        let end = await withTaskGroup(of: Void.self) { group in
            var followed: Set<String> = []
            let subscriber = StateSubscriber(PresenceTopic.schema, budget: self.budget)
            let end = try? await subscriber.follow(over: connection) { _ in
                guard let description = SystemDescription(subscriber.records) else { return }
                guard self.programs.describe(number, description.application) else {
                    return self.reject(connection, application, "It describes another application.")
                }
                // A program has the same topics as long as it runs.
                for topic in description.application.topics.prefix(ApplicationTopic.maxTopics)
                where followed.count < ApplicationTopic.maxTopics && followed.insert(topic).inserted {
                    group.addTask { await self.follow(topic, of: number, application, over: connection) }
                }
                await self.publish()
            }
            group.cancelAll()
            return end
        }
        switch end {
        case .connectionEnded, .unsubscribed: break
        case nil, .publisher, .rulesBroken: self.reject(connection, application, "It stopped describing itself.")
        }
    }

    /// Publishes the records of a program in one topic until its connection ends.
    private func follow(
        _ topic: String,
        of number: ProgramRegistry.Number,
        _ application: String,
        over connection: Connection
    ) async {
        // Until then it is not known whether other systems can reach the program.
        await self.programs.settle(number)
        let subscriber = StateSubscriber(.application(topic), budget: self.budget)
        let end = try? await subscriber.follow(over: connection) { _ in
            let records = ApplicationRecordKey.records(of: application, in: subscriber.records)
            let contribution = HostTopics.Contribution(
                application: application,
                // The systems that reach a daemon on the loopback interface also reach the program.
                isOnLoopback: self.programs.isOnLoopback(number) && self.context.configuration.network != .loopback,
                records: records
            )
            self.topics.update(topic, from: .program(number), contribution)
            await self.publish()
        }
        self.topics.update(topic, from: .program(number), nil)
        await self.publish()
        guard case .publisher(let reason)? = end else { return }
        self.context.logger.debug(
            "A program stopped publishing a topic",
            metadata: ["application": "\(application)", "topic": "\(topic)", "reason": "\(reason)"]
        )
    }

    // MARK: Publishers

    /// Compares every program with its manifest again, after manifests have changed.
    func vouchAgain() async {
        for program in self.programs.all { await self.vouch(program.number, program.application, program.process) }
        await self.publish()
    }

    private func vouch(_ number: ProgramRegistry.Number, _ application: String, _ process: ProgramProcess) async {
        guard let vouching else { return }
        self.programs.vouch(number, await vouching.publisher(of: application, process: process))
    }

    /// States to a program what this daemon states about it to another system.
    private func voucher(_ request: IncomingRequest, from number: ProgramRegistry.Number) async -> Response {
        // The program may connect and ask before it was compared with its manifest.
        await self.programs.settle(number)
        guard let program = self.programs.publisher(of: number),
            let subject = Registry.subject(request.message, of: program.application),
            let identity = try? self.context.security().identity,
            let voucher = try? ApplicationVoucher(program.publisher, for: subject, by: identity)
        else { return .requestUnknown }
        return Response(message: [
            Registry.voucher: .data(Data(voucher.bytes)),
            Registry.hasSignedManifests: .bool(self.vouching?.hasSignedManifests ?? false),
        ])
    }

    private func reject(_ connection: Connection, _ application: String, _ reason: String) {
        self.context.logger.notice(
            "A program was not registered",
            metadata: ["application": "\(application)", "reason": "\(reason)"]
        )
        connection.abort(.unknown, reason: nil)
    }

    /// Responds when the program is published, so that it can withdraw its own advertisement without a gap.
    private func response(to request: IncomingRequest, from number: ProgramRegistry.Number) async -> Response {
        guard let registration = Registry.Registration(request.message) else {
            return await self.voucher(request, from: number)
        }
        self.programs.register(number, registration)
        await self.programs.settle(number)
        await self.publish()
        let isRepresented =
            self.isAdvertised() && registration.network == self.context.configuration.network.registryName
        return Response(message: [
            Registry.represented: .bool(isRepresented),
            Registry.advertised: .array(isRepresented ? self.advertised.all.sorted().map { .string($0) } : []),
        ])
    }
}
