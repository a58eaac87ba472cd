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
        on system: SystemID
    ) -> [Action] {
        // Referrals are not transitive.
        guard let known = self.instances[host], known.standing == .sameAccount, known.referral == nil else { return [] }
        let advertised = self.advertised(on: system)
        var actions = self.letGo(of: advertised, on: system)
        var unnamed = Set(self.referrals(by: host))
        for application in description.running where !advertised.contains(application) {
            let referral = Referral(host: host, system: system, application: application)
            unnamed.remove(referral.instance)
            let isNew = !self.knows(referral.instance)
            actions += self.seen(
                referral.instance,
                endpoints: known.endpoints,
                by: known.discoveryType,
                isReferral: true
            )
            self.instances[referral.instance]?.referral = referral
            if isNew, let program = before?.programs.first(where: { $0.application.id == application }) {
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

    /// The instance names of the processes to which the browser connects through the host.
    func referrals(by host: String) -> [String] {
        self.instances.filter { $0.value.referral?.host == host && $0.value.referral?.isDirect == false }.keys.sorted()
    }

    // MARK: Processes that a host describes

    /// Whether a host of the system describes the application of another process.
    func isDescribed(_ application: String, on system: SystemID, beside instance: String) -> Bool {
        self.instances.contains { name, other in
            guard name != instance, other.standing.isAccountProved, other.referral == nil,
                case .connected(system, let description?) = other.phase
            else { return false }
            return description.programs.contains { $0.application.id == application }
        }
    }

    /// Ends the connections to processes that a host now describes and that discovery no longer finds.
    mutating func dropDescribed(on system: SystemID) -> [Action] {
        let spare = self.instances.filter { name, instance in
            guard !instance.isHinted, case .connected(system, let description?) = instance.phase else { return false }
            return self.isDescribed(description.application.id, on: system, beside: name)
        }
        for name in spare.keys { self.instances[name] = nil }
        return spare.keys.sorted().map { .disconnect(instance: $0) }
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
        let present = self.advertised(on: system)
        var actions: [Action] = []
        for program in description.programs where !present.contains(program.application.id) {
            // The host may have another connection, for example at a new port.
            guard !self.isDescribed(program.application.id, on: system, beside: host) else { continue }
            let referral = Referral(host: host, system: system, application: program.application.id, isDirect: true)
            guard self.instances[referral.instance] == nil, self.instances.count < Self.maxInstances else { continue }
            var endpoints: [Endpoint] = []
            for var endpoint in known.endpoints {
                endpoint.port = program.port
                if !endpoints.contains(endpoint) { endpoints.append(endpoint) }
            }
            var instance = Instance(endpoints: endpoints, discoveryType: known.discoveryType)
            instance.isHinted = false
            instance.isFirstAttempt = false
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
        for instance in self.instances.values where instance.referral == nil && instance.standing.isAccountProved {
            switch instance.phase {
            case .connected(system, let description?), .reconnecting(system, let description?):
                advertised.insert(description.application.id)
            default: break
            }
        }
        return advertised
    }

    private mutating func letGo(of applications: Set<String>, on system: SystemID) -> [Action] {
        let spare = self.instances.values.compactMap(\.referral)
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
