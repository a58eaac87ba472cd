// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// Browses for the systems of an account and keeps a presence connection to each of their processes, for all watchers
/// of an account context. Performs the actions of ``SystemBrowserStateMachine``.
///
/// It runs from the start of the first watcher to the end of the last one.
actor SystemBrowser {
    /// A running watcher and its list.
    struct User {
        let run: WatcherRun
        var list: WatcherList
        /// A stream that is finished when this system has left its account.
        let end: AsyncStream<Never>.Continuation
    }

    /// What the browser keeps of one instance.
    struct InstanceState {
        /// The present attempt to connect, and its connection when it is open.
        var attempt: (number: Int, connection: Connection?)?
        /// The description that was received. Kept while reconnecting, so that only changes are sent again.
        var description: (system: SystemID, subscriber: StateSubscriber)?
        /// The records in topics of applications. Kept while reconnecting.
        var records: InstanceRecords?
    }

    let account: AccountContext
    let security: TransportSecurity
    let time: TimeSource
    /// The systems that were met before; `nil` if they are not remembered.
    let knownSystems: KnownSystems?
    /// The running watchers, in the order of their start.
    var users: [User] = []
    var needs: BrowserNeeds
    private var task: Task<Void, Never>?
    /// The cancelled task, until it has ended.
    private var ending: Task<Void, Never>?
    var machine: SystemBrowserStateMachine
    /// The states of the instances, by their names.
    var instanceStates: [String: InstanceState] = [:]
    var nextAttempt = 0
    var attemptQueue: AttemptQueue
    /// The attempts whose descriptions have arrived and wait for ``descriptionBudget``.
    var delayedDescriptions: Set<Int> = []
    /// Limits the time that descriptions take.
    var descriptionBudget: DescriptionBudget
    private var wakeUp: (time: ContinuousClock.Instant, task: Task<Void, Never>)?
    private var addJob: AsyncStream<Job>.Continuation?
    /// A counter that is incremented when the sources must browse again.
    let browsing = ObservableValue(0)
    /// The advertisements without the present tag.
    var unrecognised = UnrecognisedHints()
    /// The number of attempts to exchange trust that wait or run.
    let exchanges = ObservableValue(0)
    /// Whether this machine with the root key has admitted systems; `nil` before it is needed, and after the account
    /// has changed.
    var hasAdmittedSystems: Bool?
    /// Whether a process that was found has neither described itself nor failed to respond yet.
    let isOpening = ObservableValue(false)
    /// Whether the job ``Job/tryUnrecognised`` runs.
    var triesUnrecognised = false
    /// The discovery key that the present browses use.
    var browsedKey: DiscoveryKey
    /// The discovery keys of the links that the sources browse for.
    var browsedKeys: [DiscoveryKey] = []
    /// The number of problems of discovery because of which it misses systems.
    let flooding = ObservableValue(0)
    /// The earliest time of the next attempt to connect to an instance of another account.
    var nextTurn: ContinuousClock.Instant
    /// The topics of applications, by the number of the attempt whose connection carries them.
    var processTopics: [Int: ProcessTopics] = [:]
    /// The topics of applications that any watcher wants.
    let wantedTopics = ObservableValue<Set<String>>([])
    /// Limits how fast long descriptions arrive.
    let descriptionPace = StatePace()
    /// The publisher of this system's state (the topic `trust`) on its presence connections.
    let publisher = StatePublisher()
    let trust: TrustPublication
    /// The advertisements of other accounts or versions, by source and id. The sources limit their number.
    var strangers: [String: Stranger] = [:]
    var errors: [String: RemoteSystemWatcherError] = [:]
    /// Announced hints with addresses on networks that this machine is not attached to, by source and id.
    var distantHints: [String: (hint: DiscoveryHint, source: BrowsedSource)] = [:]
    /// The advertised names of hints that are connected to, by source and id. The sources limit their number.
    var advertisedNames: [String: String] = [:]

    /// The reason why an advertisement is counted but not connected to.
    enum Stranger {
        case otherAccount, otherVersion
    }

    init(account: AccountContext, security: TransportSecurity) throws(TransportError) {
        self.trust = try TrustPublication(on: self.publisher, security)
        self.browsedKey = security.identity.discoveryKey
        self.account = account
        self.security = security
        self.time = account.environment.time
        self.knownSystems = account.knownSystems(of: security.systemID)
        self.nextTurn = self.time.now
        self.attemptQueue = AttemptQueue(now: self.time.now)
        self.descriptionBudget = DescriptionBudget(now: self.time.now)
        self.needs = BrowserNeeds([])
        self.machine = SystemBrowserStateMachine(sources: account.sources.count)
    }

    // MARK: Watchers

    /// Reports the present systems and all changes to a watcher, until its task is cancelled or this system leaves its
    /// account. After the return for the last watcher, nothing is sent on the network.
    func serve(_ run: WatcherRun) async {
        while let ending { await ending.value }
        guard !Task.isCancelled else { return }
        let (over, end) = AsyncStream<Never>.makeStream()
        self.enter(User(run: run, list: run.makeList(ownSystem: self.security.systemID, now: self.time.now), end: end))
        for await _ in over {}
        await self.leave(run)
    }

    private func enter(_ user: User) {
        self.users.append(user)
        let position = self.users.count - 1
        self.needsChanged()
        guard self.task != nil else { return self.begin() }
        // Report what earlier watchers already know.
        for system in self.machine.systems.values { self.notify(position, self.users[position].list.changed(system)) }
        for error in self.errors.values { self.notify(position, .error(error)) }
        if self.machine.isSettled { self.notify(position, self.users[position].list.settled()) }
        self.reportRecords(to: user.run.topics)
        self.armWakeUp()
    }

    private func leave(_ run: WatcherRun) async {
        self.users.removeAll { $0.run === run }
        guard self.users.isEmpty else { return self.needsChanged() }
        guard let task = self.task.take() else { return }
        self.ending = task
        task.cancel()
        await task.value
        self.ending = nil
    }

    /// Applies the combined needs of the watchers.
    private func needsChanged() {
        let before = self.needs
        self.needs = BrowserNeeds(self.users.map(\.run))
        guard self.task != nil else { return self.wantedTopics.change { $0 = self.needs.topics } }
        if self.needs.topics != before.topics { self.wantedTopicsChanged() }
        if self.needs.silenceTime != before.silenceTime {
            for connection in self.instanceStates.values.compactMap(\.attempt?.connection) {
                connection.update(deadPeerTime: self.needs.silenceTime)
            }
        }
        guard self.needs.wanted != before.wanted else { return }
        self.machine.browsesAnew(sources: self.account.sources.count)
        self.browsing.change { $0 += 1 }
        self.perform(self.machine.drop(before.wanted.subtracting(self.needs.wanted)))
    }

    private func begin() {
        self.machine = SystemBrowserStateMachine(
            sources: self.account.sources.count,
            awaitsRecall: self.knownSystems != nil
        )
        self.noteOpening()
        self.attemptQueue = AttemptQueue(now: self.time.now)
        self.descriptionBudget = DescriptionBudget(now: self.time.now)
        self.strangers = [:]
        self.distantHints = [:]
        self.advertisedNames = [:]
        self.errors = [:]
        self.unrecognised.removeAll()
        self.triesUnrecognised = false
        self.exchanges.change { $0 = 0 }
        self.flooding.change { $0 = 0 }
        // A job waits only until the loop in `run(_:)` starts it. A job of an ended instance returns at once, and the
        // machine limits the number of instances.
        let (jobs, addJob) = AsyncStream<Job>.makeStream()
        self.addJob = addJob
        self.task = Task(executorPreference: self.account.environment.taskExecutor) { await self.run(jobs) }
    }

    private func run(_ jobs: AsyncStream<Job>) async {
        if let knownSystems {
            self.add(.recall(knownSystems))
            self.add(.recallWhileFlooded(knownSystems))
        } else if self.account.environment.isReal, self.account.sources.contains(where: { $0.origin == .announced }) {
            self.add(.reviewHints)
        }
        for (position, source) in self.account.sources.enumerated() {
            self.add(.browse(BrowsedSource(position: position, source: source)))
        }
        self.add(.observeAccount)
        self.publishTrust()
        self.add(.renew)
        self.armWakeUp()
        await withDiscardingTaskGroup { group in
            for await job in jobs {
                group.addTask { await self.perform(job) }
            }
            group.cancelAll()
        }
        // Nothing is reported from here on, even if events are still in progress.
        self.addJob = nil
        self.wakeUp?.task.cancel()
        self.wakeUp = nil
        self.instanceStates = [:]
        self.processTopics = [:]
        await self.knownSystems?.save()
    }

    func add(_ job: Job) { self.addJob?.yield(job) }

    private var isOver: Bool { self.addJob == nil }

    func notify(_ event: (inout WatcherList) -> RemoteSystemEvent?) {
        for position in self.users.indices { self.notify(position, event(&self.users[position].list)) }
    }

    private func notify(_ position: Int, _ event: RemoteSystemEvent?) {
        if let event { self.users[position].run.emit(event) }
    }

    func report(_ error: RemoteSystemWatcherError) { self.notify { _ in .error(error) } }

    // MARK: Presence

    func perform(_ actions: [SystemBrowserStateMachine.Action]) {
        guard !self.isOver else { return }
        for action in actions {
            switch action {
            case .connect(let instance, let endpoints):
                self.nextAttempt += 1
                if let old = self.instanceStates[instance]?.attempt {
                    self.attemptQueue.cancel(old.number)
                    self.forgetTopics(old.number)
                }
                self.instanceStates[instance, default: InstanceState()].attempt = (self.nextAttempt, nil)
                self.start(attempt: self.nextAttempt, to: instance, endpoints)
            case .disconnect(let instance):
                if let attempt = self.instanceStates[instance]?.attempt.take() {
                    self.attemptQueue.cancel(attempt.number)
                    self.forgetTopics(attempt.number)
                    attempt.connection?.abort()
                }
                self.forgetIfGone(instance)
            case .rename(let old, let new):
                self.instanceStates[new] = self.instanceStates.removeValue(forKey: old)
            case .probe(let instance):
                self.instanceStates[instance]?.attempt?.connection?.probe(within: BrowserTimes.response)
            case .changed(let system):
                self.notify { $0.changed(system) }
            case .settled:
                self.notify { $0.settled() }
            case .report(let error):
                self.report(error)
            }
        }
        self.machine.instances.refreshWait()
        self.startAttempts()
        self.noteOpening()
    }

    private func noteOpening() {
        let isOpening = self.machine.isOpening
        if self.isOpening.value != isOpening { self.isOpening.change { $0 = isOpening } }
    }

    func armWakeUp() {
        let next = [self.machine.nextWakeUp, self.attemptQueue.nextTime].compactMap(\.self)
        let times = self.users.compactMap(\.list.enumerationEnds) + next
        guard !self.isOver, let next = times.min(), self.wakeUp.map({ next < $0.time }) ?? true else { return }
        self.wakeUp?.task.cancel()
        let task = Task(executorPreference: self.account.environment.taskExecutor) { [time = self.time] in
            guard (try? await time.sleep(until: next)) != nil else { return }
            await self.wokenUp(at: next)
        }
        self.wakeUp = (next, task)
    }

    private func wokenUp(at time: ContinuousClock.Instant) {
        guard self.wakeUp?.time == time else { return }
        self.wakeUp = nil
        let now = self.time.now
        self.notify { $0.tick(now: now) }
        self.perform(self.machine.tick(now: now))
    }

    /// The present name of the instance that an attempt is for; `nil` if the attempt is over.
    ///
    /// - Parameter name: the instance's name when the attempt began.
    func instance(of attempt: Int, _ name: String) -> String? {
        if self.instanceStates[name]?.attempt?.number == attempt { return name }
        return self.instanceStates.first { $0.value.attempt?.number == attempt }?.key
    }

    /// Connects to an instance, and returns when the connection has ended.
    @inline(never)
    func keepPresence(_ queued: AttemptQueue.Attempt) async {
        let (name, attempt, endpoints) = (queued.instance, queued.number, queued.endpoints)
        let connection: Connection
        do {
            let started = self.time.now
            // In a child task, whose stack is freed when it ends. A task keeps the memory of its deepest call, and this
            // one lasts as long as the connection.
            async let connecting = self.connect(name, endpoints: endpoints, isHurried: queued.isHurried)
            connection = try await connecting
            let duration = self.time.now - started
            for user in self.users { user.run.metrics.connected(after: duration) }
            self.ended(attempt, connection)
        } catch {
            self.ended(attempt, nil)
            guard let instance = self.instance(of: attempt, name), !Task.isCancelled else { return }
            self.attemptFailed(instance, endpoints, error)
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
        guard let instance = self.instance(of: attempt, name) else { return connection.leave() }
        self.noteConnected(connection, instance: instance)
        // The machine may have enough connections to the process or its system.
        guard self.instanceStates[instance]?.attempt?.number == attempt else { return }
        self.add(.followPresence(connection, instance: instance, attempt: attempt))
        if connection.exchangesTrust { self.add(.followTrust(connection)) }
        self.add(.expectDescription(connection, instance: instance, attempt: attempt))
        let status = await withTaskCancellationHandler {
            await connection.waitUntilClosed()
        } onCancel: {
            connection.leave()
        }
        self.forgetTopics(attempt)
        guard let instance = self.instance(of: attempt, name), !Task.isCancelled else { return }
        self.perform(self.machine.lost(instance, orderly: status == .completed, now: self.time.now))
        self.forgetIfGone(instance)
    }

    /// Removes the state of an instance that is gone. Instance names change daily, so the state would accumulate.
    func forgetIfGone(_ instance: String) {
        guard !self.machine.knows(instance) else {
            // Discovery may still find a process that was killed. What it published ends with its connection.
            if !self.machine.isPresent(instance) { self.forgetRecords(of: instance) }
            return
        }
        if let attempt = self.instanceStates[instance]?.attempt { self.attemptQueue.cancel(attempt.number) }
        self.forgetRecords(of: instance)
        self.instanceStates[instance] = nil
    }

    private func attemptFailed(_ instance: String, _ endpoints: [Endpoint], _ error: any Error) {
        if let expected = self.machine.expected(of: instance), (error as? TransportError)?.openStatus != .notAuthorized
        {
            // Systems that were met before are often absent, and another one may have their address. Only the system
            // itself, whose certificate was verified, refuses this one.
            return self.forgetIfReplaced(expected, at: endpoints, error)
        }
        if let notice = (error as? TransportError)?.withdrawal { self.account.learnWithdrawal(notice) }
        for user in self.users { user.run.metrics.connectionFailed(error) }
        self.report(error, at: endpoints, from: self.machine.standing(of: instance))
    }

    private func noteConnected(_ connection: Connection, instance: String) {
        guard self.instanceStates[instance]?.attempt?.connection == nil else { return }
        self.instanceStates[instance]?.attempt?.connection = connection
        // The watchers' needs may have changed during the handshake.
        connection.update(deadPeerTime: self.needs.silenceTime)
        self.perform(
            self.machine.connected(
                instance,
                to: connection.peer.systemID,
                at: connection.channel.transportPeer.endpoint,
                standing: connection.peer.standing.kind,
                account: connection.peer.standing.accountID,
                now: self.time.now
            )
        )
    }

    func report(_ error: any Error, at endpoints: [Endpoint], from standing: Standing.Kind) {
        guard let error = error as? TransportError, standing.isAccountProved,
            error.code == .peerNotTrusted || error.openStatus == .notAuthorized
        else { return }
        self.rememberRefusal(error)
        // Without the port: several programs of a machine may cause the same error.
        let place = endpoints.first.map { " at \($0.host)" } ?? ""
        let what = error.code == .peerNotTrusted ? "is not trusted" : "refuses this one"
        let text = "The system\(place) \(what): \(error.message)"
        var reported = RemoteSystemWatcherError(.authenticationError, text, recoversByItself: false)
        reported.failureCode = error.failureCode
        self.errors["authentication"] = reported
        self.report(reported)
    }

    /// The logger of the watcher registered first.
    var logger: Logger { self.users.first?.run.context.logger ?? self.account.logger }

    // MARK: Leaving the account

    func endIfLeft() {
        do {
            try self.account.checkMembership()
        } catch {
            self.report(RemoteSystemWatcherError(.authenticationError, error.message, recoversByItself: false))
            for user in self.users { user.end.finish() }
        }
    }
}
