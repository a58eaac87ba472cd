// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Decides which discovery hints become systems.
///
/// A hint is an instance that discovery found and that carries this account's tag. Each hint gets a connection of its
/// own, its *presence*, over which the process authenticates and describes itself. A system is listed while at least
/// one of its processes has done both. From then on only the connection determines whether the process is present;
/// discovery matters only for new attempts.
///
/// A process that a host describes is a hint, too: see ``Referral``. So is a process that was met before on a present
/// network: see ``KnownProcess``. Each watcher's ``WatcherList`` applies its filters to the systems.
///
/// A value type without I/O and without a clock. Times are arguments, in the driver's clock.
struct SystemBrowserStateMachine {
    typealias Instant = ContinuousClock.Instant

    /// An action that the driver performs.
    enum Action: Sendable {
        case connect(instance: String, endpoints: [Endpoint])
        case disconnect(instance: String)
        /// The instance has another name. Its attempt and its connection stay.
        case rename(instance: String, to: String)
        /// Probe the connection: the process may be gone or have moved.
        case probe(instance: String)
        /// The description of a system has changed.
        case changed(ObservedSystem)
        /// Every system found so far has described itself or has failed to respond.
        case settled
        /// An error for the watchers: more instances are advertised than the state machine can follow.
        case report(RemoteSystemWatcherError)
    }

    /// The state of one discovered, referred or remembered process.
    struct Instance {
        var endpoints: [Endpoint]
        var discoveryType: RemoteSystemDiscoveryType
        /// Whether discovery still finds the instance. A connection may outlive its hint.
        var isHinted = true
        var attempts = 0
        var phase = Phase.connecting
        var isFirstAttempt = true
        /// Whether this machine's owner configured the endpoints. Otherwise another machine chose them.
        var isConfigured = false
        /// Whether the process was connected at any time.
        var hasConnected = false
        /// The endpoint of the last connection over which the process was authenticated.
        var authenticated: Endpoint?
        /// The endpoints to connect to again: first those that are announced now, since the process may have moved.
        var candidates: [Endpoint] {
            guard let authenticated, !self.endpoints.contains(authenticated) else { return self.endpoints }
            return self.endpoints + [authenticated]
        }
        var lastConnect: Instant?
        var lastLoss: Instant?
        /// The relation of the system to this one: by its advertisement before the connection, then by its certificate.
        var standing = Standing.Kind.sameAccount
        /// The account that the certificate proved.
        var account: AccountID?
        /// The host that this process is reached through, if it is not advertised itself.
        var referral: Referral?
        /// The system that the attempts must reach, if they are for remembered endpoints.
        var expected: SystemID?
        /// The reason why the process refused the last attempt, in its own words; `nil` if it did not respond.
        var refusal: String?
    }

    /// A running application that is not advertised. The host that names it forwards connections to it.
    struct Referral: Sendable {
        let host: String
        let system: SystemID
        let application: String
        /// Whether the application is connected to at its own port, because its host was lost.
        var isDirect = false

        /// The instance name. It starts with `>`, as no source's name does, so that no discovered instance can have the
        /// same name.
        var instance: String { ">\(self.application)@\(self.host)" }
    }

    /// The phase of the presence connection to an instance.
    enum Phase {
        case connecting
        case connected(SystemID, SystemDescription?)
        /// The connection was lost. The process stays listed during one quick attempt to reconnect.
        case reconnecting(SystemID, SystemDescription?)
        case waiting(until: Instant)
        /// The maximum number of attempts was reached. A changed or new advertisement starts another one.
        case abandoned

        /// Whether no attempt is in progress.
        var isIdle: Bool {
            switch self {
            case .waiting, .abandoned: true
            default: false
            }
        }

        /// The end of the delay before the next attempt, if there is a delay.
        var waitsUntil: Instant? {
            if case .waiting(let until) = self { until } else { nil }
        }
    }

    /// The maximum number of instances. Limits the memory that the network can make this process use (design target: 1
    /// 000 systems).
    static var maxInstances: Int { 4096 }
    /// The maximum number of instances of other accounts, which any device on the network can advertise.
    static var maxAnonymous: Int { 64 }
    /// The maximum number of attempts to connect to an instance of another account for each of its advertisements.
    static var maxAnonymousAttempts: Int { 3 }

    var instances = InstanceTable()
    /// The referrals that each holder of a quota may cause.
    var referralBudget = KeyedTokenBuckets<QuotaHolder>(
        capacity: BrowserLimits.referrals,
        rate: BrowserLimits.referralRate
    )
    /// The hosts with referrals that are not followed yet, and when to continue.
    var deferredReferrals: [String: Instant] = [:]
    /// The last reported description of each present system.
    private(set) var systems: [SystemID: ObservedSystem] = [:]
    private var unsettledSources: Int
    /// Whether the remembered processes are still to be tried for the first time.
    var awaitsRecall: Bool
    /// The remembered processes that are tried next.
    var recalling: ArraySlice<KnownProcess> = []
    /// Whether ``Action/settled`` was emitted.
    private(set) var isSettled = false
    /// Whether it was reported that instances are ignored.
    var hasRefused = false

    /// Creates the state of a browser that starts.
    ///
    /// - Parameters:
    ///   - sources: the number of sources that start to browse.
    ///   - awaitsRecall: whether ``recalled(_:)`` will be called.
    init(sources: Int, awaitsRecall: Bool = false) {
        self.unsettledSources = sources
        self.awaitsRecall = awaitsRecall
    }

    /// Restarts the enumeration when the sources browse again. ``Action/settled`` is emitted once more.
    mutating func browsesAnew(sources: Int) {
        self.unsettledSources = sources
        self.isSettled = false
    }

    /// Removes the systems with these standings, after the last watcher that wanted them stopped.
    mutating func drop(_ unwanted: Set<Standing.Kind>) -> [Action] {
        let dropped = self.instances.filter { unwanted.contains($0.value.standing) }
        for (name, _) in dropped { self.instances[name] = nil }
        return dropped.map(\.key).sorted().map { .disconnect(instance: $0) }
            + dropped.flatMap { self.relist($0.value.phase) } + self.checkSettled()
    }

    // MARK: Discovery events

    mutating func seen(
        _ instance: String,
        endpoints: [Endpoint],
        by type: RemoteSystemDiscoveryType,
        standing: Standing.Kind = .sameAccount,
        isConfigured: Bool = false,
        referral: Referral? = nil
    ) -> [Action] {
        var new = Instance(endpoints: endpoints, discoveryType: type, standing: standing)
        new.isConfigured = isConfigured
        new.referral = referral
        if referral == nil, new.canTakeOver, self.instances[instance]?.phase.isIdle ?? true {
            if let remembered = self.remembered(at: endpoints) { return self.takeOver(remembered, as: instance, new) }
        }
        guard var known = self.instances[instance] else {
            // Further anonymous instances are ignored without an error: the user could do nothing about it.
            guard standing.isAccountProved || self.instances.anonymousCount < Self.maxAnonymous else { return [] }
            guard let actions = self.makeRoom(for: new) else { return self.refuse() }
            self.instances[instance] = new
            return actions + [.connect(instance: instance, endpoints: endpoints)]
        }
        let isNew = known.endpoints != endpoints || !known.isHinted
        let isElsewhere = Set(self.reported(known)).isDisjoint(with: endpoints)
        known.endpoints = endpoints
        known.isHinted = true
        guard isNew, known.phase.isIdle else {
            self.instances[instance] = known
            guard isElsewhere, case .connected(let system, _) = known.phase else { return [] }
            return [.probe(instance: instance)] + self.relist(system)
        }
        // The address changed, so connect immediately.
        known.attempts = 0
        known.phase = .connecting
        self.instances[instance] = known
        return [.connect(instance: instance, endpoints: endpoints)]
    }

    /// The endpoints last reported for the instance's application. The current ones may differ from them after several
    /// small changes, one network interface at a time.
    private func reported(_ instance: Instance) -> [Endpoint] {
        guard case .connected(let system, let description?) = instance.phase else { return instance.endpoints }
        let parts = self.systems[system]?.parts.filter { $0.description.application.id == description.application.id }
        guard let parts, !parts.isEmpty else { return instance.endpoints }
        return parts.flatMap(\.endpoints)
    }

    mutating func unseen(_ instance: String) -> [Action] {
        guard var known = self.instances[instance] else { return [] }
        known.isHinted = false
        switch known.phase {
        case .connected(let system, let description?) where self.isRenamed(instance, known, system, description):
            // The process has a new instance name, and there is a connection under that name, too.
            self.instances[instance] = nil
            return [.disconnect(instance: instance)] + self.relist(system) + self.unsee(self.referrals(by: instance))
        case .connected(let system, let description?)
        where self.isDescribed(description.application.id, on: system, beside: instance):
            // The process registered with its host daemon, which describes it from now on.
            self.instances[instance] = nil
            return [.disconnect(instance: instance)] + self.relist(system)
        case .connected:
            self.instances[instance] = known
            return [.probe(instance: instance)]
        case .reconnecting:
            self.instances[instance] = known
            return []
        case .connecting:
            self.instances[instance] = nil
            return [.disconnect(instance: instance)] + self.checkSettled()
        case .waiting, .abandoned:
            self.instances[instance] = nil
            return self.checkSettled()
        }
    }

    private func isRenamed(
        _ name: String,
        _ instance: Instance,
        _ system: SystemID,
        _ description: SystemDescription
    ) -> Bool {
        self.instances.names(on: system).contains { otherName in
            guard otherName != name, let other = self.instances[otherName], other.isHinted,
                case .connected(system, let otherDescription?) = other.phase
            else { return false }
            return otherDescription.application.id == description.application.id
                && !Set(other.endpoints).isDisjoint(with: instance.endpoints)
        }
    }

    mutating func settled() -> [Action] {
        self.unsettledSources -= 1
        return self.checkSettled()
    }

    // MARK: Connection events

    /// Records that an attempt to connect to an instance succeeded.
    ///
    /// - Parameter endpoint: the endpoint that the connection uses, if known.
    mutating func connected(
        _ instance: String,
        to system: SystemID,
        at endpoint: Endpoint?,
        standing: Standing.Kind = .sameAccount,
        account: AccountID? = nil,
        now: Instant
    ) -> [Action] {
        guard var known = self.instances[instance] else { return [] }
        let others = self.instances.names(on: system).subtracting([instance])
        let linkedAccount = standing == .linked ? account : nil
        guard others.count < BrowserLimits.processes, self.hasPlace(for: instance, of: linkedAccount) else {
            // The instance stays known, so that the same advertisement causes no further attempt for a while.
            let before = known.phase
            known.phase = .waiting(until: now.advanced(by: BrowserTimes.surplus))
            known.isFirstAttempt = false
            self.instances[instance] = known
            return [.disconnect(instance: instance)] + self.relist(before) + self.checkSettled()
        }
        known.standing = standing
        known.account = account
        known.hasConnected = true
        known.authenticated = endpoint?.withOptions(of: known.endpoints)
        known.lastConnect = now
        if known.isHinted { known.expected = nil }
        // The process may have left its other remembered endpoints since.
        if known.isRemembered, let endpoint { known.endpoints = [endpoint] }
        let before = known.phase
        if case .reconnecting(system, let description) = before {
            known.phase = .connected(system, description)
        } else {
            known.phase = .connected(system, nil)
        }
        self.instances[instance] = known
        // A different system may have taken the place of the lost one.
        return self.relist(before) + self.tryRemembered(isFirstAttempt: false)
    }

    mutating func described(_ instance: String, _ description: SystemDescription, now: Instant) -> [Action] {
        guard var known = self.instances[instance], case .connected(let system, let before) = known.phase else {
            return []
        }
        // A host that forwards to another application than requested describes the wrong one.
        if let referral = known.referral, referral.application != description.application.id { return [] }
        known.phase = .connected(system, description)
        known.isFirstAttempt = false
        known.refusal = nil
        self.instances[instance] = known
        if let merged = self.merge(instance) { return merged + self.checkSettled() }
        if before == nil, self.isSurplus(instance, on: system) {
            // Many names lead to one process.
            self.instances[instance]?.phase = .waiting(until: now.advanced(by: BrowserTimes.surplus))
            return [.disconnect(instance: instance)] + self.checkSettled()
        }
        let referred =
            self.follow(instance, from: before, to: description, on: system, now: now)
            + self.dropDescribed(on: system)
        return referred + self.relist(system) + self.checkSettled()
    }

    /// Handles a failed attempt to connect.
    ///
    /// - Parameter refusal: the peer's reason, if it responded and refused the connection.
    mutating func failed(
        _ instance: String,
        isAuthentic: Bool,
        refusal: String? = nil,
        now: Instant,
        jitter: Double
    ) -> [Action] {
        self.failed(
            instance,
            isAuthentic: isAuthentic,
            refusal: refusal,
            lost: self.instances[instance]?.lastLoss,
            now: now,
            jitter: jitter
        )
    }

    private mutating func failed(
        _ instance: String,
        isAuthentic: Bool,
        refusal: String? = nil,
        lost: Instant?,
        now: Instant,
        jitter: Double
    ) -> [Action] {
        guard var known = self.instances[instance] else { return [] }
        let before = known.phase
        let taken = self.takeOver(from: instance, known, lost: lost, now: now)
        known.isFirstAttempt = false
        // Connections that end soon count like failed attempts.
        known.forgetFailures(now: now)
        // A text of an anonymous system is not shown to the user.
        known.refusal = known.standing.isAccountProved ? refusal : nil
        let mayReturn = known.isRemembered && known.hasConnected && known.attempts < Self.maxReturns && isAuthentic
        guard known.isHinted || mayReturn else {
            self.instances[instance] = nil
            return taken + self.relist(before) + self.unsee(self.referrals(by: instance))
                + self.tryRemembered(isFirstAttempt: false) + self.checkSettled()
        }
        if known.isHinted, known.expected.take() != nil {
            // The attempt was for a remembered endpoint. Discovery found the process meanwhile.
            known.phase = .connecting
            known.isFirstAttempt = true
            self.instances[instance] = known
            return taken + [.connect(instance: instance, endpoints: known.endpoints)] + self.relist(before)
                + self.unsee(self.referrals(by: instance))
        }
        known.attempts += 1
        known.phase =
            if !known.standing.isAccountProved, known.attempts >= Self.maxAnonymousAttempts {
                .abandoned
            } else {
                .waiting(until: now.advanced(by: BrowserTimes.delay(known.attempts, isAuthentic, jitter)))
            }
        self.instances[instance] = known
        return taken + self.relist(before) + self.unsee(self.referrals(by: instance)) + self.checkSettled()
    }

    /// Handles the end of a connection. `orderly` means that the peer closed it.
    mutating func lost(_ instance: String, orderly: Bool, now: Instant) -> [Action] {
        guard var known = self.instances[instance] else { return [] }
        // An anonymous system could otherwise cause an endless series of immediate reconnects.
        guard case .connected(let system, let description) = known.phase, !orderly, known.standing.isAccountProved
        else {
            return self.failed(instance, isAuthentic: true, lost: orderly ? nil : now, now: now, jitter: 0.5)
        }
        // A system of this account that accepts connections and drops them could also cause an endless series of
        // reconnects.
        let isAgain = known.lastLoss.map { $0.duration(to: now) < BrowserTimes.stable } ?? false
        known.forgetFailures(now: now)
        known.lastLoss = now
        known.phase = .reconnecting(system, description)
        self.instances[instance] = known
        guard !isAgain else { return self.failed(instance, isAuthentic: true, now: now, jitter: 0.5) }
        return [.connect(instance: instance, endpoints: known.candidates)]
    }

    // MARK: Time

    var nextWakeUp: Instant? {
        [self.instances.nextWait, self.deferredReferrals.values.min()].compactMap(\.self).min()
    }

    mutating func tick(now: Instant) -> [Action] {
        var actions = self.followDeferred(now: now)
        guard self.instances.nextWait.map({ $0 <= now }) ?? false else { return actions }
        for (name, instance) in self.instances {
            guard case .waiting(let until) = instance.phase, until <= now else { continue }
            self.instances[name]?.phase = .connecting
            actions.append(.connect(instance: name, endpoints: instance.candidates))
        }
        return actions
    }

    // MARK: Reporting

    /// Whether a process that was found, or is remembered, has neither described itself nor failed to respond yet.
    var isOpening: Bool { self.awaitsRecall || self.instances.firstAttempts > 0 }

    mutating func checkSettled() -> [Action] {
        guard !self.isSettled, self.unsettledSources <= 0, !self.isOpening else { return [] }
        self.isSettled = true
        return [.settled]
    }

    mutating func relist(_ phase: Phase) -> [Action] {
        switch phase {
        case .connected(let system, _), .reconnecting(let system, _): self.relist(system)
        case .connecting, .waiting, .abandoned: []
        }
    }

    /// Emits a change if the system's description differs from the last reported one.
    mutating func relist(_ id: SystemID) -> [Action] {
        let new = self.observed(id)
        guard new != self.systems[id] ?? ObservedSystem(id: id, parts: []) else { return [] }
        self.systems[id] = new.parts.isEmpty ? nil : new
        return [.changed(new)]
    }

    private func observed(_ id: SystemID) -> ObservedSystem {
        var parts: [ObservedSystem.Part] = []
        for name in self.instances.names(on: id) {
            guard let instance = self.instances[name] else { continue }
            switch instance.phase {
            // A diagnosis advertises itself briefly, to be found by its name. It must not appear as a system that comes
            // and goes.
            case .connected(id, let description?) where description.application.id == Diagnosis.service,
                .reconnecting(id, let description?) where description.application.id == Diagnosis.service:
                break
            case .connected(id, let description?), .reconnecting(id, let description?):
                parts.append(ObservedSystem.Part(name: name, instance, description))
            default: break
            }
        }
        return ObservedSystem(id: id, parts: parts.sorted { $0.rank < $1.rank })
    }
}
