// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

// A host daemon names processes that run beside it without advertising themselves. It also describes the processes that
// registered with it, so the browser needs no connections to them. The browser connects to the other processes through
// the daemon, and then handles them like any other process.

extension SystemBrowserStateMachine {
    /// Follows the processes that a host names, and drops processes that it no longer names or that now advertise
    /// themselves.
    ///
    /// - Parameter before: the host's previous description. If the host described a process before and now only names
    ///   it, the process stays listed during one quick attempt to connect: the host may have been restarted.
    mutating func follow(
        _ host: String,
        from before: SystemDescription?,
        to description: SystemDescription,
        on system: SystemID,
        now: Instant
    ) -> [Action] {
        // Referrals are not transitive. They lead to the address that was authenticated, whatever is advertised now.
        guard let known = self.instances[host], known.standing == .sameAccount, known.referral == nil,
            let endpoint = known.authenticated
        else { return [] }
        self.deferredReferrals[host] = nil
        let holder = known.quotaHolder(of: system)
        let advertised = self.advertised(on: system)
        var actions = self.letGo(of: advertised, on: system)
        var unnamed = Set(self.referrals(by: host))
        for application in description.running where !advertised.contains(application) {
            let referral = Referral(host: host, system: system, application: application)
            unnamed.remove(referral.instance)
            let isNew = !self.knows(referral.instance)
            if isNew, !self.referralBudget.tryTake(holder, at: now) {
                self.deferredReferrals[host] = self.referralBudget.nextTime(of: holder, after: now)
                continue
            }
            actions += self.seen(
                referral.instance,
                endpoints: [endpoint],
                by: known.discoveryType,
                referral: referral
            )
            if isNew, self.knows(referral.instance),
                let program = before?.programs.first(where: { $0.application.id == application })
            {
                self.instances[referral.instance]?.phase = .reconnecting(system, description.described(program))
            }
        }
        // The host's description replaces the connection to the process.
        let described = unnamed.filter { name in
            let application = self.instances[name]?.referral?.application
            return description.programs.contains { $0.application.id == application }
        }
        for name in described { self.instances[name] = nil }
        actions += described.sorted().map { .disconnect(instance: $0) }
        return actions + self.unsee(unnamed.subtracting(described).sorted())
    }

    /// Continues with the referrals that were beyond the rate of their system.
    mutating func followDeferred(now: Instant) -> [Action] {
        let due = self.deferredReferrals.filter { $0.value <= now }.keys.sorted()
        return due.flatMap { host -> [Action] in
            self.deferredReferrals[host] = nil
            guard case .connected(let system, let description?) = self.instances[host]?.phase else { return [] }
            return self.follow(host, from: nil, to: description, on: system, now: now)
        }
    }

    /// The instance names of the processes to which the browser connects through the host.
    func referrals(by host: String) -> [String] {
        self.instances.names(referredBy: host).filter { self.instances[$0]?.referral?.isDirect == false }.sorted()
    }

    // MARK: Processes that a host describes

    /// Whether a host of the system describes the application of another process.
    func isDescribed(_ application: String, on system: SystemID, beside instance: String) -> Bool {
        self.instances.names(on: system).contains { name in
            guard name != instance, let other = self.instances[name], other.standing.isAccountProved,
                other.referral == nil, case .connected(system, let description?) = other.phase
            else { return false }
            return description.programs.contains { $0.application.id == application }
        }
    }

    /// Ends the connections to processes that a host now describes and that discovery no longer finds.
    mutating func dropDescribed(on system: SystemID) -> [Action] {
        let spare = self.instances.names(on: system).filter { name in
            guard let instance = self.instances[name], !instance.isHinted,
                case .connected(system, let description?) = instance.phase
            else { return false }
            return self.isDescribed(description.application.id, on: system, beside: name)
        }
        for name in spare { self.instances[name] = nil }
        return spare.sorted().map { .disconnect(instance: $0) }
    }

    /// Connects directly to the processes that a lost host has described. The processes stay listed: they may still
    /// run, and then advertise themselves.
    ///
    /// - Parameter lost: when the connection to the host was lost; `nil` if the host closed it.
    mutating func takeOver(
        from host: String,
        _ known: Instance,
        lost: Instant?,
        now: Instant
    ) -> [Action] {
        guard known.standing.isAccountProved, lost.map({ $0.duration(to: now) <= BrowserTimes.alive }) ?? true else {
            return []
        }
        let (system, description): (SystemID, SystemDescription)
        switch known.phase {
        case .connected(let id, let described?), .reconnecting(let id, let described?):
            (system, description) = (id, described)
        default: return []
        }
        // Only the address of the lost connection was authenticated.
        guard let authenticated = known.authenticated else { return [] }
        let present = self.advertised(on: system)
        var actions: [Action] = []
        for program in description.programs where !present.contains(program.application.id) {
            // The host may have another connection, for example at a new port.
            guard !self.isDescribed(program.application.id, on: system, beside: host) else { continue }
            let referral = Referral(host: host, system: system, application: program.application.id, isDirect: true)
            guard self.instances[referral.instance] == nil, self.instances.count < Self.maxInstances,
                self.hasPlace(for: referral.instance, of: known.linkedAccount),
                self.referralBudget.tryTake(known.quotaHolder(of: system), at: now)
            else { continue }
            var endpoint = authenticated
            endpoint.port = program.port
            let endpoints = [endpoint]
            var instance = Instance(endpoints: endpoints, discoveryType: known.discoveryType)
            instance.isHinted = false
            instance.isFirstAttempt = false
            // Until the program proves it itself, its host's connection has.
            (instance.standing, instance.account) = (known.standing, known.account)
            instance.phase = .reconnecting(system, description.described(program))
            instance.referral = referral
            self.instances[referral.instance] = instance
            actions.append(.connect(instance: referral.instance, endpoints: endpoints))
        }
        return actions
    }

    /// Handles referrals like instances that discovery no longer finds. Attempts to connect to forgotten referrals end.
    mutating func unsee(_ referrals: [String]) -> [Action] {
        referrals.flatMap { name in
            let actions = self.unseen(name)
            return self.knows(name) ? actions : actions + [.disconnect(instance: name)]
        }
    }

    /// The applications of the system's processes to which the browser connects without a referral.
    private func advertised(on system: SystemID) -> Set<String> {
        var advertised: Set<String> = []
        for name in self.instances.names(on: system) {
            guard let instance = self.instances[name], instance.referral == nil, instance.standing.isAccountProved
            else { continue }
            switch instance.phase {
            case .connected(system, let description?), .reconnecting(system, let description?):
                advertised.insert(description.application.id)
            default: break
            }
        }
        return advertised
    }

    private mutating func letGo(of applications: Set<String>, on system: SystemID) -> [Action] {
        guard !applications.isEmpty else { return [] }
        let spare = self.instances.referred.compactMap { self.instances[$0]?.referral }
            .filter { $0.system == system && applications.contains($0.application) }
        for referral in spare { self.instances[referral.instance] = nil }
        return spare.map { .disconnect(instance: $0.instance) }
    }
}

extension SystemDescription {
    /// The description that a program of the same machine publishes itself.
    fileprivate func described(_ program: Program) -> SystemDescription {
        var own = self
        (own.application, own.installed, own.running, own.programs) = (program.application, [], [], [])
        return own
    }
}
