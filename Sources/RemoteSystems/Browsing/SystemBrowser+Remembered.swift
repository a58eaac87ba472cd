// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

// The browser also tries to connect to processes that were met before on a present network, at their remembered
// endpoints. Such a process is an instance that discovery does not find, so it is dropped when its attempts fail. If
// discovery finds the process too, the discovered instance takes over the connection, so that there is one presence
// connection to each process.

extension SystemBrowserStateMachine {
    /// The maximum number of remembered processes that are tried at the same time.
    static var maxRememberedAttempts: Int { 64 }
    /// The maximum number of attempts to reconnect to a remembered process after its connection was lost, about a
    /// minute together.
    static var maxReturns: Int { 8 }

    /// Tries the remembered processes of a network that has appeared, once each.
    mutating func recalled(_ processes: [KnownProcess]) -> [Action] {
        let waiting = Set(self.recalling.map(\.instance))
        self.recalling += processes.filter { !waiting.contains($0.instance) }
        self.awaitsRecall = false
        return self.tryRemembered() + self.checkSettled()
    }

    /// Stops waiting for the attempts to connect to remembered processes before ``Action/settled``. They continue.
    mutating func recallEnds() -> [Action] {
        self.awaitsRecall = false
        for name in self.instances.remembered { self.instances[name]?.isFirstAttempt = false }
        return self.checkSettled()
    }

    mutating func tryRemembered(isFirstAttempt: Bool = true) -> [Action] {
        guard !self.recalling.isEmpty else { return [] }
        var running = self.instances.remembered.count { self.instances[$0]?.hasConnected == false }
        var actions: [Action] = []
        while running < Self.maxRememberedAttempts, let process = self.recalling.popFirst() {
            guard !self.knows(process.instance), self.instances.count < Self.maxInstances else { continue }
            if let found = self.discovered(at: process.endpoints) {
                // Discovery found the process already. Try it at once, because a network has appeared.
                guard self.instances[found]?.phase.isIdle == true, let endpoints = self.instances[found]?.endpoints
                else { continue }
                self.instances[found]?.phase = .connecting
                actions.append(.connect(instance: found, endpoints: endpoints))
                continue
            }
            running += 1
            var new = Instance(endpoints: process.endpoints, discoveryType: .proximal)
            new.isHinted = false
            new.expected = process.system
            new.isFirstAttempt = isFirstAttempt
            self.instances[process.instance] = new
            actions.append(.connect(instance: process.instance, endpoints: process.endpoints))
        }
        return actions
    }

    private func discovered(at endpoints: [Endpoint]) -> String? {
        self.instances.names(at: endpoints).first { self.instances[$0]?.canTakeOver ?? false }
    }

    // MARK: Taking over

    /// The remembered instance at one of the endpoints, whose connection a discovered instance takes over.
    func remembered(at endpoints: [Endpoint]) -> String? {
        guard !self.instances.remembered.isEmpty else { return nil }
        return self.instances.names(at: endpoints).first { self.instances[$0]?.isRemembered ?? false }
    }

    /// Replaces a remembered instance by the discovered one of the same process, which gets its connection or attempt.
    /// Watchers see no change.
    mutating func takeOver(_ remembered: String, as discovered: String, _ new: Instance) -> [Action] {
        guard var taken = self.instances.removeValue(forKey: remembered) else { return [] }
        taken.endpoints = new.endpoints
        taken.discoveryType = new.discoveryType
        taken.isHinted = new.isHinted
        taken.isConfigured = new.isConfigured
        let hasAttempt = self.instances[discovered].map { !$0.phase.isIdle } ?? false
        var actions: [Action] = hasAttempt ? [.disconnect(instance: discovered)] : []
        actions.append(.rename(instance: remembered, to: discovered))
        switch taken.phase {
        case .connected: taken.expected = nil
        case .waiting, .abandoned:
            taken.expected = nil
            taken.attempts = 0
            taken.phase = .connecting
            actions.append(.connect(instance: discovered, endpoints: taken.endpoints))
        case .connecting, .reconnecting: break
        }
        self.instances[discovered] = taken
        return actions + self.redirectReferrals(of: remembered, to: discovered)
    }

    private mutating func redirectReferrals(of host: String, to other: String) -> [Action] {
        if let time = self.deferredReferrals.removeValue(forKey: host) { self.deferredReferrals[other] = time }
        return self.referrals(by: host).compactMap { name in
            guard var instance = self.instances.removeValue(forKey: name), let old = instance.referral else {
                return nil
            }
            let new = Referral(host: other, system: old.system, application: old.application)
            instance.referral = new
            self.instances[new.instance] = instance
            return .rename(instance: name, to: new.instance)
        }
    }

    /// Ends one of two connections to a process, when its description shows that a remembered and a discovered
    /// instance are the same process.
    ///
    /// - Returns: `nil` if there is no second connection; then the description is handled as usual.
    mutating func merge(_ name: String) -> [Action]? {
        guard let instance = self.instances[name], case .connected(let system, let description?) = instance.phase
        else { return nil }
        let application = description.application.id
        func isSame(_ other: Instance) -> Bool {
            guard !Set(other.endpoints.map(\.port)).isDisjoint(with: instance.endpoints.map(\.port)) else {
                return false
            }
            switch other.phase {
            case .connected(system, let description?), .reconnecting(system, let description?):
                return description.application.id == application
            default: return false
            }
        }
        if instance.isRemembered {
            guard let (other, found) = self.first(on: system, where: { $0.canTakeOver && isSame($0) }) else {
                return nil
            }
            if case .reconnecting = found.phase { return self.takeOver(name, as: other, found) }
            self.instances[name] = nil
            return [.disconnect(instance: name)] + self.redirectReferrals(of: name, to: other)
        }
        guard instance.canTakeOver,
            let (other, found) = self.first(on: system, where: { $0.isRemembered && isSame($0) })
        else { return nil }
        if case .connected = found.phase { return self.takeOver(other, as: name, instance) }
        self.instances[other] = nil
        return [.disconnect(instance: other)] + self.redirectReferrals(of: other, to: name)
    }

    private func first(on system: SystemID, where isWanted: (Instance) -> Bool) -> (String, Instance)? {
        for name in self.instances.names(on: system) {
            if let instance = self.instances[name], isWanted(instance) { return (name, instance) }
        }
        return nil
    }
}

extension SystemBrowserStateMachine.Instance {
    /// Whether the instance is known only by its remembered endpoints, not by discovery.
    var isRemembered: Bool { self.expected != nil && !self.isHinted }

    /// Whether no system has been authenticated at the instance's endpoints, which another machine chose.
    var isUnproved: Bool {
        !self.hasConnected && !self.isConfigured && self.referral == nil && self.expected == nil && self.isHinted
    }

    /// The key of the machine at the first endpoint.
    var key: PeerKey { PeerKey(self.endpoints.first ?? Endpoint(host: "", port: 0)) }

    /// Whether the instance may be the same process as a remembered one.
    var canTakeOver: Bool {
        self.expected == nil && self.referral == nil && self.standing == .sameAccount
            && self.discoveryType == .proximal
    }
}
