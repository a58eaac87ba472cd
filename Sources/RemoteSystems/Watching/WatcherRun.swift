// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// One run of a watcher, from start to stop: browses, keeps the presence connections, and does what
/// ``WatcherStateMachine`` says.
actor WatcherRun {
    private enum Job: Sendable {
        case browse(any DiscoverySource)
        case presence(instance: String, attempt: Int, endpoints: [Endpoint])
        /// A process that is connected to and does not say what it is does not keep its place.
        case expectDescription(Connection, instance: String, attempt: Int)
        case observeAccount
        case renew
        case exchangeRevocations(Connection)
    }

    private let accountContext: AccountContext
    private let time: TimeSource
    private let security: TransportSecurity
    private let limits: ConnectionLimits
    private let wantsAnonymous: Bool
    private let emit: @Sendable (RemoteSystemEvent) -> Void
    private let metrics: WatcherMetrics
    private var machine: WatcherStateMachine<ContinuousClock.Instant>
    private var attempts: [String: (number: Int, connection: Connection?)] = [:]
    private var nextAttempt = 0
    private var wakeUp: (time: ContinuousClock.Instant, task: Task<Void, Never>)?
    private let jobs: AsyncStream<Job>
    private let addJob: AsyncStream<Job>.Continuation
    private var isRenewing = false
    /// When the next process of another account may be tried.
    private var nextTurn: ContinuousClock.Instant
    /// Connections over which revocation lists are being compared.
    private var exchanging: Set<ObjectIdentifier> = []
    private var isOver = false
    /// Announcements that are not of our account, by source and id: as many as the sources tell, which bound them.
    private var strangers: [String: Stranger] = [:]
    private var errors: [String: RemoteSystemWatcherError] = [:]

    private enum Stranger {
        case otherAccount, otherVersion
    }

    /// A lost system is looked for once at its old address before it is removed; this much of the second that
    /// `removed` may take is for that.
    private static let reconnectTime = TimeAmount.milliseconds(700)
    /// Within this a system answers that discovery has lost sight of or sees elsewhere, if it is still there.
    private static let responseTimeout = TimeAmount.seconds(1)
    private static let descriptionTime = Duration.seconds(5)

    init(
        accountContext: AccountContext,
        security: TransportSecurity,
        filters: [RemoteSystemFilter],
        options: RemoteSystemWatcher.Options,
        metrics: WatcherMetrics,
        emit: @escaping @Sendable (RemoteSystemEvent) -> Void
    ) {
        self.accountContext = accountContext
        self.time = accountContext.environment.time
        self.security = security
        var limits = accountContext.limits
        limits.deadPeerTime = TimeAmount(min(max(options.silenceTime, .seconds(1)), .seconds(3600)))
        self.limits = limits
        self.wantsAnonymous = filters.wantAnonymous
        self.nextTurn = self.time.now
        self.emit = emit
        self.metrics = metrics
        self.machine = WatcherStateMachine(
            filters: filters,
            ownSystem: security.systemID,
            origin: accountContext,
            sources: accountContext.sources.count,
            enumerationEnds: self.time.now + options.enumerationTime
        )
        // A job waits only until the loop in `run()` starts it. What is started for an instance that is over ends at once,
        // and the machine bounds the instances.
        (self.jobs, self.addJob) = AsyncStream.makeStream()
    }

    /// Until cancelled, or until this system has left its account.
    func run() async {
        for source in self.accountContext.sources { self.addJob.yield(.browse(source)) }
        self.addJob.yield(.observeAccount)
        self.addJob.yield(.renew)
        self.armWakeUp()
        await withDiscardingTaskGroup { group in
            for await job in self.jobs {
                group.addTask { await self.perform(job) }
            }
            group.cancelAll()
        }
        // Nothing is told any more, whatever is still on its way here.
        self.isOver = true
        self.wakeUp?.task.cancel()
        self.wakeUp = nil
        self.attempts = [:]
    }

    private func perform(_ job: Job) async {
        switch job {
        case .browse(let source): await self.browse(source)
        case .presence(let instance, let attempt, let endpoints):
            await self.keepPresence(instance, attempt: attempt, endpoints: endpoints)
        case .expectDescription(let connection, let instance, let attempt):
            try? await self.time.sleep(for: Self.descriptionTime)
            guard self.attempts[instance]?.number == attempt, !self.machine.isDescribed(instance) else { return }
            connection.abort()
        case .observeAccount:
            await self.accountContext.observeAccount { self.announceRevocations() }
            self.endIfLeft()
        case .exchangeRevocations(let connection):
            await self.exchangeRevocations(over: connection)
        case .renew:
            while (try? await self.time.sleep(for: .seconds(6 * 3600))) != nil {
                await self.accountContext.reloadIdentityInBackground()
                for connection in self.connections { self.renewIfDue(over: connection) }
            }
        }
    }

    // MARK: Discovery

    private func browse(_ source: any DiscoverySource) async {
        // Which Avahi it is, and so its name, may become known in between.
        let name = source.name
        for await event in self.events(of: source) {
            switch event {
            case .appeared(let hint), .changed(let hint):
                self.strangers["\(name)/\(hint.id)"] = self.stranger(hint, from: source)
                let isOurs = self.isOurs(hint, from: source)
                var endpoints = hint.endpoints.map { Endpoint($0, by: source, isOurs: isOurs) }
                if !isOurs {
                    // A stranger must not make us connect to somewhere else than nearby.
                    endpoints.removeAll { !self.accountContext.network.isProximal($0) }
                    guard self.isOfAnyone(hint), !endpoints.isEmpty else { continue }
                }
                self.perform(
                    self.machine.seen(
                        "\(name)/\(hint.id)",
                        endpoints: endpoints,
                        by: RemoteSystemDiscoveryType(endpoints),
                        isAnonymous: !isOurs
                    )
                )
            case .vanished(let id):
                let instance = "\(name)/\(id)"
                self.strangers[instance] = nil
                self.perform(self.machine.unseen(instance))
                self.forgetIfGone(instance)
            case .settled:
                self.perform(self.machine.settled())
            case .trouble(let trouble):
                let error = RemoteSystemWatcherError(
                    .discoveryHampered,
                    "\(trouble.message) \(trouble.advice)",
                    recoversByItself: trouble.recoversByItself
                )
                self.errors["\(name)/\(trouble.code)"] = error
                self.emit(.error(error))
            case .recovered(let code):
                self.errors["\(name)/\(code)"] = nil
            }
        }
    }

    /// A network may be full of other accounts' systems: changes of them are followed only if the filters want them.
    private func events(of source: any DiscoverySource) -> DiscoveryEvents {
        guard !self.wantsAnonymous else { return source.browse() }
        return source.browse { [security] hint in Self.carriesTag(of: security.identity, hint) }
    }

    private func stranger(_ hint: DiscoveryHint, from source: any DiscoverySource) -> Stranger? {
        guard !self.isOurs(hint, from: source) else { return nil }
        let version = hint.properties[Presence.versionProperty] ?? []
        return version.elementsEqual(Presence.version.utf8) ? .otherAccount : .otherVersion
    }

    /// What is there and not listed.
    var unlisted: RemoteSystemWatcher.Unlisted {
        let unreported = self.machine.unreported.map { endpoint, refusal in
            (place: "\(endpoint)", refusal: refusal)
        }
        return RemoteSystemWatcher.Unlisted(
            excluded: self.machine.excluded.values.sorted { $0.id < $1.id },
            unreachable: unreported.filter { $0.refusal == nil }.map(\.place).sorted(),
            refusals: Dictionary(unreported.compactMap { one in one.refusal.map { (one.place, $0) } }) { $1 },
            otherAccounts: self.strangers.values.count { $0 == .otherAccount },
            otherVersions: self.strangers.values.count { $0 == .otherVersion },
            errors: self.errors.sorted { $0.key < $1.key }.map(\.value)
        )
    }

    /// Whether a hint is worth a connection: it carries our account's tag, or our owner has configured it.
    private func isOurs(_ hint: DiscoveryHint, from source: any DiscoverySource) -> Bool {
        source.origin == .configured || Self.carriesTag(of: self.security.identity, hint)
    }

    private static func carriesTag(of identity: SystemIdentity, _ hint: DiscoveryHint) -> Bool {
        guard let version = hint.properties[Presence.versionProperty], version.elementsEqual(Presence.version.utf8),
            let tag = hint.properties[Presence.tagProperty]
        else { return false }
        return identity.discoveryKey.matches(tag, instance: hint.instance)
    }

    /// Whether a hint that is not ours is worth a connection: our owner wants to see systems of others, and its owner wants
    /// it to be seen.
    private func isOfAnyone(_ hint: DiscoveryHint) -> Bool {
        guard self.wantsAnonymous, let version = hint.properties[Presence.versionProperty],
            version.elementsEqual(Presence.version.utf8), let key = hint.properties[Presence.anonymousProperty]
        else { return false }
        return key.elementsEqual("1".utf8)
    }

    // MARK: Presence

    private func perform(_ actions: [WatcherStateMachine<ContinuousClock.Instant>.Action]) {
        guard !self.isOver else { return }
        for action in actions {
            switch action {
            case .connect(let instance, let endpoints):
                self.nextAttempt += 1
                self.attempts[instance] = (self.nextAttempt, nil)
                self.addJob.yield(.presence(instance: instance, attempt: self.nextAttempt, endpoints: endpoints))
            case .disconnect(let instance):
                if let connection = self.attempts.removeValue(forKey: instance)?.connection {
                    connection.abort()
                }
            case .probe(let instance):
                self.attempts[instance]?.connection?.probe(within: Self.responseTimeout)
            case .emit(let event):
                self.emit(event)
            }
        }
        self.armWakeUp()
    }

    private func armWakeUp() {
        guard let next = self.machine.nextWakeUp, self.wakeUp.map({ next < $0.time }) ?? true else { return }
        self.wakeUp?.task.cancel()
        let task = Task(executorPreference: self.accountContext.environment.taskExecutor) { [time = self.time] in
            guard (try? await time.sleep(until: next)) != nil else { return }
            await self.wokenUp(at: next)
        }
        self.wakeUp = (next, task)
    }

    private func wokenUp(at time: ContinuousClock.Instant) {
        guard self.wakeUp?.time == time else { return }
        self.wakeUp = nil
        self.perform(self.machine.tick(now: self.time.now))
    }

    /// Connects, and stays until the connection ends.
    private func keepPresence(_ instance: String, attempt: Int, endpoints: [Endpoint]) async {
        let connection: Connection
        do {
            let started = self.time.now
            connection = try await self.connect(instance, attempt: attempt, endpoints: endpoints)
            self.metrics.connected(after: self.time.now - started)
        } catch {
            guard self.attempts[instance]?.number == attempt, !Task.isCancelled else { return }
            self.metrics.connectionFailed(error)
            self.report(error, isAnonymous: self.machine.isAnonymous(instance))
            let error = error as? TransportError
            self.perform(
                self.machine.failed(
                    instance,
                    isAuthentic: error?.code != .peerNotTrusted,
                    refusal: error?.code == .refused ? error?.message : nil,
                    now: self.time.now,
                    jitter: .random(in: 0...1)
                )
            )
            self.forgetIfGone(instance)
            return
        }
        guard self.attempts[instance]?.number == attempt else { return connection.leave() }
        self.noteConnected(connection, instance: instance)
        self.addJob.yield(.expectDescription(connection, instance: instance, attempt: attempt))
        let status = await withTaskCancellationHandler {
            await connection.waitUntilClosed()
        } onCancel: {
            connection.leave()
        }
        guard self.attempts[instance]?.number == attempt, !Task.isCancelled else { return }
        self.perform(self.machine.lost(instance, orderly: status == .completed, now: self.time.now))
        self.forgetIfGone(instance)
    }

    /// Instances have a new name every day; what is over must leave nothing behind.
    private func forgetIfGone(_ instance: String) {
        if !self.machine.knows(instance) { self.attempts[instance] = nil }
    }

    private func connect(_ instance: String, attempt: Int, endpoints: [Endpoint]) async throws -> Connection {
        let isAnonymous = self.machine.isAnonymous(instance)
        if isAnonymous { try await self.waitForTurn() }
        let limits = isAnonymous ? self.limits.forAnonymous : self.limits
        var connector = try await self.accountContext.connector(limits: limits)
        connector.acceptsAnonymous = isAnonymous
        if self.machine.isReconnecting(instance) { connector.timeoutLimit = Self.reconnectTime }
        let referral = self.machine.referral(of: instance)
        let connection = try await connector.connect(
            to: endpoints,
            expecting: referral?.system,
            hello: self.accountContext.hello(
                service: Presence.service,
                targetApplication: referral?.application,
                limits: limits
            )
        ) { request, connection in
            await self.described(request, instance: instance, attempt: attempt, by: connection)
        }
        return connection
    }

    /// However many processes of other accounts are announced, and however often anew: ten are tried in a second.
    private func waitForTurn() async throws {
        let now = self.time.now
        let turn = max(self.nextTurn, now)
        guard turn - now < .seconds(10) else {
            throw RemoteSystemError(.unreachable, "Too many systems of other accounts are announced.", side: .network)
        }
        self.nextTurn = turn + .milliseconds(100)
        if turn > now { try await self.time.sleep(until: turn) }
    }

    private func described(
        _ request: IncomingRequest,
        instance: String,
        attempt: Int,
        by connection: Connection
    ) -> Response {
        guard let description = SystemDescription(request.message) else {
            return .requestUnknown
        }
        guard self.attempts[instance]?.number == attempt else { return Response() }
        self.noteConnected(connection, instance: instance)
        self.perform(self.machine.described(instance, description))
        // Nothing but the list concerns systems of others.
        guard !connection.peer.isAnonymous else { return Response() }
        if description.isAuthority { self.renewIfDue(over: connection) }
        if description.revocations != self.accountContext.revocations?.number ?? 0 {
            self.synchronizeRevocations(over: connection)
        }
        return Response()
    }

    /// The first description may be here before the task that connected is back.
    private func noteConnected(_ connection: Connection, instance: String) {
        guard self.attempts[instance]?.connection == nil else { return }
        self.attempts[instance]?.connection = connection
        self.perform(
            self.machine.connected(
                instance,
                to: connection.peer.systemID,
                isAnonymous: connection.peer.isAnonymous
            )
        )
    }

    private func report(_ error: any Error, isAnonymous: Bool) {
        guard let error = error as? TransportError, !isAnonymous,
            error.code == .peerNotTrusted || error.openStatus == .notAuthorized
        else { return }
        let reported = RemoteSystemWatcherError(.authenticationError, error.message, recoversByItself: false)
        self.errors["authentication"] = reported
        self.emit(.error(reported))
    }

    // MARK: Leaving the account

    private func endIfLeft() {
        do {
            try self.accountContext.checkMembership()
        } catch {
            self.emit(.error(RemoteSystemWatcherError(.authenticationError, error.message, recoversByItself: false)))
            self.addJob.finish()
        }
    }

    // MARK: Revoked systems

    /// This machine has a newer list, from one of those it is connected to or made here: the others get it.
    private func announceRevocations() {
        for connection in self.connections { self.synchronizeRevocations(over: connection) }
    }

    /// The open ones to systems of our account.
    private var connections: [Connection] {
        self.attempts.values.compactMap(\.connection).filter { !$0.peer.isAnonymous }
    }

    private func synchronizeRevocations(over connection: Connection) {
        guard !self.exchanging.contains(ObjectIdentifier(connection)) else { return }
        self.addJob.yield(.exchangeRevocations(connection))
    }

    /// Until both know what this machine does. One at a time for each connection, however often its host describes itself.
    private func exchangeRevocations(over connection: Connection) async {
        guard self.exchanging.insert(ObjectIdentifier(connection)).inserted else { return }
        defer { self.exchanging.remove(ObjectIdentifier(connection)) }
        var shown: RevocationList?
        repeat {
            shown = self.accountContext.revocations
            await self.accountContext.exchangeRevocations(over: connection)
        } while self.accountContext.revocations != shown && !Task.isCancelled
    }

    // MARK: Renewal

    /// Has this system's certificate renewed by the machine that holds the account's key.
    private func renewIfDue(over connection: Connection) {
        let identity = self.security.identity
        guard !identity.isAuthority, identity.isRenewalDue(at: Date()), !self.isRenewing else { return }
        self.isRenewing = true
        Task {
            defer { self.isRenewing = false }
            do {
                let request = try await self.accountContext.accountQueue.run { try identity.makeRenewalRequest() }
                let response = try await connection.send(
                    ["Type": "renew", "Request": .data(Data(request))],
                    timeout: .seconds(10)
                )
                guard let certificate = response.message["Certificate"]?.data else {
                    throw RemoteSystemError(.refused, response.failure?.text ?? "It was refused.", side: .remote)
                }
                let store = try self.accountContext.store()
                let renewed = try await self.accountContext.accountQueue.run {
                    try store.install(renewedCertificate: Array(certificate), now: Date())
                }
                try self.security.update(identity: renewed)
            } catch {
                self.accountContext.logger.warning(
                    "The system's certificate could not be renewed",
                    metadata: ["reason": "\(error)"]
                )
            }
        }
    }
}
