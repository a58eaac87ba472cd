// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// The rules by which hints become systems.
///
/// A hint is an instance that discovery has seen and that carries our account's tag. Each gets a connection of its own
/// (its *presence*), over which the process there proves who it is and describes itself. A system is listed while at
/// least one of its processes has done both. What discovery says afterwards matters only for new attempts: the
/// connection is the truth.
///
/// What a host says to run beside it is a hint, too: see ``Referral``. What each watcher makes of the systems, by its
/// filters, is up to its ``WatcherList``.
///
/// A value without I/O or a clock; times are arguments, in the driver's clock.
struct SystemBrowserStateMachine {
    typealias Instant = ContinuousClock.Instant

    enum Action: Sendable {
        case connect(instance: String, endpoints: [Endpoint])
        case disconnect(instance: String)
        /// It may be gone, or elsewhere: find out sooner than by its silence.
        case probe(instance: String)
        /// What is known of a system has changed.
        case changed(ObservedSystem)
        /// Every system that was found so far has described itself or has failed to answer.
        case settled
        /// Something keeps the machine from following all that is announced.
        case report(RemoteSystemWatcherError)
    }

    struct Instance {
        var endpoints: [Endpoint]
        var discoveryType: RemoteSystemDiscoveryType
        /// Whether discovery still has it; a connection outlives its hint.
        var isHinted = true
        var attempts = 0
        var phase = Phase.connecting
        var isFirstAttempt = true
        var lastLoss: Instant?
        /// What its system is to this one: by its announcement until it is connected to, then by its certificate.
        var standing = Standing.Kind.sameAccount
        /// How it is got at, when it is known from another process of its system alone.
        var referral: Referral?
        /// Why it would not have us when it was last tried, in its own words: it answers.
        var refusal: String?
    }

    /// An application that runs and has not announced itself: the host that says so sends on whoever asks it for it.
    struct Referral: Sendable {
        let host: String
        let system: SystemID
        let application: String

        /// No source's name begins so: discovery cannot tell of an instance that is taken for it.
        var instance: String { ">\(self.application)@\(self.host)" }
    }

    enum Phase {
        case connecting
        case connected(SystemID, SystemDescription?)
        /// The connection was lost. It stays listed while one quick attempt is made to get it back.
        case reconnecting(SystemID, SystemDescription?)
        case waiting(until: Instant)
        /// Tried often enough. It is tried again when it is announced elsewhere, or anew.
        case abandoned

        /// Whether nothing goes on until its time comes or it is announced elsewhere.
        var isIdle: Bool {
            switch self {
            case .waiting, .abandoned: true
            default: false
            }
        }
    }

    /// Bounds what the network can make this process keep (design: 1 000 systems).
    static var maxInstances: Int { 4096 }
    /// The same for processes of other accounts, of which anybody on the network can announce any number.
    static var maxAnonymous: Int { 64 }
    /// A process of another account that does not answer is not tried more often than this for each time it is announced.
    static var maxAnonymousAttempts: Int { 3 }

    var instances: [String: Instance] = [:]
    /// What the last ``Action/changed(_:)`` of each system that is there said.
    private(set) var systems: [SystemID: ObservedSystem] = [:]
    private var unsettledSources: Int
    /// Whether ``Action/settled`` has been told.
    private(set) var isSettled = false
    private var hasRefused = false

    /// - Parameter sources: how many sources begin to browse.
    init(sources: Int) {
        self.unsettledSources = sources
    }

    /// The sources browse anew. ``Action/settled`` comes once more.
    mutating func browsesAnew(sources: Int) {
        self.unsettledSources = sources
        self.isSettled = false
    }

    /// Nobody wants to see systems of other accounts any more.
    mutating func dropAnonymous() -> [Action] {
        let anonymous = self.instances.filter { !$0.value.standing.isAccountProved }
        for name in anonymous.keys { self.instances[name] = nil }
        return anonymous.keys.sorted().map { .disconnect(instance: $0) }
            + anonymous.values.flatMap { self.relist($0.phase) } + self.checkSettled()
    }

    /// Whether the instance's connection was lost just now and an attempt is being made to get it back.
    func isReconnecting(_ instance: String) -> Bool {
        if case .reconnecting = self.instances[instance]?.phase { true } else { false }
    }

    /// Whether the process behind the instance has told what it is since it was last connected to.
    func isDescribed(_ instance: String) -> Bool {
        if case .connected(_, .some) = self.instances[instance]?.phase { true } else { false }
    }

    /// What the system there is to this one, as far as is known.
    func standing(of instance: String) -> Standing.Kind {
        self.instances[instance]?.standing ?? .sameAccount
    }

    /// Through whom the instance is got at, if not by itself.
    func referral(of instance: String) -> Referral? {
        self.instances[instance]?.referral
    }

    func knows(_ instance: String) -> Bool {
        self.instances[instance] != nil
    }

    /// Where something of our account is said to be that has not told what it is, and why it would not have us if it said so.
    var unreported: [(endpoint: Endpoint, refusal: String?)] {
        self.instances.values.compactMap { instance in
            switch instance.phase {
            case .connected(_, .some), .reconnecting(_, .some): return nil
            default:
                guard instance.referral == nil, let endpoint = instance.endpoints.first else { return nil }
                return (endpoint, instance.refusal)
            }
        }
    }

    // MARK: What discovery says

    mutating func seen(
        _ instance: String,
        endpoints: [Endpoint],
        by type: RemoteSystemDiscoveryType,
        standing: Standing.Kind = .sameAccount
    ) -> [Action] {
        guard var known = self.instances[instance] else {
            guard self.instances.count < Self.maxInstances else { return self.refuse() }
            // Further anonymous processes are left out without an event: there is nothing that our owner could do.
            let anonymous = standing.isAccountProved ? 0 : self.instances.values.count { !$0.standing.isAccountProved }
            guard anonymous < Self.maxAnonymous else { return [] }
            self.instances[instance] = Instance(
                endpoints: endpoints,
                discoveryType: type,
                standing: standing
            )
            return [.connect(instance: instance, endpoints: endpoints)]
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
        // It is elsewhere now: no reason to wait any longer.
        known.attempts = 0
        known.phase = .connecting
        self.instances[instance] = known
        return [.connect(instance: instance, endpoints: endpoints)]
    }

    /// Where our owner was told that it is. It may have moved from there in steps, by one interface after the other.
    private func reported(_ instance: Instance) -> [Endpoint] {
        guard case .connected(let system, let description?) = instance.phase else { return instance.endpoints }
        let parts = self.systems[system]?.parts.filter { $0.description.application.id == description.application.id }
        guard let parts, !parts.isEmpty else { return instance.endpoints }
        return parts.flatMap(\.endpoints)
    }

    /// Told once: what is left out must not be left out silently.
    private mutating func refuse() -> [Action] {
        guard !self.hasRefused else { return [] }
        self.hasRefused = true
        let text = "More than \(Self.maxInstances) processes of this account are announced here; the rest is left out."
        return [.report(RemoteSystemWatcherError(.discoveryHampered, text, recoversByItself: false))]
    }

    mutating func unseen(_ instance: String) -> [Action] {
        guard var known = self.instances[instance] else { return [] }
        known.isHinted = false
        switch known.phase {
        case .connected(let system, let description?) where self.isRenamed(instance, known, system, description):
            // The process goes by a new name now, under which we are connected to it as well.
            self.instances[instance] = nil
            return [.disconnect(instance: instance)] + self.relist(system) + self.unsee(self.referrals(by: instance))
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
        self.instances.contains { otherName, other in
            guard otherName != name, other.isHinted, case .connected(system, let otherDescription?) = other.phase else {
                return false
            }
            return otherDescription.application.id == description.application.id
                && !Set(other.endpoints).isDisjoint(with: instance.endpoints)
        }
    }

    mutating func settled() -> [Action] {
        self.unsettledSources -= 1
        return self.checkSettled()
    }

    // MARK: What connections say

    mutating func connected(_ instance: String, to system: SystemID, standing: Standing.Kind = .sameAccount) -> [Action]
    {
        guard var known = self.instances[instance] else { return [] }
        known.standing = standing
        if standing.isAccountProved { known.attempts = 0 }
        let before = known.phase
        if case .reconnecting(system, let description) = before {
            known.phase = .connected(system, description)
        } else {
            known.phase = .connected(system, nil)
        }
        self.instances[instance] = known
        // Another system may have taken the lost one's place.
        return self.relist(before)
    }

    mutating func described(_ instance: String, _ description: SystemDescription) -> [Action] {
        guard var known = self.instances[instance], case .connected(let system, _) = known.phase else { return [] }
        // A host that sends on to another application than it was asked for tells nothing of that one.
        if let referral = known.referral, referral.application != description.application.id { return [] }
        known.phase = .connected(system, description)
        known.isFirstAttempt = false
        known.refusal = nil
        self.instances[instance] = known
        let referred = self.follow(instance, to: description, on: system)
        return referred + self.relist(system) + self.checkSettled()
    }

    /// An attempt to connect came to nothing.
    ///
    /// - Parameter refusal: what the other side said, if it is there and would not have us.
    mutating func failed(
        _ instance: String,
        isAuthentic: Bool,
        refusal: String? = nil,
        now: Instant,
        jitter: Double
    ) -> [Action] {
        guard var known = self.instances[instance] else { return [] }
        let before = known.phase
        known.isFirstAttempt = false
        // What an anonymous system says is not passed on.
        known.refusal = known.standing.isAccountProved ? refusal : nil
        guard known.isHinted else {
            self.instances[instance] = nil
            return self.relist(before) + self.unsee(self.referrals(by: instance)) + self.checkSettled()
        }
        known.attempts += 1
        known.phase =
            if !known.standing.isAccountProved, known.attempts >= Self.maxAnonymousAttempts {
                .abandoned
            } else {
                .waiting(until: now.advanced(by: Self.delay(known.attempts, isAuthentic, jitter)))
            }
        self.instances[instance] = known
        return self.relist(before) + self.unsee(self.referrals(by: instance)) + self.checkSettled()
    }

    /// A connection ended. Orderly: the other side is going away and said so.
    mutating func lost(_ instance: String, orderly: Bool, now: Instant) -> [Action] {
        guard var known = self.instances[instance] else { return [] }
        // An anonymous system could have us reconnect at once for ever.
        guard case .connected(let system, let description) = known.phase, !orderly, known.standing.isAccountProved
        else {
            return self.failed(instance, isAuthentic: true, now: now, jitter: 0.5)
        }
        // One that takes connections and drops them is not come back to at once for ever, either.
        let isAgain = known.lastLoss.map { $0.duration(to: now) < Self.stableTime } ?? false
        known.lastLoss = now
        known.phase = .reconnecting(system, description)
        self.instances[instance] = known
        guard !isAgain else { return self.failed(instance, isAuthentic: true, now: now, jitter: 0.5) }
        return [.connect(instance: instance, endpoints: known.endpoints)]
    }

    /// A connection that is lost sooner after another one is no accident.
    private static var stableTime: Duration { .seconds(10) }

    /// 0.25 s, doubling up to 30 s, spread by a half so that machines do not all try at once; five minutes for one that
    /// answers and is not who it claims to be.
    private static func delay(_ attempts: Int, _ isAuthentic: Bool, _ jitter: Double) -> Duration {
        let base = isAuthentic ? Duration.milliseconds(250) * (1 << min(attempts - 1, 7)) : .seconds(300)
        return min(base, isAuthentic ? .seconds(30) : .seconds(300)) * (0.75 + 0.5 * jitter)
    }

    // MARK: Time

    var nextWakeUp: Instant? {
        var next: Instant?
        for case .waiting(let until) in self.instances.values.lazy.map(\.phase) {
            next = next.map { min($0, until) } ?? until
        }
        return next
    }

    mutating func tick(now: Instant) -> [Action] {
        var actions: [Action] = []
        for (name, instance) in self.instances {
            guard case .waiting(let until) = instance.phase, until <= now else { continue }
            self.instances[name]?.phase = .connecting
            actions.append(.connect(instance: name, endpoints: instance.endpoints))
        }
        return actions
    }

    // MARK: What is told

    private mutating func checkSettled() -> [Action] {
        guard !self.isSettled, self.unsettledSources <= 0 else { return [] }
        guard !self.instances.values.contains(where: \.isFirstAttempt) else { return [] }
        self.isSettled = true
        return [.settled]
    }

    private mutating func relist(_ phase: Phase) -> [Action] {
        switch phase {
        case .connected(let system, _), .reconnecting(let system, _): self.relist(system)
        case .connecting, .waiting, .abandoned: []
        }
    }

    /// Compares what is known of a system with what was told, and tells it if it differs.
    private mutating func relist(_ id: SystemID) -> [Action] {
        let new = self.observed(id)
        guard new != self.systems[id] ?? ObservedSystem(id: id, parts: []) else { return [] }
        self.systems[id] = new.parts.isEmpty ? nil : new
        return [.changed(new)]
    }

    private func observed(_ id: SystemID) -> ObservedSystem {
        var parts: [ObservedSystem.Part] = []
        for (name, instance) in self.instances {
            switch instance.phase {
            // A diagnosis announces itself for a moment, to be looked for by its name: that is no system that comes
            // and goes.
            case .connected(id, let description?) where description.application.id == DiagnosisService.name,
                .reconnecting(id, let description?) where description.application.id == DiagnosisService.name:
                break
            case .connected(id, let description?), .reconnecting(id, let description?):
                parts.append(ObservedSystem.Part(name: name, instance, description))
            default: break
            }
        }
        return ObservedSystem(id: id, parts: parts.sorted { $0.rank < $1.rank })
    }
}
